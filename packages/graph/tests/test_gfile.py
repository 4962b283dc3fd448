"""hr.gfile has TensorFlow's names and errors; TFRecord files."""

from __future__ import annotations

import pytest

import headrace.graph as hr

GFile, gfile, errors = hr.gfile.GFile, hr.gfile, hr.errors


def test_gfile_reads_characters_lines_and_whole_files(tmp_path):
    path = str(tmp_path / "f")
    with GFile(path, "w") as f:
        f.write("größe\nb\n")
    with GFile(path, "a") as f:
        f.write("more")
    with GFile(path) as f:
        assert (f.read(3), f.tell(), f.readline()) == ("grö", 4, "ße\n")
        assert f.readlines() == ["b\n", "more"]
        assert f.size() == 14
        f.seek(0)
        assert list(f) == ["größe\n", "b\n", "more"]
    assert GFile(path, "rb").read(4) == b"gr\xc3\xb6"


def test_closing_a_file_in_write_mode_creates_it(tmp_path):
    with GFile(tmp_path / "empty", "w"):
        pass
    assert gfile.Stat(tmp_path / "empty").length == 0


def test_gfile_errors_have_the_classes_of_tensorflow_and_name_the_file(tmp_path):
    there, nowhere = str(tmp_path / "a"), str(tmp_path / "zz")
    GFile(there, "w").close()
    gfile.MakeDirs(str(tmp_path / "d" / "e"))
    gfile.MakeDirs(str(tmp_path / "d" / "e"))
    for function, args, kind in [
        (lambda: GFile(nowhere).read(), (), errors.NotFoundError),
        (gfile.Stat, (nowhere,), errors.NotFoundError),
        (gfile.Remove, (nowhere,), errors.NotFoundError),
        (gfile.Remove, (str(tmp_path / "d"),), errors.FailedPreconditionError),
        (gfile.ListDirectory, (nowhere,), errors.NotFoundError),
        (gfile.DeleteRecursively, (nowhere,), errors.NotFoundError),
        (gfile.MkDir, (nowhere + "/x",), errors.NotFoundError),
        (gfile.Copy, (nowhere, there), errors.NotFoundError),
        (gfile.Copy, (there, there), errors.AlreadyExistsError),
        (gfile.Rename, (nowhere, there), errors.NotFoundError),
        (gfile.Rename, (there, str(tmp_path / "d")), errors.AlreadyExistsError),
    ]:
        with pytest.raises(kind) as raised:
            function(*args)
        assert str(tmp_path) in raised.value.message and raised.value.path
    with pytest.raises(errors.InvalidArgumentError, match="got 'q'"):
        GFile(there, "q")
    with pytest.raises(errors.PermissionDeniedError, match="isn't open for reading"):
        GFile(there, "w").read()
    with pytest.raises(errors.PermissionDeniedError, match="isn't open for writing"):
        GFile(there).write("x")


def test_folders_are_listed_walked_copied_and_removed(tmp_path):
    top = str(tmp_path)
    gfile.MakeDirs(top + "/d/e")
    with GFile(top + "/d/f", "w") as f:
        f.write("x")
    gfile.Copy(top + "/d/f", top + "/g")
    gfile.Copy(top + "/d/f", top + "/g", overwrite=True)
    gfile.Rename(top + "/g", top + "/h")
    assert gfile.ListDirectory(top) == ["d", "h"] and gfile.Exists(top + "/h")
    assert gfile.IsDirectory(top + "/d") and not gfile.IsDirectory(top + "/h")
    assert gfile.Glob([top + "/d/*", top + "/h*"]) == [top + "/d/e", top + "/d/f", top + "/h"]
    order = [(top, ["d"], ["h"]), (top + "/d", ["e"], ["f"]), (top + "/d/e", [], [])]
    assert list(gfile.Walk(top)) == order and list(gfile.Walk(top, in_order=False)) == order[::-1]
    gfile.DeleteRecursively(top + "/d")
    assert not gfile.Exists(top + "/d")


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", 2, None])
def test_records_round_trip(tmp_path, compression):
    path = str(tmp_path / "r")
    options = hr.python_io.TFRecordOptions(compression)
    with hr.python_io.TFRecordWriter(path, options) as writer:
        for n in range(3):
            writer.write(b"%d" % n)
    assert list(hr.python_io.tf_record_iterator(path, options)) == [b"0", b"1", b"2"]


def test_invalid_records_and_compressions_raise(tmp_path):
    with pytest.raises(ValueError, match="got 'LZ4'"):
        hr.io.TFRecordOptions("LZ4")
    with hr.io.TFRecordWriter(str(tmp_path / "r")) as writer:
        with pytest.raises(TypeError, match="must be bytes, got <class 'str'>"):
            writer.write("text")
    with pytest.raises(errors.NotFoundError):
        hr.io.TFRecordWriter(str(tmp_path / "no" / "r"))
    with pytest.raises(errors.NotFoundError):
        list(hr.io.tf_record_iterator(str(tmp_path / "no")))


def test_events_are_iterated(tmp_path):
    with hr.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(hr.Summary(value=[hr.Summary.Value(tag="a", simple_value=2.0)]), 7)
    (path,) = gfile.Glob(str(tmp_path) + "/*")
    first, second = hr.train.summary_iterator(path)
    assert first.file_version and (second.step, second.summary.value[0].simple_value) == (7, 2.0)
