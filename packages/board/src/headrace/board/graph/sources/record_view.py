"""A view of a record that reads only the bytes that are indexed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import cast

from headrace.board.reading.record_access import RecordAccess
from headrace.formats.wire import MalformedError, fields

_WINDOW = 256  # bytes read at once; iterating over fields needs only a few of them
_MAX_FIELDS = 4096  # fields of a message that are examined
_LENGTH_DELIMITED = 2  # the wire type

_SUMMARY, _TAGGED_RUN_METADATA = 5, 8  # of Event
_VALUE = 1  # of Summary
_TENSOR = 8  # of Summary.Value
_STRING_VAL = 8  # of TensorProto
_RUN_METADATA = 2  # of TaggedRunMetadata
_STEP_STATS = 1  # of RunMetadata
_DEV_STATS = 1  # of StepStats
_NODE_STATS = 2  # of DeviceStepStats
_GRAPHS = (3, 4)  # of RunMetadata: partition_graphs, function_graphs

Span = tuple[int, int]


class RecordView:
    """The data of one record; its CRC was checked when it was scanned."""

    def __init__(self, records: RecordAccess, file: int, offset: int, length: int):
        self._records, self._file, self._offset = records, file, offset
        self._length = length
        self._begin, self._bytes = 0, b""

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: int) -> int:
        place = at - self._begin
        if not 0 <= place < len(self._bytes):
            size = min(_WINDOW, self._length - at)
            self._bytes = self._records.part(self._file, self._offset, at, size)
            self._begin, place = at, 0
        return self._bytes[place]


def holds_graphs(records: RecordAccess, file: int, offset: int, length: int, value: int) -> bool:
    """Returns whether the run metadata of a record has graphs; reads a few hundred bytes.

    Args:
      value: index in the event's summary; negative for a tagged_run_metadata.
    Raises: DataLossError if the file no longer has the record.
    """
    data = RecordView(records, file, offset, length)
    try:
        for begin, end in _run_metadata(data, value):
            return any(number in _GRAPHS for number, _ in _subfields(data, begin, end))
    except MalformedError:
        pass  # opening the trace reports the error
    return False


def holds_slices(records: RecordAccess, file: int, offset: int, length: int, value: int) -> bool:
    """Returns whether the run metadata of a record times any node; reads a few hundred bytes.

    Args:
      value: as of holds_graphs.
    Raises: DataLossError if the file no longer has the record.
    """
    data = RecordView(records, file, offset, length)
    try:
        return any(
            True
            for metadata in _run_metadata(data, value)
            for step in _spans_of(data, metadata, _STEP_STATS)
            for device in _spans_of(data, step, _DEV_STATS)
            for _ in _spans_of(data, device, _NODE_STATS)
        )
    except MalformedError:
        return True  # opening the trace reports the error


def metadata_parts(
    records: RecordAccess, file: int, offset: int, length: int, value: int, field_number: int
) -> list[Span]:
    """Returns where a record has the values of a field of its run metadata.

    Args:
      value: as of holds_graphs.
    Raises: MalformedError; DataLossError if the file no longer has the record.
    """
    data = RecordView(records, file, offset, length)
    found = list(_run_metadata(data, value))
    metadata = found[-1:] if value < 0 else found[:1]  # of several, the one that is read as a trace
    return [span for part in metadata for span in _spans_of(data, part, field_number)]


def _run_metadata(data: RecordView, value: int) -> Iterator[Span]:
    """Yields the spans of the RunMetadata in an Event."""
    event = (0, len(data))
    if value < 0:
        for tagged in _spans_of(data, event, _TAGGED_RUN_METADATA):
            yield from _spans_of(data, tagged, _RUN_METADATA)
        return
    for summary in _spans_of(data, event, _SUMMARY):
        for summary_value in islice(_spans_of(data, summary, _VALUE), value, value + 1):
            for tensor in _spans_of(data, summary_value, _TENSOR):
                yield from _spans_of(data, tensor, _STRING_VAL)


def _spans_of(data: RecordView, message: Span, field_number: int) -> Iterator[Span]:
    """Yields the spans of the fields of a message that have this number."""
    return (span for number, span in _subfields(data, *message) if number == field_number)


def _subfields(data: RecordView, begin: int, end: int) -> Iterator[tuple[int, Span]]:
    """Yields number and span of each length-delimited field of a message."""
    for number, wire_type, first, stop in islice(
        fields(cast(bytes, data), begin, end), _MAX_FIELDS
    ):
        if wire_type == _LENGTH_DELIMITED:
            yield number, (first, stop)
