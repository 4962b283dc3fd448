"""On a full disk every writer raises ResourceExhaustedError, and leaves no partial files."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.bundle_merge import merge_bundles
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.errors import ResourceExhaustedError
from headrace.formats.event_file import EventFileWriter

ROOM = 20_000  # greatest file size in bytes on the "full" disk
LARGE = np.arange(100_000, dtype=np.float32)


@contextlib.contextmanager
def _no_room() -> Iterator[None]:
    """Limits files to ROOM bytes, so that the system fails in the middle of a write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _large_graph() -> None:
    for i in range(600):
        hr.constant(i, name=f"a_node_with_a_rather_long_name_so_that_the_file_is_large_{i}")


def _records(folder: Path) -> None:
    with hr.python_io.TFRecordWriter(str(folder / "f.tfrecord")) as writer:
        writer.write(LARGE.tobytes())


def _compressed_records(folder: Path) -> None:
    noise = np.random.RandomState(0).bytes(400_000)
    with hr.python_io.TFRecordWriter(str(folder / "f.tfrecord"), "GZIP") as writer:
        writer.write(noise)


def _events(folder: Path) -> None:
    with hr.summary.FileWriter(str(folder)) as writer:
        writer.add_summary(hr.Summary(value=[hr.Summary.Value(tag="t" * 400_000)]), 1)


def _bundle_in_python(folder: Path) -> None:
    with BundleWriter(folder / "bundle") as writer:
        writer.add("v", LARGE)


def _index_of_a_bundle(folder: Path) -> None:
    with BundleWriter(folder / "bundle") as writer:
        for i in range(1000):
            writer.add(f"a_variable_with_a_rather_long_name_{i}", np.float32(0))


def _checkpoint(folder: Path) -> None:
    hr.get_variable("v", initializer=LARGE)
    _save(folder)


def _index_of_a_checkpoint(folder: Path) -> None:
    for i in range(500):
        hr.get_variable(f"a_variable_with_a_rather_long_name_{'x' * 40}_{i}", [])
    _save(folder)


def _save(folder: Path) -> None:
    saver = hr.train.Saver()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        saver.save(session, str(folder / "model"), write_meta_graph=False)


def _graph_beside_a_checkpoint(folder: Path) -> None:
    _large_graph()
    hr.train.export_meta_graph(str(folder / "model.meta"))


def _graph_file(folder: Path) -> None:
    _large_graph()
    hr.train.write_graph(hr.get_default_graph(), str(folder), "graph.pbtxt")


def _gfile(folder: Path) -> None:
    with hr.gfile.GFile(str(folder / "text"), "w") as file:
        file.write("x" * 400_000)


def _write_file_op(folder: Path) -> None:
    with hr.Session() as session:
        session.run(hr.write_file(str(folder / "text"), b"x" * 400_000))


WRITERS: list[Callable[[Path], None]] = [
    _records,
    _compressed_records,
    _events,
    _bundle_in_python,
    _index_of_a_bundle,
    _checkpoint,
    _index_of_a_checkpoint,
    _graph_beside_a_checkpoint,
    _graph_file,
    _gfile,
    _write_file_op,
]
# These write under the name itself: what came before the end of the room is there.
IN_PLACE = (_records, _compressed_records, _events, _gfile, _write_file_op)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda w: w.__name__.strip("_"))
def test_a_full_disk_is_resource_exhausted_and_leaves_no_file(
    writer: Callable[[Path], None], tmp_path: Path
) -> None:
    with hr.Graph().as_default(), _no_room():
        with pytest.raises(ResourceExhaustedError) as caught:
            writer(tmp_path)
    assert str(tmp_path) in caught.value.message and "File too large" in caught.value.message
    left = [path.name for path in tmp_path.iterdir()]
    assert len(left) <= 1 if writer in IN_PLACE else not left
    assert not [name for name in left if "tmp" in name]
    with hr.Graph().as_default():
        writer(tmp_path)  # as soon as there is room


@pytest.mark.parametrize("writer", [_bundle_in_python, _checkpoint])
def test_an_older_checkpoint_stays_when_the_next_one_has_no_room(
    writer: Callable[[Path], None], tmp_path: Path
) -> None:
    with hr.Graph().as_default():
        writer(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    with hr.Graph().as_default(), _no_room(), pytest.raises(ResourceExhaustedError):
        writer(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    prefix = next(tmp_path.glob("*.index")).with_suffix("")
    with BundleReader(prefix) as reader:
        np.testing.assert_array_equal(reader.read("v"), LARGE)


def test_a_merge_without_room_leaves_its_sources(tmp_path: Path) -> None:
    for part in "ab":
        with BundleWriter(tmp_path / part) as writer:
            for i in range(1500):
                writer.add(f"{part}_variable_with_a_rather_long_name_{i}", np.float32(0))
    before = sorted(path.name for path in tmp_path.iterdir())
    with _no_room(), pytest.raises(ResourceExhaustedError):
        merge_bundles([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    merge = hr.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=[str(tmp_path / "a"), str(tmp_path / "b")],
        destination_prefix=str(tmp_path / "merged"),
    )
    with hr.Session(graph=merge.graph) as session:
        with _no_room(), pytest.raises(ResourceExhaustedError):
            session.run(merge)
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        session.run(merge)


def test_an_event_file_that_cannot_begin_is_not_there(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    try:
        with pytest.raises(ResourceExhaustedError):
            EventFileWriter(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("whole", ["variables", "graph"])
def test_a_failed_simple_save_leaves_a_folder_that_the_next_one_takes(
    tmp_path: Path, whole: str
) -> None:
    folder = tmp_path / "exported"
    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.placeholder(hr.float32, [])
        value = LARGE if whole == "variables" else LARGE[:10]
        y = x * hr.get_variable("v", initializer=value)
        if whole == "graph":
            _large_graph()
        session.run(hr.global_variables_initializer())
        with _no_room(), pytest.raises(ResourceExhaustedError):
            hr.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
        assert not folder.exists()
        hr.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})


def test_simple_save_without_values_leaves_a_folder_that_the_next_one_takes(tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    folder.mkdir()
    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.placeholder(hr.float32, [])
        y = x * hr.get_variable("v", [3])
        with pytest.raises(hr.errors.FailedPreconditionError):
            hr.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
        with pytest.raises(ValueError, match="outputs cannot be None or empty"):
            hr.saved_model.simple_save(session, str(folder), {"x": x}, {})
        assert folder.exists() and not list(folder.iterdir())
        session.run(hr.global_variables_initializer())
        hr.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
