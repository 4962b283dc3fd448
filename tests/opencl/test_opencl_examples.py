"""The examples with --device gpu: the CPU's losses from the same initial values and batches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from opencl_children import Run, environment, run_child

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# Options that make a step of each example take some milliseconds.
SMALL = {
    "linear_regression": [],
    "char_lstm": "--batch 4 --time 8 --units 8 --sample 20 --characters 5000".split(),
    "word2vec": "--batch 16 --words 50 --units 8 --noise 8 --characters 5000".split(),
    "cifar_queues": "--batch 4 --images 20 --filters 4".split(),
    "cifar_dataset": "--batch 4 --images 20 --filters 4".split(),
    "translation": "--batch 4 --pairs 700 --units 8".split(),
}


@pytest.mark.opencl
@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("name", list(SMALL))
def test_an_example_has_the_same_losses_on_both_devices(
    name: str, cache: str, tmp_path: Path
) -> None:
    script = ROOT / "tests" / "end_to_end" / "train_example.py"
    losses = []
    for device in ("cpu", "gpu"):
        result = tmp_path / f"{device}.npz"
        line = [sys.executable, str(script), str(EXAMPLES), name, str(result), *SMALL[name]]
        line += ["--logdir", str(tmp_path / "log"), "--steps", "20", "--device", device]
        done = subprocess.run(line, env=environment(cache), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        losses.append(np.load(result)["losses"])
    assert len(losses[0]) == 20
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)


@pytest.mark.opencl
def test_the_digits_have_the_same_losses_on_both_devices(run: Run, tmp_path: Path) -> None:
    printed = run(
        f"""
        import sys, pathlib
        sys.path.insert(0, {str(EXAMPLES)!r})
        from digits_training import Examples, Settings, train_fold
        from headrace.formats.event_file import event_files, read_events
        rng = np.random.RandomState(0)
        labels = rng.randint(0, 10, 900)
        patterns = rng.rand(10, 8, 8, 1) > 0.5
        images = (patterns[labels] * 0.7 + rng.rand(900, 8, 8, 1) * 0.3).astype(np.float32)
        examples = Examples(images[:800], labels[:800], images[800:], labels[800:])

        def losses(device):
            folder = pathlib.Path({str(tmp_path)!r}) / device
            accuracy = train_fold(examples, Settings("made", 5, 1), folder, device, device)
            return [accuracy] + [
                value.simple_value
                for path in event_files(folder)
                for event in read_events(path)
                for value in event.summary.value
                if value.tag == "batch/loss"
            ]

        on_cpu, on_device = losses("cpu"), losses("gpu")
        assert len(on_cpu) > 3 and on_cpu[0] > 0.9, on_cpu
        np.testing.assert_allclose(on_device, on_cpu, atol=2e-3)
        print("equal")
        """
    )
    assert printed == "equal\n"


def test_a_device_that_is_not_there_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    line = [sys.executable, str(EXAMPLES / "linear_regression.py"), "--device", "gpu"]
    line += ["--logdir", str(tmp_path / "log"), "--steps", "1"]
    variables = environment(tmp_path, HEADRACE_OPENCL_DEVICES="none")
    done = subprocess.run(line, env=variables, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "linear_regression: --device gpu: there is none here" in done.stderr


def test_examples_with_device_cpu_need_no_opencl(tmp_path: Path) -> None:
    out, _ = run_child(
        f"""
        import sys
        sys.path.insert(0, {str(EXAMPLES)!r})
        import linear_regression
        folder = {str(tmp_path / "log")!r}
        assert linear_regression.main(["--device", "cpu", "--logdir", folder, "--steps", "2"]) == 0
        """,
        tmp_path,
        HEADRACE_OPENCL_DEVICES="none",
    )
    assert "linear_regression: 2 steps" in out
