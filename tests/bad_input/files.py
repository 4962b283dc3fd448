"""Files that are missing, truncated, corrupted or of another format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from bad_case import Case, Section

import headrace.graph as hr

CASES: list[Case] = []
restoring = Section("When a checkpoint is restored", CASES)
reading = Section("When records and events are read", CASES)
loading = Section("When a model is loaded", CASES)


def _saved(folder: Path) -> tuple[hr.train.Saver, str]:
    """Writes a checkpoint of 64 floats to the folder."""
    hr.get_variable("weights", initializer=np.arange(64, dtype=np.float32))
    saver = hr.train.Saver()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        return saver, saver.save(session, str(folder / "model"), write_meta_graph=False)


def _restored(folder: Path, corrupt: Callable[[bytes], bytes] | None, part: str) -> None:
    saver, path = _saved(folder)
    file = Path(path + part)
    if corrupt is None:
        file.unlink()
    else:
        file.write_bytes(corrupt(file.read_bytes()))
    with hr.Session() as session:
        saver.restore(session, path)


def _flip(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DATA = ".data-00000-of-00001"


@restoring("truncated data")
def _(folder: Path) -> None:
    _restored(folder, lambda data: data[:100], DATA)


@restoring("data with a flipped bit")
def _(folder: Path) -> None:
    _restored(folder, _flip(17), DATA)


@restoring("missing data")
def _(folder: Path) -> None:
    _restored(folder, None, DATA)


@restoring("a truncated index")
def _(folder: Path) -> None:
    _restored(folder, lambda data: data[:40], ".index")


@restoring("an index with a flipped bit")
def _(folder: Path) -> None:
    _restored(folder, _flip(5), ".index")


@restoring("an empty index")
def _(folder: Path) -> None:
    _restored(folder, lambda data: b"", ".index")


@restoring("a missing checkpoint")
def _(folder: Path) -> None:
    saver, path = _saved(folder)
    with hr.Session() as session:
        saver.restore(session, path + "-17")


@restoring("a variable that the checkpoint lacks")
def _(folder: Path) -> None:
    _, path = _saved(folder)
    other = hr.get_variable("biases", [3])
    with hr.Session() as session:
        hr.train.Saver([other]).restore(session, path)


@restoring("a variable of another shape")
def _(folder: Path) -> None:
    _, path = _saved(folder)
    with hr.Graph().as_default(), hr.Session() as session:
        hr.get_variable("weights", [8])
        hr.train.Saver().restore(session, path)


@restoring("a variable of another dtype")
def _(folder: Path) -> None:
    _, path = _saved(folder)
    with hr.Graph().as_default(), hr.Session() as session:
        hr.get_variable("weights", [64], hr.int32)
        hr.train.Saver().restore(session, path)


@restoring("a checkpoint written below a missing folder")
def _(folder: Path) -> None:
    saver, _ = _saved(folder)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        saver.save(session, str(folder / "nowhere" / "deeper" / "model"))


def _records(folder: Path, corrupt: Callable[[bytes], bytes]) -> list[bytes]:
    path = folder / "examples.tfrecord"
    with hr.python_io.TFRecordWriter(str(path)) as writer:
        for number in range(3):
            writer.write(b"example %d" % number)
    path.write_bytes(corrupt(path.read_bytes()))
    return list(hr.python_io.tf_record_iterator(str(path)))


@reading("a truncated record")
def _(folder: Path) -> None:
    _records(folder, lambda data: data[:40])


@reading("a record with a flipped bit")
def _(folder: Path) -> None:
    _records(folder, _flip(40))


@reading("a length with a flipped bit")
def _(folder: Path) -> None:
    _records(folder, _flip(25))


@reading("a file of another format")
def _(folder: Path) -> None:
    _records(folder, lambda data: b"PNG or whatever it is")


@reading("a missing file of records")
def _(folder: Path) -> None:
    list(hr.python_io.tf_record_iterator(str(folder / "nothing.tfrecord")))


def _events(folder: Path, corrupt: Callable[[bytes], bytes]) -> None:
    with hr.summary.FileWriter(str(folder)) as writer:
        for step in range(3):
            writer.add_summary(hr.Summary(), step)
    (path,) = folder.glob("events*")
    named = path.rename(folder / "events.out")
    named.write_bytes(corrupt(named.read_bytes()))
    list(hr.train.summary_iterator(str(named)))


@reading("an event with a flipped bit")
def _(folder: Path) -> None:
    _events(folder, _flip(14))


@loading("a folder without a SavedModel")
def _(folder: Path) -> None:
    with hr.Session() as session:
        hr.saved_model.loader.load(session, ["serve"], str(folder))


@loading("an invalid SavedModel")
def _(folder: Path) -> None:
    (folder / "saved_model.pb").write_bytes(b"\xff" * 10)
    with hr.Session() as session:
        hr.saved_model.loader.load(session, ["serve"], str(folder))


@loading("tags that are not in the SavedModel")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32, [])
    path = str(folder / "model")
    with hr.Session() as session:
        hr.saved_model.simple_save(session, path, {"x": x}, {"y": x * 2.0})
    with hr.Graph().as_default(), hr.Session() as session:
        hr.saved_model.loader.load(session, ["train"], path)


@loading("an invalid meta graph")
def _(folder: Path) -> None:
    (folder / "model.meta").write_bytes(b"\xff" * 10)
    hr.train.import_meta_graph(str(folder / "model.meta"))
