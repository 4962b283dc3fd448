"""The distributed examples are programs for TensorFlow when their import is changed.

TENSORFLOW_PYTHON names a Python with TensorFlow 1.15, or with 2.21 and tf_keras, and with tqdm; by
default the one that tools/bench.py made.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from example_jobs import EXAMPLES, SCRIPTS, SMALL_LANGUAGE, chief_losses, own_steps, run_job
from example_jobs import saved_step as saved_step_of
from test_digits import made_csv

PEER = EXAMPLES.parent / ".peers" / "tensorflow" / "bin" / "python"
PYTHON = os.environ.get("TENSORFLOW_PYTHON") or str(PEER)
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not Path(PYTHON).exists(), reason="there is no Python with TensorFlow"),
]

IMPORT = """import tensorflow
{name} = getattr(tensorflow, "compat", tensorflow).v1
{name}.disable_v2_behavior()
"""
# Float32 is rounded at 6e-8 of a value, the two systems add in different orders, and what differs
# in a step is in the weights of the next ones.
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> Path:
    """The examples with an import of TensorFlow in place of the import of Headrace."""
    folder = tmp_path_factory.mktemp("tensorflow") / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*.py"):
        text = path.read_text()
        for name in ("tf", "hr"):
            text = text.replace(f"import headrace.graph as {name}\n", IMPORT.format(name=name))
        path.write_text(text)
    return folder / "distributed"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return made_csv(tmp_path_factory.mktemp("digits") / "digits.csv")


def on_headrace(name: str, logdir: Path, *arguments: object) -> str:
    line = [sys.executable, str(SCRIPTS / name), *map(str, arguments), f"--logdir={logdir}"]
    return run_job(line, logdir / "printed", 2, 2)


def on_tensorflow(folder: Path, name: str, logdir: Path, *arguments: object) -> str:
    line = [PYTHON, "-W", "ignore", str(folder / name), *map(str, arguments), f"--logdir={logdir}"]
    env = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1", "PYTHONPATH": ""}

    def chief_trains() -> bool:  # a worker that comes earlier sleeps for 30 s
        return "step/s" in (logdir / "printed" / "worker-0.log").read_text()

    return run_job(line, logdir / "printed", 2, 2, env, chief_trains)


@pytest.mark.parametrize("mode", [[], ["--sync"], ["--sync", "--softmax", "full"]])
def test_a_training_moves_between_the_systems(mode, changed, tmp_path):
    name, rest = "language_model.py", [*SMALL_LANGUAGE, *mode]
    printed = on_tensorflow(changed, name, tmp_path, *rest, "--steps", 30)
    theirs = float(re.search(r"([\d.]+) nats a held-out word", printed)[1])
    # Nothing is trained: the held-out loss is that of the same values.
    printed = on_headrace(name, tmp_path, *rest, "--steps", 30)
    assert printed.count("steps are done; --steps asks for more") == 2
    ours = float(re.search(r"([\d.]+) nats a held-out word", printed)[1])
    assert abs(ours - theirs) <= 0.0011  # of three printed digits
    on_headrace(name, tmp_path, *rest, "--steps", 60)
    assert 60 <= saved_step_of(tmp_path) <= 62
    printed = on_tensorflow(changed, name, tmp_path, *rest, "--steps", 90)
    assert 90 <= saved_step_of(tmp_path) <= 92
    assert float(re.search(r"([\d.]+) nats a held-out word", printed)[1]) < theirs


def test_synchronous_losses_are_tensorflows(changed, data, tmp_path):
    steps = 12
    rest = ["--sync", "--data", data, "--steps", steps, "--log-every", 1]
    for attempt in range(5):  # until no worker has taken a token of the other one
        theirs, ours = (tmp_path / f"{side}{attempt}" for side in ("theirs", "ours"))
        own = own_steps(on_tensorflow(changed, "digits.py", theirs, *rest))
        begin_as(theirs, ours)
        own += own_steps(on_headrace("digits.py", ours, *rest))
        if own == [steps] * 4:
            break
    else:
        pytest.fail(f"no attempt had {steps} steps of each worker; the last one {own}")
    expected, found = chief_losses(theirs), chief_losses(ours)
    assert sorted(expected) == sorted(found) == list(range(1, steps + 1))
    for step, loss in expected.items():
        np.testing.assert_allclose(found[step], loss, rtol=TOLERANCE)


def begin_as(other: Path, folder: Path) -> None:
    """Makes a folder that continues from the first checkpoint of another one."""
    folder.mkdir()
    for path in [*other.glob("model.ckpt-0.*"), other / "settings.json"]:
        shutil.copy(path, folder)
    (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-0"\n')
