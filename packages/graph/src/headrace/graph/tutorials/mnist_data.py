"""The handwritten digits of MNIST, as TensorFlow 1.x's tutorials read them."""

from __future__ import annotations

import collections
import gzip
import math
import os
from typing import Any
from urllib.request import urlretrieve

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.framework.default_graph import get_seed
from headrace.graph.typing.aliases import DTypeLike, Path

SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])


def maybe_download(filename: str, work_directory: Path, source_url: str) -> str:
    """Downloads a file unless it exists.

    Args:
      filename: its name in work_directory, which is made if necessary.
      source_url: address of the file.
    Returns: its path.
    Raises: URLError if the address cannot be read.
    """
    folder = os.fsdecode(work_directory)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, filename)
    if not os.path.exists(path):
        partial = f"{path}.partial"
        urlretrieve(source_url, partial)
        os.replace(partial, path)
    return path


def _read_idx(path: Path, magic: int, what: str) -> np.ndarray:
    """Returns the bytes of an IDX file, compressed by gzip."""
    rank = magic & 0xFF
    name = os.fsdecode(path)
    with gzip.open(name, "rb") as file:
        data = file.read()
    head = np.frombuffer(data[: 4 * (rank + 1)], ">u4")
    if len(head) != rank + 1 or head[0] != magic:
        found = head[0] if len(head) else "nothing"
        raise ValueError(f"Invalid magic number {found} in MNIST {what} file: {name}")
    sizes = [int(n) for n in head[1:]]
    values = np.frombuffer(data, np.uint8, offset=4 * (rank + 1))
    if len(values) != np.prod(sizes):
        raise ValueError(f"MNIST {what} file {name} has {len(values)} bytes, expected {sizes}")
    return values.reshape(sizes)


def _path(f: Any) -> Any:
    return f if isinstance(f, (str, bytes, os.PathLike)) else f.name


def extract_images(f: Any) -> np.ndarray:
    """Reads images from an IDX file.

    Args:
      f: path, or open file with a name.
    Returns: [n, height, width, 1] uint8.
    Raises: ValueError if the file does not hold images.
    """
    return _read_idx(_path(f), 0x803, "image")[..., np.newaxis]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> np.ndarray:
    """Reads labels from an IDX file.

    Args:
      f: path, or open file with a name.
      one_hot: return vectors with one 1.
      num_classes: length of these vectors.
    Returns: [n] uint8, or [n, num_classes] float64.
    Raises: ValueError if the file does not hold labels.
    """
    labels = _read_idx(_path(f), 0x801, "label")
    return np.eye(num_classes)[labels] if one_hot else labels


class DataSet:
    """Images and labels, in batches that follow each other through shuffled epochs.

    Args:
      images: [n, height, width, 1] uint8.
      labels: [n] or [n, classes].
      fake_data: next_batch returns constant values.
      one_hot: whether fake labels are vectors.
      dtype: uint8, or float32 with values from 0 to 1.
      reshape: flatten each image.
      seed: seed of the order; by default the graph's, or a random one.
    Raises: TypeError for another dtype; ValueError for different numbers of images and labels.
    """

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = "float32",
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = as_dtype(dtype).base_dtype
        if kind.name not in ("uint8", "float32"):
            raise TypeError(f"Invalid image dtype {kind}, expected uint8 or float32")
        graph_seed, op_seed = get_seed(seed)
        self._random = np.random.RandomState(graph_seed if seed is None else op_seed)
        self.one_hot = one_hot
        self._fake_data = fake_data
        if fake_data:
            self._num_examples = 10000
        else:
            if len(images) != len(labels):
                raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
            self._num_examples = len(images)
            if reshape:
                images = images.reshape(len(images), math.prod(images.shape[1:]))
            if kind.name == "float32":
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    images = property(lambda self: self._images, doc="The images, in the order of this epoch.")
    labels = property(lambda self: self._labels, doc="The labels, in the order of this epoch.")
    num_examples = property(lambda self: self._num_examples, doc="Number of images.")
    epochs_completed = property(lambda self: self._epochs_completed, doc="Number of whole epochs.")

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Returns the images and labels of the next batch.

        Args:
          batch_size: number of examples; the last batch of an epoch is filled from the next one.
          fake_data: return constant values.
          shuffle: order each epoch randomly.
        """
        if fake_data:
            label: Any = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * 784] * batch_size, [label] * batch_size
        if batch_size > self._num_examples:
            raise ValueError(
                f"next_batch: batch_size {batch_size} is above the {self._num_examples} examples"
            )
        start = self._index_in_epoch
        if start == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index_in_epoch = end = start + batch_size
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = batch_size - len(rest[0])
        return (
            np.concatenate([rest[0], self._images[:end]]),
            np.concatenate([rest[1], self._labels[:end]]),
        )

    def _shuffle(self) -> None:
        order = self._random.permutation(self._num_examples)
        self._images, self._labels = self._images[order], self._labels[order]


def read_data_sets(
    train_dir: Path,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: DTypeLike = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = SOURCE_URL,
) -> Any:
    """Reads MNIST from a folder, and downloads the files that it lacks.

    Args:
      train_dir: the folder.
      fake_data: return data sets of constant values, without files.
      one_hot: labels are vectors with one 1.
      dtype: uint8, or float32 with values from 0 to 1.
      reshape: flatten each image to 784 numbers.
      validation_size: how many training images make the validation set.
      seed: seed of the order of the batches.
      source_url: folder of the files to download.
    Returns: a named tuple of three DataSets: train, validation, test.
    Raises: ValueError for an invalid file or validation_size; URLError if a file is missing and
      cannot be downloaded.
    """
    options: dict[str, Any] = {"one_hot": one_hot, "dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        empty = np.zeros(0)
        return Datasets(*[DataSet(empty, empty, fake_data=True, **options) for _ in range(3)])
    source_url = source_url or SOURCE_URL
    found = {}
    for part, names in _FILES.items():
        paths = [maybe_download(name, train_dir, source_url + name) for name in names]
        found[part] = extract_images(paths[0]), extract_labels(paths[1], one_hot=one_hot)
    images, labels = found["train"]
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    cut = validation_size
    return Datasets(
        train=DataSet(images[cut:], labels[cut:], **options),
        validation=DataSet(images[:cut], labels[:cut], **options),
        test=DataSet(*found["test"], **options),
    )


def load_mnist(train_dir: Path = "MNIST-data") -> Any:
    """Same as read_data_sets, its other name."""
    return read_data_sets(train_dir)
