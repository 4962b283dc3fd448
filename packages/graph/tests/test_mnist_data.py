"""The tutorials' MNIST data: files, batches, epochs."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from headrace.graph.tutorials import mnist_data

read_data_sets = mnist_data.read_data_sets


@pytest.fixture
def folder(tmp_path):
    """Returns a folder with 30 training and 10 test images of 4 x 3 points."""
    random = np.random.default_rng(1)
    for part, n in (("train", 30), ("t10k", 10)):
        images = random.integers(0, 256, [n, 4, 3], np.uint8)
        labels = (np.arange(n) % 10).astype(np.uint8)
        images[:, 0, 0] = np.arange(n)
        head = struct.pack(">IIII", 0x803, n, 4, 3)
        write(tmp_path / f"{part}-images-idx3-ubyte.gz", head + images.tobytes())
        head = struct.pack(">II", 0x801, n)
        write(tmp_path / f"{part}-labels-idx1-ubyte.gz", head + labels.tobytes())
    return tmp_path


def write(path, data):
    with gzip.open(path, "wb") as file:
        file.write(data)


def test_images_are_scaled_and_flattened(folder):
    found = read_data_sets(folder, validation_size=5)
    assert (found.train.num_examples, found.validation.num_examples) == (25, 5)
    assert found.test.images.shape == (10, 12) and found.test.images.dtype == np.float32
    assert 0 <= found.test.images.min() < found.test.images.max() <= 1
    assert found.validation.labels.tolist() == [0, 1, 2, 3, 4]


def test_images_stay_bytes_and_labels_are_vectors(folder):
    found = read_data_sets(folder, one_hot=True, dtype="uint8", reshape=False, validation_size=0)
    assert found.train.images.shape == (30, 4, 3, 1) and found.train.images.dtype == np.uint8
    assert found.test.labels.shape == (10, 10) and found.test.labels[3].argmax() == 3


def test_an_epoch_has_each_image_once(folder):
    train = read_data_sets(folder, dtype="uint8", validation_size=0, seed=3).train
    batches = [train.next_batch(10) for _ in range(3)]
    first = np.concatenate([images[:, 0] for images, _ in batches])
    assert sorted(first) == list(range(30)) and first.tolist() != list(range(30))
    for images, labels in batches:
        assert (images[:, 0] % 10 == labels).all()
    assert train.epochs_completed == 0
    train.next_batch(20)
    images, labels = train.next_batch(20)  # ten of this epoch, ten of the next
    assert train.epochs_completed == 2 and len(images) == len(labels) == 20


def test_a_seed_repeats_the_order(folder):
    def order(seed):
        train = read_data_sets(folder, dtype="uint8", validation_size=0, seed=seed).train
        return [train.next_batch(7)[1].tolist() for _ in range(12)]

    assert order(5) == order(5) != order(6)


def test_batches_without_shuffling_are_in_order(folder):
    train = read_data_sets(folder, dtype="uint8", validation_size=0).train
    found = [train.next_batch(12, shuffle=False)[0][:, 0] for _ in range(3)]
    assert np.concatenate(found).tolist() == [*range(30), *range(6)]
    with pytest.raises(ValueError, match="batch_size 31 is above the 30 examples"):
        train.next_batch(31)


def test_fake_data_needs_no_files(tmp_path):
    found = read_data_sets(tmp_path / "none", fake_data=True, one_hot=True)
    images, labels = found.train.next_batch(2, fake_data=True)
    assert np.shape(images) == (2, 784) and np.shape(labels) == (2, 10)


def test_missing_files_are_downloaded(folder, tmp_path):
    source = folder.as_uri() + "/"
    found = read_data_sets(tmp_path / "new", validation_size=0, source_url=source)
    assert found.train.num_examples == 30
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(
        p.name for p in folder.iterdir() if p.suffix == ".gz"
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "Invalid magic number nothing in MNIST image file"),
        (struct.pack(">IIII", 0x801, 1, 1, 1), "Invalid magic number 2049 in MNIST image file"),
        (struct.pack(">IIII", 0x803, 9, 4, 3) + b"abc", "has 3 bytes"),
    ],
)
def test_invalid_files_are_rejected(folder, data, says):
    write(folder / "train-images-idx3-ubyte.gz", data)
    with pytest.raises(ValueError, match=says):
        read_data_sets(folder)


def test_invalid_sizes_are_rejected(folder):
    with pytest.raises(ValueError, match="Validation size should be between 0 and 30"):
        read_data_sets(folder, validation_size=31)
    with pytest.raises(TypeError, match="Invalid image dtype"):
        read_data_sets(folder, dtype="int32", validation_size=0)
    images = mnist_data.extract_images(folder / "train-images-idx3-ubyte.gz")
    with open(folder / "t10k-labels-idx1-ubyte.gz", "rb") as file:
        labels = mnist_data.extract_labels(file)
    with pytest.raises(ValueError, match=r"images.shape"):
        mnist_data.DataSet(images, labels)
    assert mnist_data.load_mnist is not None
