"""The scanner of event files in Python: what scan_events.pyx does, with the same results."""

from __future__ import annotations

import math
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
    Hole,
    Rows,
    ScanBatch,
    TagEntry,
)
from headrace.board.reading.tensor_number_python import tensor_number

_STARTS_LOOKED_AT = 1000
_KIND_OF_WHAT = {walk.IMAGE: "image", walk.HISTOGRAM: "histogram", walk.AUDIO: "audio"}
_DATA_CLASS_SCALAR = 1


class _Name:
    """What a file has said of a tag's name."""

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
        self._first_wall = math.nan
        self._new: _News = _News()

    def scan(self, fd: int, limit: int) -> ScanBatch:
        """Returns what about `limit` further bytes of the file hold; it is read by position."""
        self._new = new = _News()
        records = 0
        last_wall = -math.inf
        for frame in self._frames.frames(fd, limit):
            plain = walk.plain_scalar(frame.block, frame.start, frame.end)
            if plain is not None:
                wall, step, tag, number = plain
                name = self._names.get(tag)
                # The first event goes the long way, which notes its time.
                if name is not None and name.scalar >= 0 and self._first_wall > 0:
                    records += 1
                    if wall > last_wall:
                        last_wall = wall
                    self._add_scalar(name.scalar, step, wall, number, False)
                    continue
            try:
                event = walk.walk_event(frame.block, frame.start, frame.end)
            except walk.Malformed:
                size = frame.end - frame.start
                self._frames.refuse(Hole("event", frame.offset, FRAME_BYTES + size, 1))
                continue
            records += 1
            if event.wall > last_wall:
                last_wall = event.wall
            if math.isnan(self._first_wall) and event.wall > 0:
                self._first_wall = event.wall
            self._add_event(frame.offset, frame.end - frame.start, frame.block, event)
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
            holes=self._frames.holes,
            open_hole=self._frames.open_hole,
        )

    def _add_event(self, offset: int, length: int, block: bytes, event: walk.WalkedEvent) -> None:
        if event.starts:
            self._starts.append(event.step)
        for index, value in enumerate(event.values):
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
            self._frames.refuse(Hole("name", offset, 0, 1))
            return None
        if len(tag) > MAX_NAME_BYTES:
            tag = tag[:MAX_NAME_BYTES]
            self._frames.refuse(Hole("name", offset, 0, 1))
        self._name_bytes += len(tag)
        self._names[tag] = name = _Name(tag)
        return name

    def _tag(self, name: _Name, kind: str, plugin: str, offset: int) -> int:
        tag_id = name.by_kind.get(kind, -1)
        if tag_id >= 0:
            return tag_id
        if self._tags >= MAX_TAGS:
            self._frames.refuse(Hole("name", offset, 0, 1))
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
        self._add_row(tag)
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
        self._add_row(tag)
        new = self._new
        new.blob_tag.append(tag)
        new.blob_step.append(step)
        new.blob_wall.append(wall)
        new.blob_offset.append(offset)
        new.blob_length.append(length)
        new.blob_value.append(index)

    def _add_row(self, tag: int) -> None:
        begun = len(self._starts)
        seen = self._starts_seen[tag]
        if seen < begun:
            step = min(self._starts[max(seen, begun - _STARTS_LOOKED_AT) :])
            self._new.starts.append((tag, self._rows[tag], step))
            self._starts_seen[tag] = begun
        self._rows[tag] += 1


class _News:
    def __init__(self) -> None:
        self.tags: list[TagEntry] = []
        self.starts: list[tuple[int, int, int]] = []
        self.wide: set[int] = set()
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
