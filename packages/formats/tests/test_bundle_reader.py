"""BundleReader: whole and partitioned tensors, and corrupted bundles."""

import os

import numpy as np
import pytest
from bundle_cases import (
    ARRAYS,
    FULL,
    QUARTERS,
    REGIONS,
    assert_same,
    entry_bytes,
    part_of,
    rewrite_index,
    slices_of,
    write_bundle,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headrace.formats import dtypes, errors
from headrace.formats.bundle_files import bundle_files
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from headrace.formats.sorted_table import TableReader
from headrace.formats.tensor_codec import make_shape_proto


@pytest.mark.parametrize("max_shard_bytes", [None, 1, 100])
def test_tensors_of_every_dtype_round_trip(tmp_path, max_shard_bytes):
    prefix = write_bundle(tmp_path / "deep" / "model.ckpt-1", max_shard_bytes=max_shard_bytes)
    with BundleReader(prefix) as reader:
        assert reader.names() == sorted(ARRAYS, key=str.encode)
        for name, value in ARRAYS.items():
            assert_same(reader.read(name), value)
            assert reader.shape(name) == np.shape(value)
            assert reader.dtype(name) == dtypes.as_dtype(np.asarray(value).dtype)
            assert name in reader
        assert "none" not in reader
        assert list(reader) == reader.names()


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.text(min_size=1).filter(lambda s: s[0] != "\0" and s.isprintable()),
        hnp.arrays(
            st.sampled_from([np.float32, np.int64, np.complex64, np.bool_, np.uint16]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
        ),
        max_size=8,
    )
)
def test_arbitrary_tensors_round_trip(tmp_path_factory, arrays):
    prefix = write_bundle(tmp_path_factory.mktemp("h") / "p", arrays, sync=False)
    with BundleReader(prefix) as reader:
        assert set(reader.names()) == set(arrays)
        for name, value in arrays.items():
            assert reader.read(name).tobytes() == value.tobytes()
            assert reader.read(name).dtype == value.dtype


def test_read_without_copy_returns_an_aligned_view_of_the_file(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"a": np.ones(3, np.int8), "b": np.arange(1000.0)})
    with BundleReader(prefix) as reader:
        view = reader.read("b", copy=False)
        assert not view.flags.writeable and not view.flags.owndata
        assert view.ctypes.data % 64 == 0
        assert reader.read("b").flags.writeable
    assert view.sum() == 499500  # the view outlives the reader


def test_read_assembles_a_partitioned_tensor(tmp_path):
    with BundleReader(slices_of(tmp_path / "p", QUARTERS)) as reader:
        assert reader.names() == ["v"]
        assert reader.shape("v") == (5, 7)
        first, *_, last = reader.slices("v")
        assert (first, last) == ([(0, 2), (0, 3)], [(2, 3), (3, 4)])
        assert_same(reader.read("v"), FULL)


def test_read_slice_returns_any_region_of_whole_and_partitioned_tensors(tmp_path):
    whole = write_bundle(tmp_path / "whole", {"v": FULL})
    for prefix in (whole, slices_of(tmp_path / "parts", QUARTERS)):
        with BundleReader(prefix) as reader:
            for starts, lengths in REGIONS:
                assert_same(reader.read_slice("v", starts, lengths), part_of(FULL, starts, lengths))
            with pytest.raises(errors.InvalidArgumentError, match="exceeds a dimension of 5"):
                reader.read_slice("v", (3, 0), (3, 1))
            with pytest.raises(errors.InvalidArgumentError, match="rank 1 and 1, the tensor 2"):
                reader.read_slice("v", (3,), (3,))


def test_missing_slice_raises_data_loss_error(tmp_path):
    with BundleReader(slices_of(tmp_path / "p", QUARTERS[:3])) as reader:
        with pytest.raises(errors.DataLossError, match="hold 23 of the 35 requested elements"):
            reader.read("v")
        assert_same(reader.read_slice("v", (0, 0), (2, 7)), FULL[:2])


def test_every_flipped_bit_of_a_tensor_raises_data_loss_error_with_its_offset(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4), "s": np.array([b"ab", b"c"], object)})
    (shard,) = [f for f in bundle_files(prefix) if ".data-" in f]
    with open(shard, "rb") as file:
        data = file.read()
    assert len(data) == 32 + 9
    for bit in range(len(data) * 8):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        with open(shard, "wb") as file:
            file.write(bad)
        name, offset = ("a", 0) if bit < 32 * 8 else ("s", 32)
        with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError) as raised:
            reader.read(name)
        assert (raised.value.path, raised.value.offset) == (shard, offset)


def test_truncated_or_missing_shard_raises_data_loss_error(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4)})
    (shard,) = [f for f in bundle_files(prefix) if ".data-" in f]
    for cut in (0, 1, 31):
        os.truncate(shard, cut)
        with BundleReader(prefix) as reader:
            with pytest.raises(
                errors.DataLossError, match="bytes 0 to 32 of .* is truncated"
            ) as raised:
                reader.read("a")
            assert (raised.value.path, raised.value.offset) == (shard, 0)
    os.remove(shard)
    with BundleReader(prefix) as reader:
        with pytest.raises(errors.DataLossError, match="the shard that holds 'a' is missing"):
            reader.read("a")


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (entry_bytes(dims=(2**40,)), "has 32 bytes but int64 .* takes 8796093022208"),
        (entry_bytes(dims=(2**40, 2**40)), "impossible shape"),
        (entry_bytes(dims=(-1,)), "impossible shape"),
        (entry_bytes(dims=None), "impossible shape"),
        (entry_bytes(dims=(1,) * 100), "impossible shape"),
        (entry_bytes(dtype=77), "unknown dtype 77"),
        (entry_bytes(dtype=0), "unknown dtype 0"),
        (entry_bytes(size=2**50, dims=(2**47,)), "occupies bytes 0 to 1125899906842624 of 32"),
        (entry_bytes(offset=-8), "occupies bytes -8 to 24"),
        (entry_bytes(offset=2**62), "occupies bytes"),
        (entry_bytes(size=-32), "bytes but int64|occupies"),
        (entry_bytes(shard_id=1), "is in shard 1 of 1"),
        (entry_bytes(shard_id=-1), "is in shard -1 of 1"),
        (entry_bytes(), "has CRC 0x.* but 0x00000000 is stored"),
        (entry_bytes(dtype=7, dims=(2**50,)), "32 bytes cannot hold 1125899906842624 strings"),
        (entry_bytes(dtype=7, dims=(3,)), "the CRC of the lengths is wrong"),
        (b"\xff\xff", "the entry of 'a' is corrupted"),
    ],
)
def test_invalid_entries_raise_data_loss_error(tmp_path, bad, text):
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4)})
    rewrite_index(prefix, a=bad)
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match=text) as raised:
        reader.read("a")
    assert raised.value.path.startswith(prefix) and raised.value.offset is not None


def test_invalid_slices_raise_data_loss_error_without_allocating(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4)})
    whole = BundleEntryProto(dtype=1, shape=make_shape_proto([2**40]))
    whole.slices.add().extent.add()
    rewrite_index(prefix, a=whole.SerializeToString())
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="is missing"):
        reader.read("a")
    whole.slices[0].extent[0].start = 2**41
    whole.slices[0].extent[0].length = 1
    rewrite_index(prefix, a=whole.SerializeToString())
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="does not fit"):
        reader.read("a")


def test_overlapping_slices_raise_data_loss_error(native, tmp_path):
    prefix = slices_of(tmp_path / "p", [((0, 0), (5, 3)), ((0, 3), (5, 3))])
    whole = BundleEntryProto.FromString(TableReader.open(prefix + ".index").get(b"v"))
    whole.shape.dim[1].size = 6
    whole.slices[1].CopyFrom(whole.slices[0])
    rewrite_index(prefix, v=whole.SerializeToString())
    with BundleReader(prefix) as reader:
        with pytest.raises(errors.DataLossError, match="slices of 'v' overlap"):
            reader.read("v")
        with pytest.raises(
            errors.DataLossError, match="slices of 'v' hold 6 of the 3 requested elements"
        ):
            reader.read_slice("v", (2, 0), (1, 3))
    scan = native("bundle_scan.c", sanitize=True)
    for arguments in ((), (2, 1, 0, 3)):
        assert scan(prefix, "v", *arguments) == [f"15 0 {prefix}.index"]


def test_slices_of_another_dtype_raise_data_loss_error(native, tmp_path):
    prefix = slices_of(tmp_path / "p", QUARTERS)
    whole = BundleEntryProto.FromString(TableReader.open(prefix + ".index").get(b"v"))
    whole.dtype = 2
    rewrite_index(prefix, v=whole.SerializeToString())
    with BundleReader(prefix) as reader:
        with pytest.raises(errors.DataLossError, match="'v' has dtype 1, not float64"):
            reader.read("v")
    assert native("bundle_scan.c")(prefix, "v") == [f"15 0 {prefix}.index"]


def test_reader_rejects_newer_versions_and_corrupted_headers(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4)})
    newer = BundleHeaderProto(num_shards=1)
    newer.version.min_consumer = 9
    rewrite_index(prefix, header=newer.SerializeToString())
    with pytest.raises(errors.InvalidArgumentError, match="needs a reader of version 9"):
        BundleReader(prefix)
    rewrite_index(prefix, header=b"\xff")
    with pytest.raises(errors.DataLossError, match="its header is corrupted"):
        BundleReader(prefix)


def test_reader_converts_the_other_byte_order(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4).byteswap()})
    header = BundleHeaderProto(num_shards=1, endianness=BundleHeaderProto.BIG)
    rewrite_index(prefix, header=header.SerializeToString())
    with BundleReader(prefix) as reader:
        assert reader.read("a").tolist() == [0, 1, 2, 3]


def test_verify_false_skips_the_crc_check(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4)})
    rewrite_index(prefix, a=entry_bytes())
    with BundleReader(prefix, verify=False) as reader:
        assert reader.read("a").tolist() == [0, 1, 2, 3]
