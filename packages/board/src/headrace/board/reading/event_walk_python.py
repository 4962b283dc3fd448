"""An Event's values, walked by hand; the native scanner does the same in C++."""

from __future__ import annotations

import struct
from typing import NamedTuple

from headrace.board.reading.wire_walk import Malformed, as_i64, fields, varint

_F32 = struct.Struct("<f").unpack_from
_F64 = struct.Struct("<d").unpack_from

# What a value holds; the last such field of a Value counts.
NOTHING, SIMPLE, IMAGE, HISTOGRAM, AUDIO, TENSOR = range(6)
_FIELD_OF_VALUE = {3: NOTHING, 4: IMAGE, 5: HISTOGRAM, 6: AUDIO, 8: TENSOR}


class Metadata(NamedTuple):
    """A SummaryMetadata: what the board needs of it, undecoded."""

    plugin: bytes
    content: bytes
    display: bytes
    description: bytes
    data_class: int


class Value(NamedTuple):
    """A Summary.Value: number for SIMPLE, else data[start:end] is what it holds."""

    tag: bytes
    what: int
    number: float
    start: int
    end: int
    metadata: Metadata | None


class WalkedEvent(NamedTuple):
    """graphs: tags of the graph fields there; run_metadata: tag; starts: a session began."""

    wall: float
    step: int
    values: list[Value]
    graphs: list[bytes]
    run_metadata: list[bytes]
    starts: bool


def walk_event(data: bytes, at: int, end: int) -> WalkedEvent:
    """Returns what an Event holds. Raises: Malformed."""
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
            _walk_summary(data, value, stop, values)
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


def plain_scalar(data: bytes, at: int, end: int) -> tuple[float, int, bytes, float] | None:
    """Returns (wall, step, tag, number) of an event as nearly all are: one simple value.

    It holds exactly wall_time, step and a summary of one value with tag and simple_value, in this
    order; None for anything else, which walk_event then reads.
    """
    if end - at < 20 or data[at] != 0x09 or data[at + 9] != 0x10:
        return None
    key = at + 10
    step = data[key]
    key += 1
    if step >= 0x80:
        step, key = varint(data, key - 1, end)
        if step >= 1 << 63:
            return None
    # Summary and Value, whose lengths must both reach to the end.
    if end - key < 11 or data[key] != 0x2A:
        return None
    size, key = (data[key + 1], key + 2) if data[key + 1] < 0x80 else varint(data, key + 1, end)
    if key + size != end or end - key < 9 or data[key] != 0x0A:
        return None
    size, key = (data[key + 1], key + 2) if data[key + 1] < 0x80 else varint(data, key + 1, end)
    if key + size != end or end - key < 7 or data[key] != 0x0A:
        return None
    size, key = (data[key + 1], key + 2) if data[key + 1] < 0x80 else varint(data, key + 1, end)
    if key + size + 5 != end or data[end - 5] != 0x15:
        return None
    return _F64(data, at + 1)[0], step, data[key : end - 5], _F32(data, end - 4)[0]


def _walk_summary(data: bytes, at: int, end: int, values: list[Value]) -> None:
    for field, wire, start, stop in fields(data, at, end):
        if field == 1 and wire == 2:
            values.append(_walk_value(data, start, stop))


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
    "Malformed",
    "Metadata",
    "Value",
    "WalkedEvent",
    "plain_scalar",
    "walk_event",
]
