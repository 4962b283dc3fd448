"""Files by URL in compiled kernels: the contents and errors of the reference kernels.

Modules: cpu/file_server.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from pathlib import Path

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from kernel_harness import run_kernel

from headrace.formats import errors, file_systems
from headrace.formats.bundle_files import bundle_files
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.remote_file import RemoteReader, read_bytes, write_bytes
from headrace.kernels.reference import oracle


def run_reference(op, *inputs, **attrs):
    """As run_kernel: one output comes without a list."""
    got = oracle.run(op, *inputs, **attrs)
    return got[0] if len(got) == 1 else got


BOTH = pytest.mark.parametrize("run", [run_kernel, run_reference], ids=["compiled", "reference"])
RNG = np.random.default_rng(7)
VALUES = {
    "large": RNG.normal(size=(3 << 20)).astype(np.float32),  # read by several requests
    "matrix": RNG.normal(size=(20, 30)),
    "text": np.array([b"a", b"", b"long" * 1000], object),
    "scalar": np.array(3, np.int64),
    "empty": np.zeros((0, 2), np.int32),
}


@pytest.fixture
def folder():
    """A folder of fsspec's store in memory."""
    return f"memory://{uuid.uuid4().hex}"


def texts(*values):
    return np.array([v.encode() for v in values], object)


def text(value):
    return np.array(value if isinstance(value, bytes) else value.encode(), object)


@BOTH
def test_files_are_written_read_and_listed(run, folder):
    for name, contents in (("a/x", b"hello"), ("a/y", bytes(20 << 20)), ("a/z", b"")):
        run("WriteFile", text(f"{folder}/{name}"), text(contents))
        assert read_bytes(f"{folder}/{name}") == contents
        assert run("ReadFile", text(f"{folder}/{name}")).item() == contents
    found = run("MatchingFiles", texts(f"{folder}/*/x", f"{folder}/a/*", f"{folder}/none*"))
    assert found.tolist() == [f"{folder}/a/{n}".encode() for n in "xyz"]
    with pytest.raises(errors.NotFoundError, match="none; No such file or directory"):
        run("ReadFile", text(f"{folder}/none"))
    with pytest.raises(errors.UnimplementedError, match="scheme 'nowhere' not implemented"):
        run("ReadFile", text("nowhere://x"))


@BOTH
def test_file_urls_are_paths(run, tmp_path):
    run("WriteFile", text(f"file://{tmp_path}/x"), text("hello"))
    assert (tmp_path / "x").read_text() == "hello"
    assert run("ReadFile", text(f"file://{tmp_path}/x")).item() == b"hello"


def save(prefix, values=VALUES, run=run_kernel, slices=None):
    slices = slices or [""] * len(values)
    run("SaveV2", text(prefix), texts(*values), texts(*slices), list(values.values()))


def restore(prefix, names, types, slices=None, run=run_kernel):
    slices = slices or [""] * len(names)
    got = run("RestoreV2", text(prefix), texts(*names), texts(*slices), dtypes=list(types))
    return got if isinstance(got, list) else [got]


TYPES = ["float32", "float64", "string", "int64", "int32"]


@BOTH
def test_checkpoints_round_trip_and_are_replaced(run, folder):
    for _ in range(3):
        save(f"{folder}/model", run=run)
        with BundleReader(f"{folder}/model") as reader:
            for name, value in VALUES.items():
                np.testing.assert_array_equal(reader.read(name), value)
            assert len(bundle_files(f"{folder}/model")) == 1 + reader.num_shards
        names = sorted(VALUES, reverse=True)  # not the order in which they lie in the file
        types = [TYPES[list(VALUES).index(name)] for name in names]
        for name, got in zip(names, restore(f"{folder}/model", names, types, run=run), strict=True):
            np.testing.assert_array_equal(got, VALUES[name])


def test_compiled_and_reference_kernels_write_the_same_bytes(folder):
    for run, name in ((run_kernel, "compiled"), (run_reference, "reference")):
        save(f"{folder}/{name}/model", run=run)
    files = [file_systems.list_directory(f"{folder}/{name}") for name in ("compiled", "reference")]
    assert files[0] == files[1]
    for file in files[0]:
        assert read_bytes(f"{folder}/compiled/{file}") == read_bytes(f"{folder}/reference/{file}")


@BOTH
def test_slices_are_merged_and_restored_in_other_sizes(run, folder):
    whole = np.arange(60.0).reshape(12, 5)
    parts = [f"{folder}/temp/part-{i}" for i in range(3)]
    for i, part in enumerate(parts):
        save(part, {"v": whole[4 * i : 4 * i + 4]}, run, [f"12 5 {4 * i},4:-"])
    for _ in range(2):
        run("MergeV2Checkpoints", texts(*parts), text(f"{folder}/model"), delete_old_dirs=False)
    run("MergeV2Checkpoints", texts(*parts), text(f"{folder}/model"), delete_old_dirs=True)
    assert file_systems.glob(f"{folder}/temp/*") == []
    with pytest.raises(errors.NotFoundError, match="which all of them must share"):
        run("MergeV2Checkpoints", texts(*parts), text(f"{folder}/model"), delete_old_dirs=True)
    specs = ["", "12 5 0,6:-", "12 5 6,6:-", "12 5 3,6:1,2"]
    got = restore(f"{folder}/model", ["v"] * 4, ["float64"] * 4, specs, run=run)
    for array, expected in zip(got, (whole, whole[:6], whole[6:], whole[3:9, 1:3]), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_a_restore_fetches_what_it_needs_in_few_requests(folder, monkeypatch):
    many = {f"small/{i:03d}": np.full([100], i, np.float32) for i in range(300)}
    save(f"{folder}/model", {**many, "large": VALUES["large"]})
    requests: list[int] = []
    read_range = RemoteReader.read_range

    def counted(self, offset, count):
        requests.append(count)
        return read_range(self, offset, count)

    monkeypatch.setattr(RemoteReader, "read_range", counted)
    names = list(many)
    index = len(read_bytes(f"{folder}/model.index"))
    requests.clear()
    for name, got in zip(names, restore(f"{folder}/model", names, ["float32"] * 300), strict=True):
        np.testing.assert_array_equal(got, many[name])
    assert len(requests) == 2
    assert sum(requests) < index + 300 * 448
    requests.clear()
    restore(f"{folder}/model", ["small/007"], ["float32"])
    assert sum(requests) == index + 400


@BOTH
def test_a_flipped_byte_is_an_error_with_file_and_tensor(run, folder):
    save(f"{folder}/model")
    shard = bundle_files(f"{folder}/model")[1]
    with BundleReader(f"{folder}/model") as reader:
        entries = {key.decode(): entry for key, entry in reader.entries()}
    whole = read_bytes(shard)
    for name, dtype in zip(VALUES, TYPES, strict=True):
        if name == "empty":
            continue
        damaged = bytearray(whole)
        damaged[entries[name].offset + entries[name].size // 2] ^= 16
        write_bytes(shard, bytes(damaged))
        with pytest.raises(errors.DataLossError) as caught:
            restore(f"{folder}/model", [name], [dtype], run=run)
        assert shard in str(caught.value) and repr(name) in str(caught.value)
        others = [n for n in VALUES if n != name]
        restore(f"{folder}/model", others, [TYPES[list(VALUES).index(n)] for n in others], run=run)
    write_bytes(shard, whole[:1000])
    with pytest.raises(errors.DataLossError, match="truncated"):
        restore(f"{folder}/model", ["matrix"], ["float64"], run=run)
    file_systems.remove(shard)
    with pytest.raises(errors.DataLossError, match="is missing"):
        restore(f"{folder}/model", ["matrix"], ["float64"], run=run)
    with pytest.raises(errors.NotFoundError, match="no checkpoint of this name"):
        run_kernel("RestoreV2", text(f"{folder}/none"), texts("a"), texts(""), dtypes=["float32"])


def test_a_damaged_index_is_an_error(folder):
    save(f"{folder}/model")
    data = read_bytes(f"{folder}/model.index")
    for damaged in (b"", data[:-1], data[:60], b"\0" * len(data)):
        write_bytes(f"{folder}/model.index", damaged)
        with pytest.raises(errors.DataLossError):
            restore(f"{folder}/model", ["scalar"], ["int64"])


class FailingStore(MemoryFileSystem):
    """A store under the scheme "failing", which takes no more bytes after `left` of them."""

    protocol = ("failing",)
    cachable = False
    left = 1 << 60

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(str(path).replace("failing://", "memory://"))

    def _open(self, path, mode="rb", **options):
        file = super()._open(path, mode, **options)
        return file if mode == "rb" else FailingFile(file)


class FailingFile:
    def __init__(self, file: MemoryFile) -> None:
        self._file = file
        self.closed = False

    def write(self, data):
        FailingStore.left -= len(data)
        if FailingStore.left < 0:
            raise OSError(28, "No space left on device")
        return self._file.write(data)

    def close(self):
        self._file.close()


fsspec.register_implementation("failing", FailingStore, clobber=True)


@pytest.mark.parametrize("bytes_left", [0, 100, 9 << 20, -1], ids=str)
def test_a_full_store_leaves_the_older_checkpoint(folder, bytes_left):
    url = folder.replace("memory", "failing")
    if bytes_left < 0:  # all but the end of the index
        save(f"{folder}/measured/model")
        sizes = [len(read_bytes(path)) for path in bundle_files(f"{folder}/measured/model")]
        bytes_left += sum(sizes)
        file_systems.remove_tree(f"{folder}/measured")
    with BundleWriter(f"{folder}/model") as writer:
        writer.add("scalar", np.array(2, np.int64))
    before = file_systems.list_directory(folder)
    FailingStore.left = bytes_left
    try:
        with pytest.raises(errors.ResourceExhaustedError, match="No space left on device"):
            save(f"{url}/model")
    finally:
        FailingStore.left = 1 << 60
    assert file_systems.list_directory(folder) == before
    assert restore(f"{folder}/model", ["scalar"], ["int64"])[0] == 2
    save(f"{url}/model")
    assert restore(f"{folder}/model", ["scalar"], ["int64"])[0] == 3


def test_many_threads_share_the_threads_that_serve(folder):
    wrong: list[object] = []

    def use(number):
        try:
            for i in range(10):
                path = text(f"{folder}/{number}/{i}")
                run_kernel("WriteFile", path, text(f"{number} {i}"))
                if run_kernel("ReadFile", path).item() != f"{number} {i}".encode():
                    wrong.append((number, i))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=use, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(t.name == "headrace_files" for t in threading.enumerate()) <= 17


def test_a_forked_child_and_its_parent_have_threads_of_their_own(tmp_path):
    script = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
from kernel_harness import run_kernel
def write(name, value):
    run_kernel("WriteFile", np.array(name, object), np.array(value, object))
    return run_kernel("ReadFile", np.array(name, object)).item()
assert write(b"memory://x", b"parent") == b"parent"
pid = os.fork()
if pid == 0:
    os._exit(0 if write(b"memory://y", b"child") == b"child" else 1)
assert os.waitpid(pid, 0)[1] == 0
assert write(b"memory://z", b"parent again") == b"parent again"
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
