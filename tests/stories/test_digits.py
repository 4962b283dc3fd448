"""The example of the digits: its folds, its data, and that a short training learns."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import digits
import digits_data

SIDE = 8


def made_digits(n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Ten fixed patterns under noise stand in for the real digits, which no test downloads."""
    patterns = np.random.RandomState(7).rand(10, SIDE, SIDE, 1) > 0.5
    labels = rng.randint(0, 10, n)
    images = patterns[labels] * 0.7 + rng.rand(n, SIDE, SIDE, 1) * 0.3
    return images.astype(np.float32), labels.astype(np.int64)


def test_short_training_learns_what_it_has_not_seen():
    rng = np.random.RandomState(0)
    images, labels = made_digits(640, rng)
    unseen = made_digits(200, rng)
    assert digits.train_fold(images, labels, *unseen, epochs=6, seed=1, title="made") > 0.9


def test_folds_are_fixed_disjoint_and_hold_every_digit_evenly():
    labels = np.random.RandomState(0).randint(0, 10, 1797)
    fold = digits_data.folds_of(labels)
    assert (fold == digits_data.folds_of(labels)).all()
    assert np.ptp(np.bincount(fold)) <= 1
    for digit in range(10):
        assert np.ptp(np.bincount(fold[labels == digit], minlength=5)) <= 1


def test_csv_is_read_packed_and_plain(tmp_path):
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
