"""Reads the traces of XLA's profiler, which TensorFlow and JAX write as `*.xplane.pb`."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from headrace.board.trace.foreign.foreign_slices import ForeignSlices
from headrace.board.trace.foreign.xspace import xspace_class
from headrace.board.trace.reading.step_columns import TraceError

# Stats by which the profiler connects the slice that starts work with the slice that does it.
_PRODUCER, _CONSUMER = ("_pt", "_p"), ("_ct", "_c")
_INTERNAL = "_"  # stats of the profiler itself begin with it


def read_xplane(data: bytes) -> ForeignSlices:
    """Reads an XSpace: planes are devices, their lines threads.

    Raises: TraceError if the bytes are not an XSpace.
    """
    try:
        space = xspace_class().FromString(data)
    except DecodeError:
        raise TraceError("it is not an XSpace of XLA's profiler") from None
    slices = ForeignSlices()
    producers: dict[tuple[Any, Any], int] = {}
    consumers: list[tuple[tuple[Any, Any], int, str]] = []
    for plane in space.planes:
        _add_plane(slices, plane, producers, consumers)
    for key, row, name in consumers:
        source = producers.get(key)
        if source is not None and source != row:
            slices.add_flow(source, row, name)
    return slices


def _add_plane(
    slices: ForeignSlices,
    plane: Any,
    producers: dict[tuple[Any, Any], int],
    consumers: list[tuple[tuple[Any, Any], int, str]],
) -> None:
    if not any(line.events for line in plane.lines):
        return
    names = {
        entry.key: _text(entry.value.display_name) or _text(entry.value.name)
        for entry in plane.event_metadata
    }
    stat_names = {entry.key: _text(entry.value.name) for entry in plane.stat_metadata}
    device = slices.device(_text(plane.name).strip("/") or "this process")
    for number, line in enumerate(plane.lines):
        title = _text(line.display_name) or _text(line.name) or f"thread {line.id}"
        slices.threads[device, number] = title
        begin = line.timestamp_ns
        for event in line.events:
            name = names.get(event.metadata_id) or f"event {event.metadata_id}"
            stats = {
                stat_names.get(stat.metadata_id, str(stat.metadata_id)): _value(stat, stat_names)
                for stat in event.stats
            }
            shown = {key: value for key, value in stats.items() if not key.startswith(_INTERNAL)}
            start = begin + event.offset_ps / 1000
            row = slices.add(device, number, name, start, event.duration_ps / 1000, shown)
            if row < 0 or not stats:
                continue
            made = stats.get(_PRODUCER[0]), stats.get(_PRODUCER[1])
            used = stats.get(_CONSUMER[0]), stats.get(_CONSUMER[1])
            if None not in made:
                producers[made] = row
            if None not in used:
                consumers.append((used, row, name))


def _value(stat: Any, names: dict[int, str]) -> Any:
    if stat.HasField("ref_value"):
        return names.get(stat.ref_value, stat.ref_value)
    if stat.HasField("str_value"):
        return _text(stat.str_value)
    for field in ("int64_value", "uint64_value", "double_value"):
        if stat.HasField(field):
            return getattr(stat, field)
    return None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
