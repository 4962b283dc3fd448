"""Bundles, partitioned tensors and index files for the tests of checkpoint bundles."""

import ml_dtypes
import numpy as np

from headrace.formats import dtypes
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.proto.bundle_pb2 import BundleEntryProto
from headrace.formats.sorted_table import TableReader, TableWriter
from headrace.formats.tensor_codec import make_shape_proto

ARRAYS = {
    "scalar": np.float32(1.5),
    "layer/weights": np.arange(24, dtype=np.float64).reshape(2, 3, 4),
    "empty": np.zeros((0, 3), np.int32),
    "half": np.arange(5, dtype=np.float16),
    "bfloat": np.arange(5).astype(ml_dtypes.bfloat16),
    "float8": np.arange(5).astype(ml_dtypes.float8_e4m3fn),
    "complex": np.array([1 + 2j], np.complex128),
    "bools": np.array([True, False]),
    "int8": np.arange(7, dtype=np.int8),
    "uint64": np.array([2**63], np.uint64),
    "names": np.array([b"a", b"", b"\x00long" * 100], object),
    "no names": np.zeros((2, 0), object),
    "big endian": np.arange(3, dtype=">i4"),
    "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "é": np.int64(3),
}


FULL = np.arange(35, dtype=np.float32).reshape(5, 7)


REGIONS = [((1, 2), (3, 4)), ((0, 0), (-1, -1)), ((4, 6), (1, 1)), ((1, 1), (0, 2))]


QUARTERS = [((0, 0), (2, 3)), ((2, 0), (3, 3)), ((0, 3), (2, 4)), ((2, 3), (3, -1))]


def write_bundle(prefix, arrays=ARRAYS, **options):
    with BundleWriter(prefix, **options) as writer:
        for name, value in arrays.items():
            writer.add(name, value)
    return str(prefix)


def assert_same(got, value):
    value = np.asarray(value)
    value = value.astype(value.dtype.newbyteorder("="))
    assert got.dtype == value.dtype and got.shape == value.shape
    assert got.tolist() == value.tolist()


def part_of(array, starts, lengths):
    pairs = zip(starts, lengths, strict=True)
    return array[tuple(slice(s, None if n < 0 else s + n) for s, n in pairs)]


def slices_of(prefix, parts):
    with BundleWriter(prefix) as writer:
        for starts, lengths in parts:
            writer.add_slice("v", FULL.shape, starts, lengths, part_of(FULL, starts, lengths))
    return str(prefix)


def rewrite_index(prefix, header=None, **entries):
    """Replaces entries of a bundle's index; all CRCs are correct."""
    table = dict(TableReader.open(prefix + ".index").items())
    if header is not None:
        table[b""] = header
    for name, entry in entries.items():
        table[name.encode()] = entry
    write_index(prefix, table)


def entry_bytes(dims=(4,), dtype=9, offset=0, size=32, shard_id=0, crc32c=0):
    return BundleEntryProto(
        dtype=dtype,
        shape=make_shape_proto(dims),
        offset=offset,
        size=size,
        shard_id=shard_id,
        crc32c=crc32c,
    ).SerializeToString()


def write_index(prefix, table):
    with open(prefix + ".index", "wb") as file:
        writer = TableWriter(file)
        for key in sorted(table):
            writer.add(key, table[key])
        writer.finish()


def c_checksum(data):
    total = 0
    for byte in data:
        total = (total * 31 + byte) % 1000000007
    return total


def c_output(array):
    number = dtypes.as_dtype(array.dtype).as_datatype_enum
    if array.dtype != object:
        return f"ok {number} {array.ndim} {c_checksum(array.tobytes())}"
    total = 0
    for i, value in enumerate(array.reshape(-1)):
        total = (total * 31 + i + len(value) + c_checksum(value)) % 1000000007
    return f"ok {number} {array.ndim} {total}"
