"""examples/digits.py: data, training, interruption, event log, and the exported model."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.event_file import event_files, read_events
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunMetadata

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
import digits_data  # noqa: E402
import digits_training  # noqa: E402
from digits_training import Examples, Settings  # noqa: E402

SIDE = 8


def made_digits(n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Ten fixed patterns under noise stand in for the real digits, which no test downloads."""
    patterns = np.random.RandomState(7).rand(10, SIDE, SIDE, 1) > 0.5
    labels = rng.randint(0, 10, n)
    images = patterns[labels] * 0.7 + rng.rand(n, SIDE, SIDE, 1) * 0.3
    return images.astype(np.float32), labels.astype(np.int64)


def made_csv(path: Path) -> Path:
    """Made digits as scikit-learn has the real ones, 480 of them to train on in a fold."""
    images, labels = made_digits(600, np.random.RandomState(0))
    table = np.hstack([np.rint(images.reshape(-1, SIDE * SIDE) * 16), labels[:, None]])
    np.savetxt(path, table, "%d", ",")
    return path


def command(data: Path, out: Path, *more: str) -> list[str]:
    script = str(EXAMPLES / "digits.py")
    return [sys.executable, script, "--data", str(data), "--out", str(out), *more]


def finished(line: list[str], code: int = 0) -> str:
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def checkpoint(folder: Path, step: int) -> dict[str, np.ndarray]:
    with BundleReader(folder / "fold1" / f"model.ckpt-{step}") as reader:
        return {name: reader.read(name) for name in reader.names()}


def saved_step(out: Path) -> int:
    """The step of the newest checkpoint; 0 without one."""
    latest = hr.train.latest_checkpoint(str(out / "fold1"))
    return int(latest.rpartition("-")[2]) if latest else 0


def test_short_training_classifies_held_out_digits(tmp_path):
    rng = np.random.RandomState(0)
    examples = Examples(*made_digits(640, rng), *made_digits(200, rng))
    settings = Settings("made", epochs=10, seed=1)
    reached = digits_training.train_fold(examples, settings, tmp_path / "run", "made")
    assert reached > 0.9
    # A finished training is not repeated, and is not continued with other settings.
    assert digits_training.train_fold(examples, settings, tmp_path / "run", "made") == reached
    with pytest.raises(ValueError, match="contains a training with .*name another folder"):
        digits_training.train_fold(
            examples, Settings("made", epochs=11, seed=1), tmp_path / "run", "made"
        )


EPOCHS, STEPS = "60", 420


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of an uninterrupted training, its data, and what it printed."""
    folder = tmp_path_factory.mktemp("digits")
    data = made_csv(folder / "digits.csv")
    return folder, data, finished(command(data, folder / "whole", "--epochs", EPOCHS))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_training_ends_in_the_same_bits(trained, number):
    folder, data, _ = trained
    out = folder / f"interrupted{number}"
    line = command(data, out, "--epochs", EPOCHS)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
        while not saved_step(out):
            assert child.poll() is None
            time.sleep(0.005)
        child.send_signal(number)
        printed = child.stderr.read()
    if number == signal.SIGINT:
        assert child.returncode == 130
        assert "what was learnt is saved. The same command continues from there." in printed
    newest = saved_step(out)
    assert 0 < newest < STEPS
    printed = finished(line)
    assert f"| {newest}/{STEPS} " in printed  # the progress bar continues
    whole, resumed = (checkpoint(folder / name, STEPS) for name in ("whole", out.name))
    assert whole.keys() == resumed.keys() and len(whole) > 20
    for name, value in whole.items():
        assert value.tobytes() == resumed[name].tobytes(), name


def test_event_log_has_scalars_histograms_images_graph_and_trace(trained):
    (path,) = event_files(trained[0] / "whole" / "fold1")
    kinds: dict[str, set[str]] = {}
    for event in read_events(path):
        for value in event.summary.value:
            kinds.setdefault(value.WhichOneof("value"), set()).add(value.tag)
        if event.HasField("graph_def"):
            names = {node.name for node in GraphDef.FromString(event.graph_def).node}
            assert {"images", "predictions", "conv1/Conv2D"} <= names
            kinds["graph"] = names
        if event.HasField("tagged_run_metadata"):
            trace = RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
            labels = [n.node_name for d in trace.step_stats.dev_stats for n in d.node_stats]
            assert len(labels) > 10
            kinds["trace"] = set(labels)
    assert kinds["simple_value"] == {"batch/loss", "batch/rate", "held_out_accuracy"}
    assert "variables/conv1/weights" in kinds["histo"] and len(kinds["histo"]) == 8
    assert kinds["image"] == {"filters/conv1/image"} | {f"digits/image/{i}" for i in range(6)}
    assert kinds["graph"] and kinds["trace"]


def test_exported_model_predicts_in_a_new_process(trained):
    folder, data, printed = trained
    assert "in a new process: 100.00% of 120 held-out digits" in printed
    script = str(EXAMPLES / "digits_predict.py")
    model = str(folder / "whole" / "fold1" / "export")
    printed = finished([sys.executable, script, model, "--data", str(data), "--show", "2"])
    assert printed.count("the model takes this for a") == 2
    finished([sys.executable, script, model, "--data", str(data), "--at-least", "1.1"], code=1)


def test_training_fails_below_the_promised_accuracy(trained):
    folder, data, _ = trained
    printed = finished(command(data, folder / "short", "--epochs", "1"), code=1)
    assert "is below the promised 97.5%" in printed


def test_folds_are_fixed_and_have_every_digit_evenly():
    labels = np.random.RandomState(0).randint(0, 10, 1797)
    fold = digits_data.folds_of(labels)
    assert (fold == digits_data.folds_of(labels)).all()
    assert np.ptp(np.bincount(fold)) <= 1
    for digit in range(10):
        assert np.ptp(np.bincount(fold[labels == digit], minlength=5)) <= 1


def test_csv_is_read_compressed_and_plain(tmp_path):
    text = "\n".join(",".join(["16"] * 64 + [str(label)]) for label in (3, 9)) + "\n"
    (tmp_path / "digits.csv").write_text(text)
    (tmp_path / "digits.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("digits.csv", "digits.csv.gz"):
        images, labels = digits_data.read_digits(tmp_path / name)
        assert images.shape == (2, 8, 8, 1) and images.max() == 1.0
        assert labels.tolist() == [3, 9]


def test_idx_files_of_mnist_are_read(tmp_path):
    header = bytes([0, 0, 8, 3]) + np.array([2, 28, 28], ">i4").tobytes()
    pixels = np.full(2 * 28 * 28, 255, np.uint8).tobytes()
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(header + pixels))
    header = bytes([0, 0, 8, 1]) + np.array([2], ">i4").tobytes()
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(header + bytes([4, 1]))
    images, labels = digits_data.read_mnist(tmp_path)
    assert images.shape == (2, 28, 28, 1) and images.min() == 1.0
    assert labels.tolist() == [4, 1]


def test_shift_moves_an_image_by_a_pixel_at_most():
    image = np.zeros([50, 8, 8, 1], np.float32)
    image[:, 4, 4] = 1
    moved = digits_data.shifted(image, np.random.RandomState(0))
    assert (moved.sum((1, 2, 3)) == 1).all()
    at = np.argwhere(moved[..., 0])[:, 1:]
    assert np.abs(at - 4).max() == 1 and len(np.unique(at, axis=0)) == 9
