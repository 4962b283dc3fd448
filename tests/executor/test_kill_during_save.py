"""A process that is killed during `save` leaves the previous checkpoint intact."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import child_process
import numpy as np
import pytest

import headrace.graph as hr

KILLS = 24

# Saves step after step, each variable full of the step's number, until it is killed.
SAVING = """
variables = [hr.get_variable(f"v{i}", [300_000], initializer=hr.zeros_initializer())
             for i in range(4)]
value = hr.placeholder(hr.float32, [])
assign = hr.group(*[v.assign(hr.fill([300_000], value)) for v in variables])
saver = hr.train.Saver(max_to_keep=2)
session = hr.Session()
step = %d
while True:
    step += 1
    session.run(assign, {value: step})
    saver.save(session, %r, global_step=%s)
    if step == %d + 1:
        started()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is for Unix")
@pytest.mark.parametrize("one_name", [False, True], ids=["a name a step", "one name for all"])
def test_the_previous_checkpoint_is_intact(tmp_path: Path, one_name: bool) -> None:
    prefix = str(tmp_path / "model")
    dice = random.Random(5)
    values = [hr.get_variable(f"v{i}", [300_000]) for i in range(4)]
    saver = hr.train.Saver()
    step = 0
    with hr.Session() as session:
        for _ in range(KILLS // 2):
            child = child_process.begin(
                SAVING % (step, prefix, "None" if one_name else "step", step)
            )
            assert child.stdout is not None
            assert child.stdout.readline() == "started\n"
            time.sleep(dice.random() * 0.1)
            child.kill()
            child.communicate()
            path = hr.train.latest_checkpoint(str(tmp_path))
            assert path is not None
            saver.restore(session, path)
            got = np.stack(session.run(values))
            assert len(np.unique(got)) == 1, "a checkpoint of two steps"
            assert got[0, 0] >= step + 1, "an older checkpoint than was saved"
            step = int(got[0, 0])
            if not one_name:
                assert path == f"{prefix}-{step}"
