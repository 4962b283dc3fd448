"""Parses an Event without protobuf messages; scan_events.hpp does the same in C++."""

from __future__ import annotations

import struct
from typing import NamedTuple

from headrace.board.reading.signed_numbers import as_i64
from headrace.formats.wire import decode_varint, fields

_F32 = struct.Struct("<f").unpack_from
_F64 = struct.Struct("<d").unpack_from

_MAX_PLAIN = 10_000

# What a value holds; if a Value has several such fields, the last one counts.
NOTHING, SIMPLE, IMAGE, HISTOGRAM, AUDIO, TENSOR = range(6)
_FIELD_OF_VALUE = {3: NOTHING, 4: IMAGE, 5: HISTOGRAM, 6: AUDIO, 8: TENSOR}


class Metadata(NamedTuple):
    """The fields of a SummaryMetadata that the board needs, as raw bytes."""

    plugin: bytes
    content: bytes
    display: bytes
    description: bytes
    data_class: int


class Value(NamedTuple):
    """A Summary.Value: `number` if it is SIMPLE, otherwise its content is data[start:end]."""

    tag: bytes
    what: int
    number: float
    start: int
    end: int
    metadata: Metadata | None


class WalkedEvent(NamedTuple):
    """An Event. graphs: names of its graph fields; run_metadata: tags; starts: a session starts."""

    wall: float
    step: int
    values: list[Value]
    graphs: list[bytes]
    run_metadata: list[bytes]
    starts: bool


class PlainValues:
    """Known encodings of simple values, without the number: most values repeat one of them.

    A value that consists of tag and simple_value, in this order, differs from the previous value
    of the tag only in its last four bytes.
    """

    __slots__ = ("tags",)

    def __init__(self) -> None:
        self.tags: dict[bytes, bytes] = {}  # all but the number: the tag

    def learn(self, data: bytes, at: int, end: int) -> None:
        """Remembers the encoding of a Value if it has this form."""
        if len(self.tags) >= _MAX_PLAIN or end - at < 7 or data[at] != 0x0A:
            return
        size, begin = decode_varint(data, at + 1, end)
        if begin + size + 5 == end and data[end - 5] == 0x15:
            self.tags[data[at : end - 4]] = data[begin : end - 5]


def walk_event(data: bytes, at: int, end: int, plain: PlainValues) -> WalkedEvent:
    """Parses an Event. Raises: MalformedError."""
    wall, step, starts = 0.0, 0, False
    values: list[Value] = []
    graphs: list[bytes] = []
    run_metadata: list[bytes] = []
    for field, wire, value, stop in fields(data, at, end):
        if field == 1 and wire == 1:
            (wall,) = _F64(data, value)
        elif field == 2 and wire == 0:
            step = as_i64(value)
        elif wire != 2:
            continue
        elif field == 5:
            _walk_summary(data, value, stop, values, plain)
        elif field == 4:
            graphs.append(b"graph_def")
        elif field == 9:
            graphs.append(b"meta_graph_def")
        elif field == 8:
            tag = b""
            for inner, inner_wire, begin, inner_stop in fields(data, value, stop):
                if inner == 1 and inner_wire == 2:
                    tag = data[begin:inner_stop]
            run_metadata.append(tag)
        elif field == 7:
            for inner, inner_wire, number, _ in fields(data, value, stop):
                if inner == 1 and inner_wire == 0:
                    starts = number == 1
    return WalkedEvent(wall, step, values, graphs, run_metadata, starts)


def _walk_summary(data: bytes, at: int, end: int, values: list[Value], plain: PlainValues) -> None:
    tags = plain.tags
    for field, wire, start, stop in fields(data, at, end):
        if field == 1 and wire == 2:
            tag = tags.get(data[start : stop - 4])
            if tag is not None:
                values.append(Value(tag, SIMPLE, _F32(data, stop - 4)[0], 0, 0, None))
            else:
                values.append(_walk_value(data, start, stop))
                plain.learn(data, start, stop)


def _walk_value(data: bytes, at: int, end: int) -> Value:
    tag, what, number, start, stop = b"", NOTHING, 0.0, 0, 0
    metadata: Metadata | None = None
    for field, wire, begin, finish in fields(data, at, end):
        if field == 2 and wire == 5:
            what = SIMPLE
            (number,) = _F32(data, begin)
        elif wire != 2:
            continue
        elif field == 1:
            tag = data[begin:finish]
        elif field == 9:
            metadata = _walk_metadata(data, begin, finish)
        elif field in _FIELD_OF_VALUE:
            what, start, stop = _FIELD_OF_VALUE[field], begin, finish
    return Value(tag, what, number, start, stop, metadata)


def _walk_metadata(data: bytes, at: int, end: int) -> Metadata:
    plugin = content = display = description = b""
    data_class = 0
    for field, wire, begin, stop in fields(data, at, end):
        if field == 4 and wire == 0:
            data_class = begin
        elif wire != 2:
            continue
        elif field == 1:
            plugin = content = b""
            for inner, inner_wire, start, finish in fields(data, begin, stop):
                if inner == 1 and inner_wire == 2:
                    plugin = data[start:finish]
                elif inner == 2 and inner_wire == 2:
                    content = data[start:finish]
        elif field == 2:
            display = data[begin:stop]
        elif field == 3:
            description = data[begin:stop]
    return Metadata(plugin, content, display, description, data_class)


__all__ = [
    "AUDIO",
    "HISTOGRAM",
    "IMAGE",
    "NOTHING",
    "SIMPLE",
    "TENSOR",
    "Metadata",
    "PlainValues",
    "Value",
    "WalkedEvent",
    "walk_event",
]
