import os
import random
import signal
import subprocess
import sys
import time

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headrace.formats import bundle_files as files
from headrace.formats import dtypes, errors
from headrace.formats.bundle_files import bundle_exists, bundle_files
from headrace.formats.bundle_merge import merge_bundles
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
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


def write(prefix, arrays=ARRAYS, **options):
    with BundleWriter(prefix, **options) as writer:
        for name, value in arrays.items():
            writer.add(name, value)
    return str(prefix)


def same(got, value):
    value = np.asarray(value)
    value = value.astype(value.dtype.newbyteorder("="))
    assert got.dtype == value.dtype and got.shape == value.shape
    assert got.tolist() == value.tolist()


@pytest.mark.parametrize("max_shard_bytes", [None, 1, 100])
def test_tensors_round_trip(tmp_path, max_shard_bytes):
    prefix = write(tmp_path / "deep" / "model.ckpt-1", max_shard_bytes=max_shard_bytes)
    with BundleReader(prefix) as reader:
        assert reader.names() == sorted(ARRAYS, key=str.encode)
        for name, value in ARRAYS.items():
            same(reader.read(name), value)
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
def test_any_tensors_round_trip(tmp_path_factory, arrays):
    prefix = write(tmp_path_factory.mktemp("h") / "p", arrays, sync=False)
    with BundleReader(prefix) as reader:
        assert set(reader.names()) == set(arrays)
        for name, value in arrays.items():
            assert reader.read(name).tobytes() == value.tobytes()
            assert reader.read(name).dtype == value.dtype


def test_data_is_mapped_and_aligned(tmp_path):
    prefix = write(tmp_path / "p", {"a": np.ones(3, np.int8), "b": np.arange(1000.0)})
    with BundleReader(prefix) as reader:
        view = reader.read("b", copy=False)
        assert not view.flags.writeable and not view.flags.owndata
        assert view.ctypes.data % 64 == 0
        assert reader.read("b").flags.writeable
    assert view.sum() == 499500  # also after close


def part_of(array, starts, lengths):
    pairs = zip(starts, lengths, strict=True)
    return array[tuple(slice(s, None if n < 0 else s + n) for s, n in pairs)]


def slices_of(prefix, parts):
    with BundleWriter(prefix) as writer:
        for starts, lengths in parts:
            writer.add_slice("v", FULL.shape, starts, lengths, part_of(FULL, starts, lengths))
    return str(prefix)


FULL = np.arange(35, dtype=np.float32).reshape(5, 7)
REGIONS = [((1, 2), (3, 4)), ((0, 0), (-1, -1)), ((4, 6), (1, 1)), ((1, 1), (0, 2))]
QUARTERS = [((0, 0), (2, 3)), ((2, 0), (3, 3)), ((0, 3), (2, 4)), ((2, 3), (3, -1))]


def test_a_partitioned_tensor_reads_as_one(tmp_path):
    with BundleReader(slices_of(tmp_path / "p", QUARTERS)) as reader:
        assert reader.names() == ["v"]
        assert reader.shape("v") == (5, 7)
        first, *_, last = reader.slices("v")
        assert (first, last) == ([(0, 2), (0, 3)], [(2, 3), (3, 4)])
        same(reader.read("v"), FULL)


def test_a_tensor_reads_by_any_slice_however_it_is_stored(tmp_path):
    whole = write(tmp_path / "whole", {"v": FULL})
    for prefix in (whole, slices_of(tmp_path / "parts", QUARTERS)):
        with BundleReader(prefix) as reader:
            for starts, lengths in REGIONS:
                same(reader.read_slice("v", starts, lengths), part_of(FULL, starts, lengths))
            with pytest.raises(errors.InvalidArgumentError, match="passes a dimension of 5"):
                reader.read_slice("v", (3, 0), (3, 1))
            with pytest.raises(errors.InvalidArgumentError, match="rank 1 and 1, the tensor 2"):
                reader.read_slice("v", (3,), (3,))


def test_a_missing_slice_is_data_loss(tmp_path):
    with BundleReader(slices_of(tmp_path / "p", QUARTERS[:3])) as reader:
        with pytest.raises(errors.DataLossError, match="hold 23 of the 35 elements"):
            reader.read("v")
        same(reader.read_slice("v", (0, 0), (2, 7)), FULL[:2])


def test_bundles_merge(tmp_path):
    parts = []
    for i in range(3):
        parts.append(str(tmp_path / "temp" / f"part-{i:05d}-of-00003"))
        with BundleWriter(parts[-1]) as writer:
            writer.add(f"v{i}", np.full(3, i))
            writer.add_slice("p", [3, 2], [i, 0], [1, 2], np.full((1, 2), i))
    merge_bundles(parts, tmp_path / "kept", delete_old=False)
    merge_bundles(parts, tmp_path / "moved")
    assert not os.path.exists(tmp_path / "temp")
    for name in ("kept", "moved"):
        with BundleReader(tmp_path / name) as reader:
            assert reader.num_shards == 3
            assert reader.names() == ["p", "v0", "v1", "v2"]
            assert reader.read("p").tolist() == [[0, 0], [1, 1], [2, 2]]
            assert reader.read("v2").tolist() == [2, 2, 2]
        assert len(bundle_files(tmp_path / name)) == 4


def test_merging_refuses_a_tensor_that_is_in_two_bundles(tmp_path):
    a, b = write(tmp_path / "a", {"v": 1}), write(tmp_path / "b", {"v": 2})
    with pytest.raises(errors.AlreadyExistsError, match="'v' is in another bundle too"):
        merge_bundles([a, b], tmp_path / "m")
    assert bundle_exists(a) and bundle_exists(b)
    assert sorted(os.listdir(tmp_path)) == [
        "a.data-00000-of-00001", "a.index", "b.data-00000-of-00001", "b.index",
    ]  # fmt: skip


def test_a_bundle_takes_the_place_of_an_older_one(tmp_path):
    for value in range(5):
        prefix = write(tmp_path / "p", {"v": value})
        with BundleReader(prefix) as reader:
            assert reader.read("v") == value
    assert set(map(os.path.basename, bundle_files(prefix))) == set(os.listdir(tmp_path))


def test_a_failed_or_abandoned_write_leaves_the_older_bundle_and_no_litter(tmp_path):
    prefix = write(tmp_path / "p", {"v": 1})
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(KeyError), BundleWriter(prefix) as writer:
        writer.add("v", 2)
        raise KeyError
    assert sorted(os.listdir(tmp_path)) == before
    with BundleReader(prefix) as reader:
        assert reader.read("v") == 1
    with pytest.raises(errors.InvalidArgumentError, match="the writer is finished"):
        writer.add("w", 2)


SAVER = """
import sys
import numpy as np
from headrace.formats.bundle_writer import BundleWriter
prefix = sys.argv[1]
print("ready", flush=True)
for step in range(100000):
    with BundleWriter(prefix) as writer:
        for i in range(20):
            writer.add(f"v{i}", np.full(5000, step))
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_bundle(tmp_path):
    prefix = write(tmp_path / "p", {f"v{i}": np.full(5000, -1) for i in range(20)})
    rng = random.Random(4)
    seen = set()
    for _ in range(12):
        saver = subprocess.Popen([sys.executable, "-c", SAVER, prefix], stdout=subprocess.PIPE)
        assert saver.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0, 0.08))
        saver.send_signal(signal.SIGKILL)
        saver.wait()
        saver.stdout.close()
        with BundleReader(prefix) as reader:
            values = {v for name in reader.names() for v in reader.read(name).tolist()}
            assert len(reader.names()) == 20 and len(values) == 1
            seen |= values
    assert len(seen) > 1  # saves did happen
    # A killed writer's files go when they are old.
    litter = [n for n in os.listdir(tmp_path) if ".tmp-" in n]
    for name in litter:
        os.utime(tmp_path / name, (1, 1))
    write(tmp_path / "q", {})
    assert not [n for n in os.listdir(tmp_path) if ".tmp-" in n]


def test_every_step_of_publishing_may_be_the_last(tmp_path, monkeypatch):
    """The same by design and not by chance: each rename fails in turn."""
    real = os.replace
    for fail_at in range(4):
        prefix = write(tmp_path / str(fail_at) / "p", {"v": 1})
        calls = iter(range(100))

        def replace(source, target, calls=calls, fail_at=fail_at):
            if next(calls) == fail_at:
                raise OSError("disk gone")
            real(source, target)

        monkeypatch.setattr(files.os, "replace", replace)
        try:
            write(prefix, {"v": 2})
            value = 2
        except errors.OpError:
            value = 1
        monkeypatch.setattr(files.os, "replace", real)
        assert value == (2 if fail_at == 3 else 1)
        with BundleReader(prefix) as reader:
            assert reader.read("v") == value


def test_names_are_checked(tmp_path):
    with BundleWriter(tmp_path / "p") as writer:
        writer.add("v", 1)
        with pytest.raises(errors.AlreadyExistsError, match="'v' is there already"):
            writer.add("v", 1)
        with pytest.raises(errors.InvalidArgumentError, match="needs a name"):
            writer.add("", 1)
        writer.add_slice("s", [2], [0], [1], [1.0])
        with pytest.raises(errors.AlreadyExistsError, match="slice .* is there already"):
            writer.add_slice("s", [2], [0], [1], [1.0])
        with pytest.raises(errors.InvalidArgumentError, match="disagree about its shape"):
            writer.add_slice("s", [3], [1], [1], [1.0])
        with pytest.raises(errors.InvalidArgumentError, match=r"'s' is \[1\], its value \[2\]"):
            writer.add_slice("s", [2], [1], [1], [1.0, 2.0])
    with pytest.raises(errors.NotFoundError, match="no tensor 'w' in this checkpoint"):
        BundleReader(tmp_path / "p").read("w")
    with pytest.raises(errors.NotFoundError, match="no checkpoint of this name"):
        BundleReader(tmp_path / "none")


def test_every_flipped_bit_of_the_data_is_found_at_the_tensors_offset(tmp_path):
    prefix = write(tmp_path / "p", {"a": np.arange(4), "s": np.array([b"ab", b"c"], object)})
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


def test_a_cut_or_missing_shard_is_found(tmp_path):
    prefix = write(tmp_path / "p", {"a": np.arange(4)})
    (shard,) = [f for f in bundle_files(prefix) if ".data-" in f]
    for cut in (0, 1, 31):
        os.truncate(shard, cut)
        with BundleReader(prefix) as reader:
            with pytest.raises(
                errors.DataLossError, match="bytes 0 to 32 of .* is cut off"
            ) as raised:
                reader.read("a")
            assert (raised.value.path, raised.value.offset) == (shard, 0)
    os.remove(shard)
    with BundleReader(prefix) as reader:
        with pytest.raises(errors.DataLossError, match="the shard that holds 'a' is missing"):
            reader.read("a")


def rewrite(prefix, header=None, **entries):
    """Puts an index of any content there, with good CRCs."""
    table = dict(TableReader.open(prefix + ".index").items())
    if header is not None:
        table[b""] = header
    for name, entry in entries.items():
        table[name.encode()] = entry
    _write_index(prefix, table)


def entry(dims=(4,), dtype=9, offset=0, size=32, shard_id=0, crc32c=0):
    return BundleEntryProto(
        dtype=dtype,
        shape=make_shape_proto(dims),
        offset=offset,
        size=size,
        shard_id=shard_id,
        crc32c=crc32c,
    ).SerializeToString()


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (entry(dims=(2**40,)), "has 32 bytes but int64 .* takes 8796093022208"),
        (entry(dims=(2**40, 2**40)), "impossible shape"),
        (entry(dims=(-1,)), "impossible shape"),
        (entry(dims=None), "impossible shape"),
        (entry(dims=(1,) * 100), "impossible shape"),
        (entry(dtype=77), "unknown dtype 77"),
        (entry(dtype=0), "unknown dtype 0"),
        (entry(size=2**50, dims=(2**47,)), "should lie in bytes 0 to 1125899906842624 of 32"),
        (entry(offset=-8), "should lie in bytes -8 to 24"),
        (entry(offset=2**62), "should lie in bytes"),
        (entry(size=-32), "bytes but int64|should lie in"),
        (entry(shard_id=1), "is in shard 1 of 1"),
        (entry(shard_id=-1), "is in shard -1 of 1"),
        (entry(), "has CRC 0x.* but 0x00000000 is stored"),
        (entry(dtype=7, dims=(2**50,)), "32 bytes cannot hold 1125899906842624 strings"),
        (entry(dtype=7, dims=(3,)), "the CRC of the lengths is wrong"),
        (b"\xff\xff", "the entry of 'a' is damaged"),
    ],
)
def test_hostile_entries_are_refused(tmp_path, bad, text):
    prefix = write(tmp_path / "p", {"a": np.arange(4)})
    rewrite(prefix, a=bad)
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match=text) as raised:
        reader.read("a")
    assert raised.value.path.startswith(prefix) and raised.value.offset is not None


def test_hostile_slices_are_refused(tmp_path):
    prefix = write(tmp_path / "p", {"a": np.arange(4)})
    whole = BundleEntryProto(dtype=1, shape=make_shape_proto([2**40]))
    whole.slices.add().extent.add()
    rewrite(prefix, a=whole.SerializeToString())
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="is missing"):
        reader.read("a")
    whole.slices[0].extent[0].start = 2**41
    whole.slices[0].extent[0].length = 1
    rewrite(prefix, a=whole.SerializeToString())
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="does not fit"):
        reader.read("a")


def test_overlapping_slices_are_refused(native, tmp_path):
    prefix = slices_of(tmp_path / "p", [((0, 0), (5, 3)), ((0, 3), (5, 3))])
    whole = BundleEntryProto.FromString(TableReader.open(prefix + ".index").get(b"v"))
    whole.shape.dim[1].size = 6
    whole.slices[1].CopyFrom(whole.slices[0])
    rewrite(prefix, v=whole.SerializeToString())
    with BundleReader(prefix) as reader:
        with pytest.raises(errors.DataLossError, match="slices of 'v' overlap"):
            reader.read("v")
        with pytest.raises(errors.DataLossError, match="slices of 'v' hold 6 of the 3 elements"):
            reader.read_slice("v", (2, 0), (1, 3))
    scan = native("bundle_scan.c", sanitize=True)
    for arguments in ((), (2, 1, 0, 3)):
        assert scan(prefix, "v", *arguments) == [f"15 0 {prefix}.index"]


def test_slices_of_another_dtype_are_refused(native, tmp_path):
    prefix = slices_of(tmp_path / "p", QUARTERS)
    whole = BundleEntryProto.FromString(TableReader.open(prefix + ".index").get(b"v"))
    whole.dtype = 2
    rewrite(prefix, v=whole.SerializeToString())
    with BundleReader(prefix) as reader:
        with pytest.raises(errors.DataLossError, match="'v' has dtype 1, not float64"):
            reader.read("v")
    assert native("bundle_scan.c")(prefix, "v") == [f"15 0 {prefix}.index"]


def test_headers_are_checked(tmp_path):
    prefix = write(tmp_path / "p", {"a": np.arange(4)})
    newer = BundleHeaderProto(num_shards=1)
    newer.version.min_consumer = 9
    rewrite(prefix, header=newer.SerializeToString())
    with pytest.raises(errors.InvalidArgumentError, match="needs a reader of version 9"):
        BundleReader(prefix)
    rewrite(prefix, header=b"\xff")
    with pytest.raises(errors.DataLossError, match="its header is damaged"):
        BundleReader(prefix)


def test_a_bundle_of_the_other_byte_order_reads(tmp_path):
    prefix = write(tmp_path / "p", {"a": np.arange(4).byteswap()})
    header = BundleHeaderProto(num_shards=1, endianness=BundleHeaderProto.BIG)
    rewrite(prefix, header=header.SerializeToString())
    with BundleReader(prefix) as reader:
        assert reader.read("a").tolist() == [0, 1, 2, 3]


def test_verification_can_be_left_out(tmp_path):
    prefix = write(tmp_path / "p", {"a": np.arange(4)})
    rewrite(prefix, a=entry())
    with BundleReader(prefix, verify=False) as reader:
        assert reader.read("a").tolist() == [0, 1, 2, 3]


def _c_sum(data):
    total = 0
    for byte in data:
        total = (total * 31 + byte) % 1000000007
    return total


def _c_line(array):
    number = dtypes.as_dtype(array.dtype).as_datatype_enum
    if array.dtype != object:
        return f"ok {number} {array.ndim} {_c_sum(array.tobytes())}"
    total = 0
    for i, value in enumerate(array.reshape(-1)):
        total = (total * 31 + i + len(value) + _c_sum(value)) % 1000000007
    return f"ok {number} {array.ndim} {total}"


@pytest.mark.parametrize("sanitize", [False, True])
def test_the_c_reader_reads_what_python_reads(native, tmp_path, sanitize):
    scan = native("bundle_scan.c", sanitize=sanitize)
    prefix = write(tmp_path / "p", max_shard_bytes=200)
    with BundleReader(prefix) as reader:
        for name in reader:
            assert scan(prefix, name) == [_c_line(reader.read(name))], name
    parts = slices_of(tmp_path / "parts", QUARTERS)
    assert scan(parts, "v") == [_c_line(FULL)]
    for starts, sizes in [((1, 2), (3, 4)), ((4, 6), (1, 1)), ((1, 1), (0, 2)), ((0, 0), (5, 7))]:
        arguments = [n for pair in zip(starts, sizes, strict=True) for n in pair]
        assert scan(parts, "v", *arguments) == [_c_line(part_of(FULL, starts, sizes))]
    assert scan(parts, "v", 3, 3)[0].startswith("3 ")
    assert scan(parts, "w") == [f"5 0 {parts}.index"]
    assert scan(tmp_path / "none", "w") == [f"5 0 {tmp_path}/none.index"]
    assert scan(slices_of(tmp_path / "few", QUARTERS[:3]), "v") == [f"15 0 {tmp_path}/few.index"]


def test_the_c_reader_finds_the_key_of_any_slice(native, tmp_path):
    scan = native("bundle_scan.c", sanitize=True)
    for size in (1, 63, 64, 8191, 8192, 2**20, 2**40, 2**57):
        with BundleWriter(tmp_path / "p", sync=False) as writer:
            writer.add_slice("\u00ff/v", [size + 1], [size], [1], np.ones(1, np.float32))
        expected = [_c_line(np.ones(1, np.float32))]
        assert scan(tmp_path / "p", "\u00ff/v", size, 1) == expected


def test_the_c_reader_survives_damaged_bundles_under_sanitizers(native, tmp_path):
    """Each mutant of index and data, CRCs mended, reads the same in both languages or fails."""
    scan = native("bundle_scan.c", sanitize=True)
    prefix = write(tmp_path / "p", {"a": np.arange(4), "s": np.array([b"ab", b"c"], object)})
    with BundleWriter(prefix) as writer:
        writer.add("a", np.arange(4))
        writer.add("s", np.array([b"ab", b"c"], object))
        writer.add_slice("p", [4], [0], [2], [1.0, 2.0])
        writer.add_slice("p", [4], [2], [2], [1.0, 2.0])
    table = dict(TableReader.open(prefix + ".index").items())
    rng = random.Random(5)
    for _ in range(120):
        key = rng.choice(sorted(table))
        bad = bytearray(table[key])
        for _ in range(rng.choice([1, 1, 1, 4])):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        _write_index(prefix, {**table, key: bytes(bad)})
        lines = scan(prefix, "all")
        try:
            reader = BundleReader(prefix)
        except errors.OpError as error:
            assert lines == [f"{error.code} {error.offset or 0} {error.path}"]
            continue
        for line in lines:
            name, *rest = line.split(" ")
            try:
                expected = _c_line(reader.read(name)).split(" ")
            except errors.OpError as error:
                assert rest[0] != "ok", (line, error)
                continue
            assert rest == expected, bytes(bad)


def _write_index(prefix, table):
    with open(prefix + ".index", "wb") as file:
        writer = TableWriter(file)
        for key in sorted(table):
            writer.add(key, table[key])
        writer.finish()


def test_cut_files_are_data_loss_in_c_too(native, tmp_path):
    scan = native("bundle_scan.c", sanitize=True)
    prefix = write(tmp_path / "p", {"a": np.arange(4)})
    shard = bundle_files(prefix)[1]
    for cut in (31, 1, 0):
        os.truncate(shard, cut)
        assert scan(prefix, "a") == [f"15 0 {shard}"]
    size = os.path.getsize(prefix + ".index")
    for cut in (size - 1, size // 2, 10, 0):
        os.truncate(prefix + ".index", cut)
        (line,) = scan(prefix, "a")
        assert line.startswith("15 ") and line.endswith("p.index")
