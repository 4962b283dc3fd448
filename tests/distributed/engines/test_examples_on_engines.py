"""The distributed examples run unchanged on every engine."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine_environments import ENGINES, engine_command
from example_jobs import SCRIPTS, SMALL_LANGUAGE, own_steps, saved_step
from launched_job import launched
from test_digits import made_csv

WORKERS, SERVERS = 2, 2
STEPS = 260


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", [[], ["--sync"]])
def test_examples_learn(mode: list[str], engine: str, tmp_path: Path) -> None:
    options = ["--engine", engine, "--workers", str(WORKERS), "--ps", str(SERVERS)]
    digits = [str(SCRIPTS / "digits.py"), f"--data={made_csv(tmp_path / 'digits.csv')}"]
    language = [str(SCRIPTS / "language_model.py"), *SMALL_LANGUAGE]
    with ExitStack() as stack:
        within, environ = engine_command(engine, stack)
        within = [re.sub("^--ntasks=.*", f"--ntasks={WORKERS + SERVERS}", o) for o in within]
        for program in (digits, language):
            logdir = tmp_path / Path(program[0]).stem
            rest = [*mode, f"--steps={STEPS}", f"--logdir={logdir}"]
            with launched([*options, *program, *rest], tmp_path, environ, within) as job:
                assert job.end() == 0, job.stdout + job.stderr
            printed = job.stdout
            # A worker that begins late may find that the others have done all steps.
            assert 1 <= len(own_steps(printed)) <= WORKERS and sum(own_steps(printed)) >= STEPS
            assert saved_step(logdir) >= STEPS
            if program is digits:
                assert float(re.search(r"([\d.]+)% of 120 held-out", printed)[1]) > 90
            else:
                assert "nats a held-out word" in printed
