"""Checkpoints of the compiled kernels: the bytes and the errors of headrace.formats' own."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from kernel_harness import run_kernel

from headrace.formats import errors
from headrace.formats.bundle_merge import merge_bundles
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.dtypes import as_dtype
from headrace.kernels.reference import oracle

TYPES = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool "
    "complex64 complex128"
).split()


def texts(*values):
    return np.array([v.encode() if isinstance(v, str) else v for v in values], object)


def save(prefix, tensors, slices=None):
    slices = slices or [""] * len(tensors)
    names = texts(*[name for name, _ in tensors])
    run_kernel("SaveV2", texts(str(prefix))[0], names, texts(*slices), [v for _, v in tensors])


def restore(prefix, names, types, slices=None, run=run_kernel):
    slices = slices or [""] * len(names)
    got = run("RestoreV2", texts(str(prefix))[0], texts(*names), texts(*slices), dtypes=list(types))
    return got if isinstance(got, list) else [got]


def files(folder):
    return {p.name: p.read_bytes() for p in sorted(Path(folder).iterdir())}


def several():
    rng = np.random.default_rng(1)
    result = [
        (f"all/{t}", rng.integers(0, 2, (2, 3)).astype(as_dtype(t).as_numpy_dtype)) for t in TYPES
    ]
    return [
        *result,
        ("empty", np.zeros((0, 4), np.float32)),
        ("scalar", np.array(7, np.int64)),
        ("strings", texts("a", b"", b"\xff\x00", "x" * 300).reshape(2, 2)),
        ("no strings", np.zeros((0,), object)),
        ("einzelne Größe", np.arange(20.0)),
        ("large", rng.normal(size=70000).astype(np.float32)),
        ("odd", np.uint8([1])),
        ("after odd", np.float64([1, 2])),
    ]


# ---- the same bytes ----


def both(tmp_path, tensors):
    """The files that the kernel and that BundleWriter make of the same tensors."""
    for who in ("kernel", "python"):
        (tmp_path / who).mkdir(exist_ok=True)
    save(tmp_path / "kernel" / "m", tensors)
    with BundleWriter(tmp_path / "python" / "m") as writer:
        for name, value in tensors:
            writer.add(name, value)
    return files(tmp_path / "kernel"), files(tmp_path / "python")


def test_save_writes_the_bytes_of_the_bundle_writer(tmp_path):
    ours, theirs = both(tmp_path, several())
    assert list(ours) == ["m.data-00000-of-00001", "m.index"]
    assert ours == theirs


def test_index_of_many_blocks_is_the_same_too(tmp_path):
    rng = random.Random(2)
    names = {
        "/".join(rng.choices(["a", "b\xff", "c" * 40, "é", "layer"], k=6)) for _ in range(9000)
    }
    names |= {f"layer_{i}/weights/Adam" for i in range(9000)}
    ours, theirs = both(tmp_path, [(name, np.float32([1])) for name in sorted(names, key=hash)])
    assert len(ours["m.index"]) > 2 * 2**18
    assert ours == theirs


def test_saving_again_replaces_the_bundle_as_the_writer_does(tmp_path):
    for value in (1.0, 2.0, 3.0):
        ours, theirs = both(tmp_path, [("v", np.full(100, value))])
        assert ours == theirs
    assert (restore(tmp_path / "kernel" / "m", ["v"], ["float64"])[0] == 3).all()


def test_slices_are_saved_and_put_together(tmp_path):
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    parts = ["3 4 5 0,1:-:-", "3 4 5 1,2:0,1:-", "3 4 5 1,2:1,3:-"]
    values = [x[:1], x[1:, :1], x[1:, 1:]]
    save(tmp_path / "m", [("v", v) for v in values], parts)
    (tmp_path / "p").mkdir()
    with BundleWriter(tmp_path / "p" / "m") as writer:
        writer.add_slice("v", x.shape, [0, 0, 0], [1, -1, -1], values[0])
        writer.add_slice("v", x.shape, [1, 0, 0], [2, 1, -1], values[1])
        writer.add_slice("v", x.shape, [1, 1, 0], [2, 3, -1], values[2])
    ours = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    assert ours == files(tmp_path / "p")
    whole, part = restore(tmp_path / "m", ["v", "v"], ["float32"] * 2, ["", "3 4 5 0,2:1,2:2,3"])
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(part, x[0:2, 1:3, 2:5])


# ---- restoring ----


def test_restore_gives_back_what_was_saved(tmp_path):
    tensors = several()
    save(tmp_path / "deep" / "er" / "m", tensors)
    types = [str(as_dtype(v.dtype).name) for _, v in tensors]
    got = restore(tmp_path / "deep" / "er" / "m", [n for n, _ in tensors], types)
    for one, (_, value) in zip(got, tensors, strict=True):
        assert one.dtype == value.dtype
        np.testing.assert_array_equal(one, value)


def test_part_of_a_whole_tensor_is_restored(tmp_path):
    x = np.arange(12).reshape(3, 4)
    save(tmp_path / "m", [("v", x)])
    (got,) = restore(tmp_path / "m", ["v"], ["int64"], ["3 4 -:1,2"])
    np.testing.assert_array_equal(got, x[:, 1:3])


def test_big_endian_bundle_is_turned_round(tmp_path):
    from headrace.formats.proto.bundle_pb2 import BundleHeaderProto
    from headrace.formats.sorted_table import TableReader, TableWriter

    values = [np.float32([1, 2.5]), np.complex64([1 + 2j]), np.int16([258])]
    save(tmp_path / "m", [(str(i), v.byteswap()) for i, v in enumerate(values)])
    index = tmp_path / "m.index"
    entries = dict(TableReader.open(index).items())
    header = BundleHeaderProto.FromString(entries[b""])
    header.endianness = BundleHeaderProto.BIG
    with open(index, "wb") as file:
        table = TableWriter(file)
        for key, value in entries.items():
            table.add(key, value if key else header.SerializeToString())
        table.finish()
    got = restore(tmp_path / "m", ["0", "1", "2"], ["float32", "complex64", "int16"])
    for one, value in zip(got, values, strict=True):
        np.testing.assert_array_equal(one, value)


# ---- errors ----

_IN_FILE = re.compile(r"(.+?): at byte (-?\d+): ", re.DOTALL)


def outcome(run, prefix, names, types, slices=None):
    """What came of a restore: the values, or class, path and offset of the error."""
    try:
        return "values", [v.tolist() for v in restore(prefix, names, types, slices, run)]
    except errors.OpError as error:
        located = _IN_FILE.match(error.message)
        return type(error).__name__, located and (located[1], int(located[2]))


def reference(*args, **attrs):
    return oracle.run(*args, **attrs)


def test_every_flipped_bit_and_cut_ends_as_in_python(tmp_path):
    prefix = tmp_path / "m"
    tensors = [("layer/weights", np.arange(6, dtype=np.float32)), ("s", texts("ab", "c")),
               ("layer/w2", np.arange(3))]  # fmt: skip
    save(prefix, tensors)
    names, types = [n for n, _ in tensors], ["float32", "string", "int64"]
    whole = outcome(run_kernel, prefix, names, types)
    assert whole[0] == "values"
    seen = set()
    for name, content in files(tmp_path).items():
        path = tmp_path / name
        corrupted = [content[:n] for n in range(len(content))]
        for at in range(len(content)):
            turned = bytearray(content)
            turned[at] ^= 1 << at % 8
            corrupted.append(bytes(turned))
        for bad in corrupted:
            path.write_bytes(bad)
            ours = outcome(run_kernel, prefix, names, types)
            assert ours == outcome(reference, prefix, names, types), (name, bad)
            seen.add(ours[0])
        path.write_bytes(content)
    # padding between tensors belongs to none, so some flips change nothing
    assert {"values", "DataLossError"} <= seen <= {"values", "DataLossError", "UnimplementedError"}
    assert outcome(run_kernel, prefix, names, types) == whole


@pytest.mark.parametrize("missing", ["m.index", "m.data-00000-of-00001"])
def test_missing_files_end_as_in_python(tmp_path, missing):
    save(tmp_path / "m", [("v", np.float32([1]))])
    (tmp_path / missing).unlink()
    ours = outcome(run_kernel, tmp_path / "m", ["v"], ["float32"])
    assert ours == outcome(reference, tmp_path / "m", ["v"], ["float32"])
    assert ours[0] == ("NotFoundError" if missing == "m.index" else "DataLossError")


def test_invalid_requests_get_an_error_message(tmp_path):
    save(tmp_path / "m", [("v", np.zeros((2, 3), np.float32))])
    with pytest.raises(errors.NotFoundError, match="Key w not found in checkpoint .*, which has 1"):
        restore(tmp_path / "m", ["w"], ["float32"])
    with pytest.raises(errors.InvalidArgumentError, match="expected dtype int32 does not equal"):
        restore(tmp_path / "m", ["v"], ["int32"])
    with pytest.raises(errors.InvalidArgumentError, match=r"\[3, 2\] does not match .* \[2, 3\]"):
        restore(tmp_path / "m", ["v"], ["float32"], ["3 2 -:-"])
    for spec in ("2 3", "2 3 -", "2 x -:-", "2 3 0:1", "2 3 0,1:0,"):
        with pytest.raises(errors.InvalidArgumentError, match="expected a shape and a slice"):
            restore(tmp_path / "m", ["v"], ["float32"], [spec])
    with pytest.raises(errors.InvalidArgumentError, match="exceeds a dimension of 3"):
        restore(tmp_path / "m", ["v"], ["float32"], ["2 3 -:2,2"])
    with pytest.raises(errors.InvalidArgumentError, match="one element for each of 1 dtypes"):
        run_kernel("RestoreV2", texts("m")[0], texts("a", "b"), texts(""), dtypes=["float32"])


def test_failed_save_leaves_the_older_bundle_and_no_other_file(tmp_path):
    save(tmp_path / "m", [("v", np.float32([1]))])
    before = files(tmp_path)
    x = np.float32([2])
    with pytest.raises(errors.AlreadyExistsError, match="'v' was already added"):
        save(tmp_path / "m", [("v", x), ("v", x)])
    with pytest.raises(errors.InvalidArgumentError, match="needs a name"):
        save(tmp_path / "m", [("", x)])
    with pytest.raises(
        errors.InvalidArgumentError, match=r"slice of 'v' is \[2\], its value \[1\]"
    ):
        save(tmp_path / "m", [("v", x)], ["4 0,2"])
    assert files(tmp_path) == before
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(errors.FailedPreconditionError, match="Not a directory"):
        save(tmp_path / "file" / "m", [("v", x)])


_SAVER = """
import sys, numpy as np
sys.path.insert(0, sys.argv[2])
from kernel_harness import run_kernel
one = lambda *v: np.array(v, object)
k = int(sys.argv[3])
while True:
    x = np.full(200000, k, np.int64)
    run_kernel("SaveV2", one(sys.argv[1].encode())[0], one(b"a", b"b"), one(b"", b""), [x, x])
    print(k, flush=True)
    k += 1
"""


def test_killed_save_leaves_a_whole_checkpoint(tmp_path):
    rng = random.Random(3)
    prefix, saved = str(tmp_path / "m"), 0
    for _ in range(4):
        command = [sys.executable, "-c", _SAVER, prefix, str(Path(__file__).parent), str(saved + 1)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        with child:
            saved = int(child.stdout.readline())
            time.sleep(rng.uniform(0.0, 0.06))
            child.send_signal(signal.SIGKILL)
            lines = child.stdout.read().split()
        saved = int(lines[-1]) if lines else saved
        a, b = restore(prefix, ["a", "b"], ["int64", "int64"])
        assert (a == a[0]).all() and (b == a[0]).all()
        assert saved <= a[0] <= saved + 1
        saved = int(a[0])
    # what the killed left is removed once it is old
    for path in tmp_path.glob("*.tmp-*"):
        os.utime(path, (time.time() - 900,) * 2)
    save(prefix, [("a", np.float32([1]))])
    assert not list(tmp_path.glob("*.tmp-*"))


# ---- merging ----


@pytest.mark.parametrize("delete_old", [True, False])
def test_merge_makes_the_bundle_that_python_makes(tmp_path, delete_old):
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    for who in ("kernel", "python"):
        save(tmp_path / who / "parts" / "p0", [("v", x[:2]), ("a", x)], ["4 2 0,2:-", ""])
        save(tmp_path / who / "parts" / "p1", [("v", x[2:]), ("b", x)], ["4 2 2,2:-", ""])
    parts = ["parts/p0", "parts/p1"]
    run_kernel(
        "MergeV2Checkpoints", texts(*[str(tmp_path / "kernel" / p) for p in parts]),
        texts(str(tmp_path / "kernel" / "m"))[0], delete_old_dirs=delete_old,
    )  # fmt: skip
    python = tmp_path / "python"
    merge_bundles([python / p for p in parts], python / "m", delete_old=delete_old)
    for folder in (".", "parts"):
        ours, theirs = (tmp_path / who / folder for who in ("kernel", "python"))
        assert ours.exists() == theirs.exists()
        if ours.exists():
            kept = [
                {p.name: p.read_bytes() for p in f.iterdir() if p.is_file()} for f in (ours, theirs)
            ]
            assert kept[0] == kept[1]
    with BundleReader(tmp_path / "kernel" / "m") as reader:
        np.testing.assert_array_equal(reader.read("v"), x)


def test_merge_rejects_a_duplicate_tensor_and_skips_missing_files_on_request(tmp_path):
    for name in ("p0", "p1"):
        save(tmp_path / name, [("v", np.float32([1]))])
    target = texts(str(tmp_path / "m"))[0]
    with pytest.raises(errors.AlreadyExistsError, match="'v' is also in another of"):
        run_kernel("MergeV2Checkpoints", texts(*[str(tmp_path / n) for n in ("p0", "p1")]), target)
    assert not list(tmp_path.glob("m*"))
    some = texts(str(tmp_path / "p0"), str(tmp_path / "gone"))
    with pytest.raises(errors.NotFoundError, match="gone: no checkpoint of this name"):
        run_kernel("MergeV2Checkpoints", some, target)
    run_kernel("MergeV2Checkpoints", some, target, allow_missing_files=True)
    assert restore(tmp_path / "m", ["v"], ["float32"])[0] == 1


# ---- files and names ----


def test_files_are_written_read_and_found(tmp_path):
    path = tmp_path / "new" / "folder" / "a.txt"
    content = bytes(range(256)) * 1000
    run_kernel("WriteFile", texts(str(path))[0], texts(content)[0])
    assert path.read_bytes() == content
    assert run_kernel("ReadFile", texts(str(path))[0]).item() == content
    shutil.copy(path, path.with_name("b.txt"))
    patterns = texts(str(path.parent / "*.txt"), str(path.parent / "[a]*"), str(tmp_path / "none*"))
    found = run_kernel("MatchingFiles", patterns)
    assert found.tolist() == [str(path).encode(), str(path.with_name("b.txt")).encode()]
    with pytest.raises(errors.NotFoundError, match="gone; No such file or directory"):
        run_kernel("ReadFile", texts(str(tmp_path / "gone"))[0])
    with pytest.raises(errors.FailedPreconditionError, match="Is a directory"):
        run_kernel("ReadFile", texts(str(tmp_path))[0])


def test_names_of_shards_and_joined_strings():
    base = texts("model")[0]
    assert run_kernel("ShardedFilename", base, np.int32(2), np.int32(10)).item() == (
        b"model-00002-of-00010"
    )
    assert run_kernel("ShardedFilespec", base, np.int32(10)).item() == b"model-?????-of-00010"
    joined = run_kernel("StringJoin", [texts("a", "b"), base, texts("", "c")], separator="/")
    assert joined.tolist() == [b"a/model/", b"b/model/c"]
