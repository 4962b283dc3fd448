"""io.gfile, file_io and resource_loader."""

from __future__ import annotations

import os

import pytest

import headrace.graph as hr
from headrace.graph.platform import file_io, resource_loader


def test_paths_under_the_names_of_late_tensorflow(tmp_path):
    g = hr.io.gfile
    deep = str(tmp_path / "a" / "b")
    g.makedirs(deep)
    g.mkdir(str(tmp_path / "c"))
    with g.GFile(os.path.join(deep, "x.txt"), "w") as file:
        file.write("text")
    copied, renamed = str(tmp_path / "y.txt"), str(tmp_path / "z.txt")
    g.copy(src=os.path.join(deep, "x.txt"), dst=copied)
    with pytest.raises(hr.errors.AlreadyExistsError):
        g.copy(os.path.join(deep, "x.txt"), copied)
    g.copy(os.path.join(deep, "x.txt"), copied, overwrite=True)
    g.rename(copied, renamed)
    assert g.exists(path=renamed) and not g.exists(copied)
    assert g.isdir(deep) and not g.isdir(renamed)
    assert g.listdir(str(tmp_path)) == ["a", "c", "z.txt"]
    assert g.glob(str(tmp_path / "*.txt")) == [renamed]
    assert g.glob([str(tmp_path / "c"), renamed]) == [str(tmp_path / "c"), renamed]
    assert g.stat(renamed).length == 4
    assert [folder for folder, _, _ in g.walk(str(tmp_path), topdown=False)][-1] == str(tmp_path)
    g.remove(renamed)
    g.rmtree(str(tmp_path / "a"))
    assert g.listdir(str(tmp_path)) == ["c"]
    with pytest.raises(hr.errors.NotFoundError):
        g.remove(renamed)


def test_whole_files_are_strings(tmp_path):
    path = str(tmp_path / "f")
    file_io.write_string_to_file(path, "a\n")
    assert file_io.read_file_to_string(path) == "a\n"
    file_io.atomic_write_string_to_file(path, b"b")
    assert file_io.read_file_to_string(path, binary_mode=True) == b"b"
    with pytest.raises(hr.errors.AlreadyExistsError):
        file_io.atomic_write_string_to_file(path, "c", overwrite=False)
    from headrace.graph.python.lib.io import file_io as inner

    assert inner.read_file_to_string is file_io.read_file_to_string
    assert inner.FileIO is hr.gfile.GFile and inner.file_exists(path)


def test_resources_are_beside_the_calling_module(tmp_path):
    here = os.path.dirname(os.path.abspath(__file__))
    assert resource_loader.get_path_to_datafile("x") == os.path.join(here, "x")
    assert hr.resource_loader.get_data_files_path() == here
    assert resource_loader.get_root_dir_with_all_resources() == here
    assert resource_loader.readahead_file_path("x") == "x"
    assert resource_loader.load_resource(__file__).startswith(b'"""io.gfile')
    with pytest.raises(hr.errors.NotFoundError):
        resource_loader.load_resource(str(tmp_path / "none"))
