"""The examples are programs for TensorFlow 1.15 when their import is changed, and learn as there.

TENSORFLOW1_PYTHON names a Python with TensorFlow 1.15 and tqdm; CONTRIBUTING.md has the commands.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PYTHON = os.environ.get("TENSORFLOW1_PYTHON")
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not PYTHON, reason="TENSORFLOW1_PYTHON names no Python"),
]

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
NAMES = ["linear_regression", "char_lstm", "word2vec"]
NAMES += ["cifar_queues", "cifar_dataset", "translation"]
TEXT = ["--text", str(HERE.parents[1] / "packages")]
OPTIONS = {
    "char_lstm": TEXT,
    "word2vec": TEXT,
    # At the usual rate the first steps are unstable: a difference grows several times in each.
    "cifar_queues": ["--rate", "0.002"],
    "cifar_dataset": ["--rate", "0.002"],
}
# Options for a short run.
SMALL = {
    "linear_regression": [],
    "char_lstm": [*TEXT, *"--batch 4 --time 8 --units 8 --characters 5000".split()],
    "word2vec": [*TEXT, *"--batch 16 --words 50 --noise 8 --characters 5000".split()],
    "cifar_queues": "--batch 4 --images 20 --filters 4".split(),
    "cifar_dataset": "--batch 4 --images 20 --filters 4".split(),
    "translation": "--batch 4 --pairs 700 --units 8".split(),
}
STEPS = 20
# Float32 is rounded at 6e-8 of a value, the two systems add in different orders, and what differs
# in a step is in the weights of the next ones.
USUAL_TOLERANCE = 1e-5
# Threads mix the batches of this one, which therefore differ in each run of the test. Where values
# of a window of max_pooling2d are equal but for rounding, the gradient goes to one or another.
TOLERANCE = {"cifar_queues": 1e-3, "cifar_dataset": 1e-3}
# The translation still counts other nodes, so that some of its variables have other seeds.
SEEDED = [name for name in NAMES if name != "translation"]


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> Path:
    """The examples with `import tensorflow as tf` in place of the import of Headrace."""
    folder = tmp_path_factory.mktemp("tensorflow")
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text().replace("import headrace.graph as tf", "import tensorflow as tf")
        (folder / path.name).write_text(text)
    return folder


def on_headrace(script: Path, *arguments: object) -> str:
    return _output([sys.executable, script, *arguments])


def on_tensorflow(script: Path, *arguments: object) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return _output([PYTHON, "-W", "ignore", script, *arguments], environment)


def _output(line: list[object], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_tensorflows(name, changed, tmp_path, capsys):
    driver = HERE / "train_example.py"
    rest = [name, tmp_path / "result.npz", "--logdir", tmp_path / "run", "--steps", STEPS]
    on_headrace(driver, EXAMPLES, *rest, *OPTIONS.get(name, []))
    ours = dict(np.load(tmp_path / "result.npz"))
    on_tensorflow(driver, changed, *rest, *OPTIONS.get(name, []))
    theirs = dict(np.load(tmp_path / "result.npz"))
    milliseconds = [1e3 * np.median(found["seconds"][3:]) for found in (ours, theirs)]
    with capsys.disabled():
        print("\n{}: {:.2f} ms a step, TensorFlow 1.15 {:.2f} ms".format(name, *milliseconds))
    assert len(ours["losses"]) == STEPS
    np.testing.assert_allclose(
        ours["losses"], theirs["losses"], rtol=TOLERANCE.get(name, USUAL_TOLERANCE)
    )
    if name in SEEDED:
        np.testing.assert_allclose(ours["seeded"], theirs["seeded"], rtol=1e-4, atol=1e-4)


def test_seeded_input_is_tensorflows(changed, tmp_path):
    """The files' order, the crops and the mirrored pictures are those of the same seeds."""
    driver = HERE / "read_example_input.py"
    rest = [tmp_path / "result.npz", tmp_path / "data", 60]
    on_headrace(driver, EXAMPLES, *rest)
    ours = dict(np.load(tmp_path / "result.npz"))
    on_tensorflow(driver, changed, *rest)
    theirs = np.load(tmp_path / "result.npz")
    np.testing.assert_array_equal(ours["labels"], theirs["labels"])
    np.testing.assert_allclose(ours["pictures"], theirs["pictures"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_training_moves_between_the_systems(name, changed, tmp_path):
    folder = ["--logdir", tmp_path, *SMALL[name]]
    on_tensorflow(changed / f"{name}.py", *folder, "--steps", 2)
    printed = on_headrace(EXAMPLES / f"{name}.py", *folder, "--steps", 5)
    assert f"{name}: 3 steps, median " in printed
    printed = on_tensorflow(changed / f"{name}.py", *folder, "--steps", 9)
    assert f"{name}: 4 steps, median " in printed
