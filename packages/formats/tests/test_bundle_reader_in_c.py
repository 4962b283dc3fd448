"""bundle_reader.h against BundleReader, on intact and corrupted bundles."""

import os
import random

import numpy as np
import pytest
from bundle_cases import FULL, QUARTERS, c_output, part_of, slices_of, write_bundle, write_index

from headrace.formats import errors
from headrace.formats.bundle_files import bundle_files
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.sorted_table import TableReader

# Through maps of the files, and by ranges from a source of the caller's.
BY_MAP_OR_RANGE = pytest.mark.parametrize(
    "flags", [(), ("-DFROM_SOURCE",)], ids=["maps", "a source"]
)


@BY_MAP_OR_RANGE
@pytest.mark.parametrize("sanitize", [False, True])
def test_c_reader_returns_the_same_tensors_as_the_python_reader(native, tmp_path, sanitize, flags):
    scan = native("bundle_scan.c", *flags, sanitize=sanitize)
    prefix = write_bundle(tmp_path / "p", max_shard_bytes=200)
    with BundleReader(prefix) as reader:
        for name in reader:
            assert scan(prefix, name) == [c_output(reader.read(name))], name
    parts = slices_of(tmp_path / "parts", QUARTERS)
    assert scan(parts, "v") == [c_output(FULL)]
    for starts, sizes in [((1, 2), (3, 4)), ((4, 6), (1, 1)), ((1, 1), (0, 2)), ((0, 0), (5, 7))]:
        arguments = [n for pair in zip(starts, sizes, strict=True) for n in pair]
        assert scan(parts, "v", *arguments) == [c_output(part_of(FULL, starts, sizes))]
    assert scan(parts, "v", 3, 3)[0].startswith("3 ")
    assert scan(parts, "w") == [f"5 0 {parts}.index"]
    assert scan(tmp_path / "none", "w") == [f"5 0 {tmp_path}/none.index"]
    assert scan(slices_of(tmp_path / "few", QUARTERS[:3]), "v") == [f"15 0 {tmp_path}/few.index"]


def test_c_reader_encodes_the_same_slice_keys_as_python(native, tmp_path):
    scan = native("bundle_scan.c", sanitize=True)
    for size in (1, 63, 64, 8191, 8192, 2**20, 2**40, 2**57):
        with BundleWriter(tmp_path / "p", sync=False) as writer:
            writer.add_slice("\u00ff/v", [size + 1], [size], [1], np.ones(1, np.float32))
        expected = [c_output(np.ones(1, np.float32))]
        assert scan(tmp_path / "p", "\u00ff/v", size, 1) == expected


@BY_MAP_OR_RANGE
def test_c_and_python_readers_agree_on_corrupted_bundles_under_sanitizers(native, tmp_path, flags):
    """Both readers return the same tensors, or both fail; the CRCs of the index are corrected."""
    scan = native("bundle_scan.c", *flags, sanitize=True)
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4), "s": np.array([b"ab", b"c"], object)})
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
        write_index(prefix, {**table, key: bytes(bad)})
        lines = scan(prefix, "all")
        try:
            reader = BundleReader(prefix)
        except errors.OpError as error:
            assert lines == [f"{error.code} {error.offset or 0} {error.path}"]
            continue
        for line in lines:
            name, *rest = line.split(" ")
            try:
                expected = c_output(reader.read(name)).split(" ")
            except errors.OpError as error:
                assert rest[0] != "ok", (line, error)
                continue
            assert rest == expected, bytes(bad)


@BY_MAP_OR_RANGE
def test_c_reader_reports_truncated_files_as_data_loss(native, tmp_path, flags):
    scan = native("bundle_scan.c", *flags, sanitize=True)
    prefix = write_bundle(tmp_path / "p", {"a": np.arange(4)})
    shard = bundle_files(prefix)[1]
    for cut in (31, 1, 0):
        os.truncate(shard, cut)
        assert scan(prefix, "a") == [f"15 0 {shard}"]
    size = os.path.getsize(prefix + ".index")
    for cut in (size - 1, size // 2, 10, 0):
        os.truncate(prefix + ".index", cut)
        (line,) = scan(prefix, "a")
        assert line.startswith("15 ") and line.endswith("p.index")
