"""hr.gfile and what writes files, by URL.

Modules: remote_paths, file_writer, checkpoint_state.
"""

from __future__ import annotations

import uuid

import pytest

import headrace.graph as hr
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.event_file import event_files, read_events


@pytest.fixture
def folder():
    """A folder of fsspec's store in memory."""
    return f"memory://{uuid.uuid4().hex}"


def test_files_are_written_read_and_appended_to(folder):
    name = f"{folder}/file"
    with hr.gfile.GFile(name, "w") as file:
        file.write("first\n")
        file.write("zweite größte\n")
        assert file.size() == len("first\nzweite größte\n".encode())
        file.flush()
        assert not hr.gfile.Exists(name)
    with hr.gfile.GFile(name) as file:
        assert file.size() == 22
        assert file.readline() == "first\n"
        assert file.tell() == 6
        assert file.read(8) == "zweite g"
        assert file.read() == "rößte\n"
        file.seek(6)
        assert list(file) == ["zweite größte\n"]
    with hr.gfile.GFile(name, "a") as file:
        file.write("third\n")
    assert list(hr.gfile.GFile(name)) == ["first\n", "zweite größte\n", "third\n"]
    assert hr.gfile.GFile(name, "rb").read() == "first\nzweite größte\nthird\n".encode()
    with hr.gfile.GFile(f"{folder}/new", "ab") as file:
        file.write(b"x")
    assert hr.gfile.GFile(f"{folder}/new", "rb").read() == b"x"
    hr.gfile.GFile(f"{folder}/empty", "w").close()
    assert hr.gfile.Stat(f"{folder}/empty").length == 0


@pytest.mark.parametrize("mode", ["r+", "w+", "a+"])
def test_modes_that_change_a_file_in_place_are_unimplemented(folder, mode):
    with pytest.raises(hr.errors.UnimplementedError, match="is not supported by URL; use r, w"):
        hr.gfile.GFile(f"{folder}/file", mode).write("x")


def test_errors_have_the_classes_of_local_files(folder):
    hr.gfile.GFile(f"{folder}/d/file", "w").close()
    for call in (
        lambda: hr.gfile.GFile(f"{folder}/none").read(),
        lambda: hr.gfile.Remove(f"{folder}/none"),
        lambda: hr.gfile.DeleteRecursively(f"{folder}/none"),
        lambda: hr.gfile.ListDirectory(f"{folder}/none"),
        lambda: hr.gfile.ListDirectory(f"{folder}/d/file"),
        lambda: hr.gfile.Stat(f"{folder}/none"),
        lambda: hr.gfile.Copy(f"{folder}/none", f"{folder}/x"),
        lambda: hr.gfile.Rename(f"{folder}/none", f"{folder}/x"),
    ):
        with pytest.raises(hr.errors.NotFoundError):
            call()
    with pytest.raises(hr.errors.FailedPreconditionError, match="Is a directory"):
        hr.gfile.Remove(f"{folder}/d")
    hr.gfile.GFile(f"{folder}/d/other", "w").close()
    for call in (hr.gfile.Copy, hr.gfile.Rename):
        with pytest.raises(hr.errors.AlreadyExistsError):
            call(f"{folder}/d/file", f"{folder}/d/other")


def test_folders_are_listed_walked_and_removed(folder):
    for name in ("a/1.txt", "a/2.txt", "a/b/3.txt", "c/4.bin"):
        hr.gfile.GFile(f"{folder}/{name}", "w").write(name)
    assert hr.gfile.ListDirectory(f"{folder}/a") == ["1.txt", "2.txt", "b"]
    assert hr.gfile.IsDirectory(f"{folder}/a") and not hr.gfile.IsDirectory(f"{folder}/a/1.txt")
    assert hr.gfile.Glob([f"{folder}/a/*.txt", f"{folder}/c/*"]) == [
        f"{folder}/a/1.txt",
        f"{folder}/a/2.txt",
        f"{folder}/c/4.bin",
    ]
    walked = list(hr.gfile.Walk(folder))
    assert walked == [
        (folder, ["a", "c"], []),
        (f"{folder}/a", ["b"], ["1.txt", "2.txt"]),
        (f"{folder}/a/b", [], ["3.txt"]),
        (f"{folder}/c", [], ["4.bin"]),
    ]
    assert list(hr.gfile.Walk(folder, in_order=False)) == [*walked[2:0:-1], walked[3], walked[0]]
    assert list(hr.gfile.Walk(f"{folder}/none")) == []
    hr.gfile.MakeDirs(f"{folder}/new/deep")
    assert hr.gfile.IsDirectory(f"{folder}/new/deep")
    hr.gfile.DeleteRecursively(folder)
    assert not hr.gfile.Exists(folder)


def test_files_are_copied_between_stores_and_the_disk(folder, tmp_path):
    (tmp_path / "x").write_bytes(b"contents")
    hr.gfile.Copy(str(tmp_path / "x"), f"{folder}/x")
    hr.gfile.Copy(f"{folder}/x", f"{folder}/y")
    hr.gfile.Rename(f"{folder}/y", f"{folder}/z")
    hr.gfile.Copy(f"{folder}/z", f"file://{tmp_path}/z")
    assert (tmp_path / "z").read_bytes() == b"contents"
    assert hr.gfile.ListDirectory(folder) == ["x", "z"]
    assert hr.gfile.Exists(f"file://{tmp_path}/z")
    with pytest.raises(hr.errors.UnimplementedError, match="use Copy and Remove"):
        hr.gfile.Rename(f"{folder}/z", str(tmp_path / "w"))


def test_events_are_written_by_url(folder):
    writer = hr.summary.FileWriter(folder, max_queue=1)
    for step in range(5):
        value = hr.Summary.Value(tag="loss", simple_value=step)
        writer.add_summary(hr.Summary(value=[value]), step)
    (path,) = event_files(folder)
    assert len(list(read_events(path))) == 1  # a queue that is full uploads nothing
    writer.flush()
    assert [e.step for e in read_events(path)] == [0, 0, 1, 2, 3, 4]
    writer.add_graph(hr.get_default_graph())
    writer.close()
    assert event_files(folder) == [path]
    assert len(list(read_events(path))) == 7


@pytest.mark.parametrize("relative", [False, True])
def test_the_list_of_checkpoints_is_kept_by_url(folder, relative):
    assert hr.train.latest_checkpoint(folder) is None
    paths = [f"{folder}/model-{step}" for step in (1, 2)]
    for path in paths:
        with BundleWriter(path) as writer:
            writer.add("v", 1.0)
    hr.train.update_checkpoint_state(folder, paths[-1], paths, save_relative_paths=relative)
    text = hr.gfile.GFile(f"{folder}/checkpoint").read()
    assert ("memory://" in text) is not relative
    state = hr.train.get_checkpoint_state(folder)
    assert list(state.all_model_checkpoint_paths) == paths
    assert hr.train.latest_checkpoint(folder) == paths[-1]
    assert len(hr.train.get_checkpoint_mtimes(paths)) == 2
    assert hr.train.list_variables(folder) == [("v", [])]
    assert hr.train.load_variable(folder, "v") == 1.0
    hr.train.remove_checkpoint(paths[-1])
    assert hr.train.latest_checkpoint(folder) is None
    assert hr.train.checkpoint_exists(paths[0]) and not hr.train.checkpoint_exists(paths[1])


def test_graphs_are_written_and_read_by_url(folder):
    hr.constant(3.0, name="three")
    assert hr.train.write_graph(hr.get_default_graph(), folder, "graph.pbtxt") == (
        f"{folder}/graph.pbtxt"
    )
    assert "three" in hr.gfile.GFile(f"{folder}/graph.pbtxt").read()
    hr.train.export_meta_graph(f"{folder}/model.meta")
    with hr.Graph().as_default() as graph:
        hr.train.import_meta_graph(f"{folder}/model.meta")
        assert graph.get_operation_by_name("three").type == "Const"
    with pytest.raises(OSError, match="File does not exist"):
        hr.train.import_meta_graph(f"{folder}/none.meta")
    hr.gfile.GFile(f"{folder}/bad.meta", "wb").write(b"\xff\xff")
    with pytest.raises(hr.errors.DataLossError, match="is not a MetaGraphDef"):
        hr.train.import_meta_graph(f"{folder}/bad.meta")
