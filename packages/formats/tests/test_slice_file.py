from __future__ import annotations

import os

import numpy as np
import pytest

from headrace.formats.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from headrace.formats.slice_file import SliceFileReader, SliceFileWriter, slice_files

TENSORS = {
    "scalar": np.float32(2.5),
    "empty": np.zeros([0, 3]),
    "int": np.arange(6, dtype=np.int64).reshape(2, 3),
    "small": np.array([-3, 7], np.int8),
    "half": np.array([0.5, -2], np.float16),
    "complex": np.array([1 + 2j, 3], np.complex64),
    "flags": np.array([True, False]),
    "text": np.array([b"a", b"", b"\xff"], object),
}


def written(path, tensors=TENSORS):
    writer = SliceFileWriter(path)
    for name, value in tensors.items():
        writer.add(name, value)
    writer.finish()
    return path


def test_tensors_round_trip(tmp_path):
    with SliceFileReader(written(tmp_path / "model")) as reader:
        assert reader.names() == sorted(TENSORS) == list(reader)
        for name, value in TENSORS.items():
            found = reader.read(name)
            assert found.tolist() == np.asarray(value).tolist()
            assert reader.shape(name) == found.shape == np.shape(value) and name in reader
            assert found.dtype == np.asarray(value).dtype


def test_slices_of_several_files_are_joined(tmp_path):
    whole = np.arange(20.0).reshape(5, 4)
    for number, (start, stop) in enumerate([(0, 2), (2, 5)]):
        writer = SliceFileWriter(tmp_path / f"m-{number:05d}-of-00002")
        writer.add("w", whole[start:stop], [5, 4], [start, 0], [stop - start, 4])
        writer.finish()
    pattern = str(tmp_path / "m-?????-of-00002")
    assert len(slice_files(pattern)) == 2
    reader = SliceFileReader(pattern)
    assert np.array_equal(reader.read("w"), whole)
    assert np.array_equal(reader.read_slice("w", [1, 1], [3, 2]), whole[1:4, 1:3])
    with pytest.raises(DataLossError, match="slices of 'w' are missing"):
        SliceFileReader(tmp_path / "m-00000-of-00002").read("w")
    with pytest.raises(InvalidArgumentError, match="exceeds a dimension"):
        reader.read_slice("w", [4, 0], [3, 4])


def test_missing_and_invalid_files_and_tensors_raise(tmp_path):
    with pytest.raises(NotFoundError, match="Failed to find any matching files for"):
        SliceFileReader(tmp_path / "none")
    path = written(tmp_path / "model")
    with pytest.raises(NotFoundError, match="Key b not found in checkpoint"):
        SliceFileReader(path).read("b")
    data = path.read_bytes()
    (tmp_path / "short").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataLossError, match="Unable to open table file .*short: Data loss: not an"):
        SliceFileReader(tmp_path / "short")
    with pytest.raises(DataLossError, match="Unable to open table file"):
        SliceFileReader(tmp_path)
    for place in range(0, len(data) // 2, 7):  # each block of tensors has a CRC
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises((DataLossError, NotFoundError)):
            SliceFileReader(path)


def test_a_read_of_one_tensor_reads_its_block_only(tmp_path):
    writer = SliceFileWriter(tmp_path / "model")
    for name in "ab":
        writer.add(name, np.full(1 << 17, ord(name), np.float32))
    writer.finish()
    path = tmp_path / "model"
    data = bytearray(path.read_bytes())
    data[data.rindex(np.float32(ord("b")).tobytes() * 9)] ^= 1
    path.write_bytes(data)
    with SliceFileReader(tmp_path / "model") as reader:
        assert (reader.read("a") == ord("a")).all()
        with pytest.raises(DataLossError, match="CRC"):
            reader.read("b")


def test_a_file_that_becomes_shorter_raises(tmp_path):
    path = written(tmp_path / "model")
    with SliceFileReader(path) as reader:
        os.truncate(path, 8)
        with pytest.raises(DataLossError, match="CRC"):
            reader.read(reader.names()[0])


def test_a_dtype_or_slice_that_the_format_cannot_hold_raises(tmp_path):
    writer = SliceFileWriter(tmp_path / "model")
    with pytest.raises(UnimplementedError, match="cannot hold uint64"):
        writer.add("u", np.zeros(2, np.uint64))
    with pytest.raises(InvalidArgumentError, match="cannot hold"):
        writer.add("w", np.zeros([2, 2]), [4, 2], [0, 0], [3, 2])


def test_a_slice_that_contradicts_earlier_ones_is_rejected_and_adds_nothing(tmp_path):
    path = tmp_path / "model"
    writer = SliceFileWriter(path)
    half = np.arange(2, dtype=np.float32)
    writer.add("v", half, [4], [0], [2])
    for value, shape in ((half, [5]), (half.astype(np.int32), [4])):
        with pytest.raises(InvalidArgumentError, match="earlier ones are of float32"):
            writer.add("v", value, shape, [2], [2])
    with pytest.raises(UnimplementedError):
        writer.add("w", np.zeros(1, np.uint32))
    writer.add("v", half + 2, [4], [2], [2])
    writer.finish()
    reader = SliceFileReader(path)
    assert reader.names() == ["v"]
    assert reader.read("v").tolist() == [0, 1, 2, 3]
