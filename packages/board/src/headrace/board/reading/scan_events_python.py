"""The scanner of event files in Python, with the same results as scan_events.pyx."""

from __future__ import annotations

import math
import struct
from array import array
from typing import Any

import numpy as np

from headrace.board.reading import event_walk_python as walk
from headrace.board.reading.record_frames_python import FRAME_BYTES, RecordFrames
from headrace.board.reading.scan_batch import (
    KIND_OF_PLUGIN,
    MAX_CONTENT_BYTES,
    MAX_NAME_BYTES,
    MAX_TAG_BYTES,
    MAX_TAGS,
    Gap,
    Rows,
    ScanBatch,
)
from headrace.board.reading.tensor_number_python import tensor_number
from headrace.board.store.tag_entry import TagEntry
from headrace.formats.wire import MalformedError, decode_varint, encode_varint

_MAX_STARTS_CONSIDERED = 1000
_MAX_PLAIN = 10_000
_FEW_ROWS = 10_000
_HEAD = struct.Struct("<BdBB").unpack_from
_F32 = struct.Struct("<f").unpack_from
_KIND_OF_WHAT = {walk.IMAGE: "image", walk.HISTOGRAM: "histogram", walk.AUDIO: "audio"}
_DATA_CLASS_SCALAR = 1


class _Name:
    """What the file has recorded about one tag name."""

    __slots__ = ("raw", "metadata", "by_kind", "scalar")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.metadata: walk.Metadata | None = None
        self.by_kind: dict[str, int] = {}
        self.scalar = -1


class EventScanner:
    """Reads one event file over many passes."""

    def __init__(self) -> None:
        self._frames = RecordFrames()
        self._names: dict[bytes, _Name] = {}
        self._name_bytes = 0
        self._tags = 0
        self._rows = array("q")  # by tag: rows so far
        self._starts_seen = array("q")  # by tag: sessions begun before its last row
        self._starts: list[int] = []
        self._plain = walk.PlainValues()
        self._plain_events: dict[bytes, int] = {}  # all behind the step but the number: tag
        self._first_wall = math.nan
        self._new: _PassRows = _PassRows()

    def scan(self, fd: int, limit: int) -> ScanBatch:
        """Scans about `limit` more bytes of the file, which is read by position."""
        self._new = new = _PassRows()
        records = 0
        last_wall = -math.inf
        known, starts, seen = self._plain_events, self._starts, self._starts_seen
        add_tag, add_step = new.scalar_tag.append, new.scalar_step.append
        add_wall, add_value = new.scalar_wall.append, new.scalar_value.append
        for offset, block, start, end in self._frames.frames(fd, limit):
            # Nearly all events consist of wall_time, step and one simple value, in this order:
            # apart from these three numbers they are identical for one tag.
            key = start + 11
            if end - start > 20:
                key0, wall, key1, step = _HEAD(block, start)
                if step >= 0x80:
                    more = block[key]
                    key += 1
                    step = (step & 0x7F) | more << 7
                    if more >= 0x80:
                        more = block[key]
                        key += 1
                        step = (step & 0x3FFF) | more << 14
                        if more >= 0x80:
                            key1 = 0  # a longer step: parse the event fully
                if key0 == 0x09 and key1 == 0x10:
                    tag = known.get(block[key : end - 4])
                    if tag is not None and seen[tag] == len(starts):
                        records += 1
                        if wall > last_wall:
                            last_wall = wall
                        add_tag(tag)
                        add_step(step)
                        add_wall(wall)
                        add_value(_F32(block, end - 4)[0])
                        continue
            try:
                event = walk.walk_event(block, start, end, self._plain)
            except MalformedError:
                size = end - start
                self._frames.reject(Gap("event", offset, FRAME_BYTES + size, 1))
                continue
            records += 1
            if event.wall > last_wall:
                last_wall = event.wall
            if math.isnan(self._first_wall) and event.wall > 0:
                self._first_wall = event.wall
            self._add_event(offset, end - start, block, event)
            if event.step < 0 or self._first_wall != self._first_wall:
                continue
            self._learn(block, start, end, event)
        self._count_rows()
        return ScanBatch(
            offset=self._frames.offset,
            state=self._frames.state,
            records=records,
            first_wall=self._first_wall,
            last_wall=last_wall,
            new_tags=new.tags,
            scalars=_rows(new.scalar_tag, new.scalar_columns()),
            wide=_by_tag(new.scalar_tag, new.wide),
            blobs=_rows(new.blob_tag, new.blob_columns()),
            starts=new.starts,
            gaps=self._frames.gaps,
            open_gap=self._frames.open_gap,
            dropped=new.dropped,
            dropped_from=new.dropped_from,
            error=self._frames.error,
        )

    def _learn(self, block: bytes, start: int, end: int, event: walk.WalkedEvent) -> None:
        """Remembers the encoding of an event of the usual form, without its numbers."""
        if len(event.values) != 1 or len(self._plain_events) >= _MAX_PLAIN:
            return
        name = self._names.get(event.values[0].tag)
        if name is None or name.scalar < 0:
            return
        step = encode_varint(event.step)
        head = b"\x09" + block[start + 1 : start + 9] + b"\x10" + step + b"\x2a"
        value = block[end - 4 - len(name.raw) - 1 : end - 5]
        if not block.startswith(head, start) or block[end - 5] != 0x15 or value != name.raw:
            return
        key = start + len(head)
        size, key = decode_varint(block, key, end)
        whole = key + size == end and block[key] == 0x0A
        size, key = decode_varint(block, key + 1, end)
        if whole and key + size == end and block[key : end - 4] in self._plain.tags:
            self._plain_events[block[start + len(head) - 1 : end - 4]] = name.scalar

    def _add_event(self, offset: int, length: int, block: bytes, event: walk.WalkedEvent) -> None:
        if event.starts:
            self._count_rows()
            self._starts.append(event.step)
        for index, value in enumerate(event.values):
            if value.what == walk.SIMPLE and value.metadata is None:
                name = self._names.get(value.tag)
                if name is not None and name.scalar >= 0:
                    self._add_scalar(name.scalar, event.step, event.wall, value.number, False)
                    continue
            self._add_value(offset, length, block, event, index, value)
        for tag in event.graphs:
            self._add_own(offset, length, event, tag, "graph")
        for tag in event.run_metadata:
            self._add_own(offset, length, event, tag, "run_metadata")

    def _add_own(
        self, offset: int, length: int, event: walk.WalkedEvent, tag: bytes, kind: str
    ) -> None:
        name = self._name(tag, offset)
        tag_id = -1 if name is None else self._tag(name, kind, "", offset)
        if tag_id >= 0:
            self._add_blob(tag_id, event.step, event.wall, offset, length, -1)

    def _add_value(
        self,
        offset: int,
        length: int,
        block: bytes,
        event: walk.WalkedEvent,
        index: int,
        value: walk.Value,
    ) -> None:
        name = self._name(value.tag, offset)
        if name is None:
            return
        if value.metadata is not None and name.metadata is None:
            name.metadata = value.metadata
        plugin, data_class = "", 0
        if name.metadata is not None:
            plugin = _text(name.metadata.plugin)
            data_class = name.metadata.data_class
        number, wide = value.number, False
        if value.what == walk.SIMPLE:
            kind = "scalar"
        elif value.what in _KIND_OF_WHAT:
            kind = _KIND_OF_WHAT[value.what]
        elif value.what == walk.NOTHING:
            kind = KIND_OF_PLUGIN.get(plugin, "tensor")
            if not plugin or kind == "scalar":
                return
        else:
            kind = KIND_OF_PLUGIN.get(plugin, "tensor")
            unknown = not plugin
            if kind == "scalar" or unknown or data_class == _DATA_CLASS_SCALAR:
                found = tensor_number(block, value.start, value.end)
                if found is not None and not (unknown and found.rank):
                    kind, number, wide = "scalar", found.value, found.wide
                elif kind == "scalar":
                    kind = "tensor"
        tag_id = self._tag(name, kind, plugin, offset)
        if tag_id < 0:
            return
        if kind == "scalar":
            self._add_scalar(tag_id, event.step, event.wall, number, wide)
        else:
            self._add_blob(tag_id, event.step, event.wall, offset, length, index)

    def _name(self, tag: bytes, offset: int) -> _Name | None:
        name = self._names.get(tag[:MAX_NAME_BYTES])
        if name is not None:
            return name
        if len(self._names) >= MAX_TAGS or self._name_bytes > MAX_TAG_BYTES:
            self._new.drop(offset)
            return None
        if len(tag) > MAX_NAME_BYTES:
            tag = tag[:MAX_NAME_BYTES]
            self._frames.reject(Gap("name", offset, 0, 1))
        self._name_bytes += len(tag)
        self._names[tag] = name = _Name(tag)
        return name

    def _tag(self, name: _Name, kind: str, plugin: str, offset: int) -> int:
        tag_id = name.by_kind.get(kind, -1)
        if tag_id >= 0:
            return tag_id
        if self._tags >= MAX_TAGS:
            self._new.drop(offset)
            return -1
        name.by_kind[kind] = tag_id = self._tags
        if kind == "scalar":
            name.scalar = tag_id
        self._tags += 1
        self._rows.append(0)
        self._starts_seen.append(0)
        known = name.metadata
        entry = TagEntry(_text(name.raw), kind, plugin, "", "", b"")
        if known is not None:
            content = known.content if len(known.content) <= MAX_CONTENT_BYTES else b""
            entry = entry._replace(
                display=_text(known.display), description=_text(known.description), content=content
            )
        self._new.tags.append(entry)
        return tag_id

    def _add_scalar(self, tag: int, step: int, wall: float, number: float, wide: bool) -> None:
        self._note_start(tag)
        new = self._new
        new.scalar_tag.append(tag)
        new.scalar_step.append(step)
        new.scalar_wall.append(wall)
        new.scalar_value.append(number)
        if wide:
            new.wide.add(tag)

    def _add_blob(
        self, tag: int, step: int, wall: float, offset: int, length: int, index: int
    ) -> None:
        self._note_start(tag)
        new = self._new
        new.blob_tag.append(tag)
        new.blob_step.append(step)
        new.blob_wall.append(wall)
        new.blob_offset.append(offset)
        new.blob_length.append(length)
        new.blob_value.append(index)

    def _count_rows(self) -> None:
        """Counts the rows of this pass that have not been counted yet.

        Only the start of a session needs these counts.
        """
        new = self._new
        for tags, counted in ((new.scalar_tag, new.counted[0]), (new.blob_tag, new.counted[1])):
            if len(tags) - counted > _FEW_ROWS:
                for tag, count in enumerate(np.bincount(np.array(tags[counted:])).tolist()):
                    self._rows[tag] += count
            else:
                for tag in tags[counted:]:
                    self._rows[tag] += 1
        new.counted = (len(new.scalar_tag), len(new.blob_tag))

    def _note_start(self, tag: int) -> None:
        """Records a session start, if there was one, before the next row of the tag."""
        begun = len(self._starts)
        seen = self._starts_seen[tag]
        if seen < begun:
            step = min(self._starts[max(seen, begun - _MAX_STARTS_CONSIDERED) :])
            self._new.starts.append((tag, self._rows[tag], step))
            self._starts_seen[tag] = begun


class _PassRows:
    def __init__(self) -> None:
        self.tags: list[TagEntry] = []
        self.starts: list[tuple[int, int, int]] = []
        self.wide: set[int] = set()
        self.counted = (0, 0)  # rows of scalars and blobs
        self.scalar_tag = array("i")
        self.scalar_step = array("q")
        self.scalar_wall = array("d")
        self.scalar_value = array("d")
        self.blob_tag = array("i")
        self.blob_step = array("q")
        self.blob_wall = array("d")
        self.blob_offset = array("q")
        self.blob_length = array("q")
        self.blob_value = array("i")
        self.dropped = 0
        self.dropped_from = -1

    def drop(self, offset: int) -> None:
        """Counts a value of a tag beyond the limits; this is not corruption."""
        if not self.dropped:
            self.dropped_from = offset
        self.dropped += 1

    def scalar_columns(self) -> tuple[Any, ...]:
        return self.scalar_step, self.scalar_wall, self.scalar_value

    def blob_columns(self) -> tuple[Any, ...]:
        return (
            self.blob_step,
            self.blob_wall,
            self.blob_offset,
            self.blob_length,
            self.blob_value,
        )


def _rows(tags: Any, columns: tuple[Any, ...]) -> Rows:
    """Sorts rows by tag, keeping the order within each."""
    tag = np.array(tags, np.int32)
    order = np.argsort(tag, kind="stable")
    names, counts = np.unique(tag, return_counts=True)
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sorted_columns = tuple(np.array(column, column.typecode)[order] for column in columns)
    return Rows(names.astype(np.int32), bounds, sorted_columns)


def _by_tag(tags: Any, wide: set[int]) -> np.ndarray:
    return np.array([tag in wide for tag in np.unique(np.array(tags, np.int32))], np.bool_)


def _text(raw: bytes) -> str:
    return raw[:MAX_NAME_BYTES].decode("utf-8", "replace")
