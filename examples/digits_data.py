"""Reads handwritten digits: the UCI set of scikit-learn's wheel, or MNIST's IDX files."""

from __future__ import annotations

import argparse
import gzip
import zipfile
from pathlib import Path

import numpy as np

MEMBER = "sklearn/datasets/data/digits.csv.gz"
FOLDS = 5


def add_source(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """Adds the arguments that name the source of the digits."""
    source = parser.add_mutually_exclusive_group(required=required)
    source.add_argument("--data", type=Path, help="scikit-learn's wheel, or digits.csv(.gz)")
    source.add_argument("--mnist", type=Path, help="folder of MNIST's IDX files")


def source_arguments(options: argparse.Namespace) -> list[str]:
    """Returns: the arguments that `add_source` read, for another process."""
    if options.mnist:
        return ["--mnist", str(options.mnist)]
    return ["--data", str(options.data)]


def read_source(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Returns: images [n, side, side, 1] float32 in 0 to 1, labels [n] int64."""
    return read_mnist(options.mnist) if options.mnist else read_digits(options.data)


def read_digits(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Reads the 1797 UCI digits of 8x8 pixels.

    Args:
      path: scikit-learn's wheel, or digits.csv, or digits.csv.gz from it.
    Returns: images [n, 8, 8, 1] float32 in 0 to 1, labels [n] int64.
    """
    data = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as wheel:
            data = wheel.read(MEMBER)
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    table = np.loadtxt(data.decode().splitlines(), delimiter=",", dtype=np.float32)
    if table.ndim != 2 or table.shape[1] != 65:
        raise ValueError(f"{path}: a row has {table.shape[-1]} numbers, not 64 pixels and a label")
    return (table[:, :64] / 16).reshape(-1, 8, 8, 1), table[:, 64].astype(np.int64)


def read_mnist(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Reads MNIST's training files from folder, each as it is or with .gz.

    Returns: images [n, 28, 28, 1] float32 in 0 to 1, labels [n] int64.
    """
    images = _read_idx(folder, "train-images-idx3-ubyte")
    labels = _read_idx(folder, "train-labels-idx1-ubyte")
    return (images[..., None] / 255).astype(np.float32), labels.astype(np.int64)


def _read_idx(folder: Path, name: str) -> np.ndarray:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            rank = data[3]
            shape = np.frombuffer(data, ">i4", rank, 4)
            return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)
    raise FileNotFoundError(f"{folder}: has neither {name} nor {name}.gz")


def folds_of(labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """Returns: [n], the fold that holds each example out; each fold has every digit evenly."""
    rng = np.random.RandomState(seed)
    fold = np.empty(len(labels), np.int64)
    offset = 0
    for digit in range(10):
        (members,) = np.nonzero(labels == digit)
        fold[rng.permutation(members)] = (np.arange(len(members)) + offset) % FOLDS
        offset += len(members)
    return fold


def shifted(images: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Returns: images [n, h, w, 1], each shifted by up to one pixel along each axis."""
    n, height, width, _ = images.shape
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    result = np.empty_like(images)
    down, right = rng.randint(0, 3, n), rng.randint(0, 3, n)
    for y in range(3):
        for x in range(3):
            chosen = (down == y) & (right == x)
            result[chosen] = padded[chosen, y : y + height, x : x + width]
    return result
