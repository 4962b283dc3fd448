import re

import pytest

from headrace.formats import errors
from headrace.formats.event_file import (
    EventFileReader,
    EventFileWriter,
    event_file_name,
    event_files,
    is_event_file,
    read_events,
)
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.record_file import RecordWriter, read_records


def scalar(step):
    event = Event(wall_time=step, step=step)
    event.summary.value.add(tag="loss", simple_value=1 / step)
    return event


def test_file_begins_with_the_version_event(tmp_path):
    with EventFileWriter(tmp_path / "new" / "folder") as writer:
        writer.write(scalar(1))
        writer.write(scalar(2).SerializeToString())
    first, *rest = read_events(writer.path)
    assert first.file_version == "brain.Event:2" and first.wall_time > 1e9
    assert rest == [scalar(1), scalar(2)]


def test_file_names_have_the_form_of_tensorflow_and_are_unique(tmp_path):
    name = event_file_name(1234567890, ".v2")
    assert re.fullmatch(r"events\.out\.tfevents\.1234567890\..+\.v2", name)
    assert is_event_file("/a/b/" + name) and not is_event_file("checkpoint")
    writers = [EventFileWriter(tmp_path) for _ in range(3)]
    assert sorted(w.path for w in writers) == sorted(event_files(tmp_path))
    assert len(event_files(tmp_path)) == 3
    assert event_files(tmp_path / "none") == []
    for writer in writers:
        writer.close()


def test_names_of_one_second_sort_in_the_order_of_their_writers():
    names = [event_file_name(1234567890, ".v2") for _ in range(120)]
    assert names == sorted(names)


def test_reader_follows_a_growing_file(tmp_path):
    with EventFileWriter(tmp_path) as writer, EventFileReader(writer.path) as reader:
        assert [e.file_version for e in reader.available()] == ["brain.Event:2"]
        assert list(reader.available()) == []
        for step in range(1, 5):
            writer.write(scalar(step))
            writer.flush(sync=step == 4)
            assert list(reader.available()) == [scalar(step)]


def test_reader_retries_a_torn_event_after_the_file_grew(tmp_path):
    with EventFileWriter(tmp_path) as writer:
        writer.write(scalar(1))
    with open(writer.path, "rb") as file:
        whole = file.read()
    growing = tmp_path / "x.tfevents"
    growing.write_bytes(b"")
    got = []
    with EventFileReader(growing) as reader:
        for i in range(len(whole)):
            with open(growing, "ab") as file:
                file.write(whole[i : i + 1])
            got += reader.available()
            assert reader.torn == (i + 1 not in (len(whole), reader.offset))
        offset = reader.offset
    assert len(got) == 2 and got[1] == scalar(1) and offset == len(whole)
    with EventFileWriter(tmp_path) as writer:
        start = len(list(read_records(writer.path))[0]) + 16
        writer.write(scalar(3))
        writer.flush()
        with EventFileReader(writer.path, offset=start) as reader:
            assert list(reader.available()) == [scalar(3)]


def test_corrupted_event_raises_and_can_be_skipped(tmp_path):
    with EventFileWriter(tmp_path) as writer:
        start = len(list(read_records(writer.path))[0]) + 16
        writer.write(scalar(1))
        writer.write(scalar(2))
    with open(writer.path, "r+b") as file:
        file.seek(start + 14)
        file.write(b"\xff")
    with EventFileReader(writer.path) as reader:
        events = reader.available()
        next(events)
        with pytest.raises(
            errors.DataLossError, match=f"corrupted record at byte {start}"
        ) as raised:
            next(events)
        assert (raised.value.path, raised.value.offset) == (writer.path, start)
        reader.skip()
        assert list(reader.available()) == [scalar(2)]
        assert not reader.torn


def test_record_that_is_not_an_event_raises_data_loss_error(tmp_path):
    path = tmp_path / "x.tfevents"
    with RecordWriter(path) as writer:
        writer.write(b"\xff\xff")
    with pytest.raises(errors.DataLossError, match="record at byte 0 is not an Event") as raised:
        list(read_events(path))
    assert raised.value.offset == 0
    with pytest.raises(errors.NotFoundError):
        list(read_events(tmp_path / "none"))
