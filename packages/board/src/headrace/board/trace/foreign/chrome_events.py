"""Reads Chrome's trace format, which Perfetto, PyTorch and TensorFlow write too.

Source: "Trace Event Format" of the Chromium project.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from headrace.board.trace.foreign.foreign_slices import ForeignSlices
from headrace.board.trace.reading.step_columns import TraceError

_EVENTS = '"traceEvents"'
_MEMORY = "[memory]"  # PyTorch's records of allocations, which are not work
_WHOLE = "Trace"  # the category of its slice around the whole recording


def read_chrome_trace(text: str) -> ForeignSlices:
    """Reads a trace.

    Args:
      text: an array of events, or an object with traceEvents; either may be cut off at its end.
    Raises: TraceError if it is neither.
    """
    events = _Events(_events_of(text))
    events.read()
    return events.slices


def _events_of(text: str) -> list[Any]:
    try:
        document = json.loads(text)
    except RecursionError:
        raise TraceError("its values are nested too deeply") from None
    except ValueError as error:
        events = [*_events_before_cut(text)]
        if not events:
            raise TraceError(f"it is not JSON: {error}") from None
        return events
    if isinstance(document, dict):
        document = document.get("traceEvents")
    if not isinstance(document, list):
        raise TraceError("it has no traceEvents: it is JSON, but not a trace in Chrome's format")
    return document


def _events_before_cut(text: str) -> Iterator[Any]:
    """Yields the whole events of a file that a program is still writing, or stopped writing."""
    at = text.find(_EVENTS)
    at = text.find("[", at + len(_EVENTS) if at >= 0 else 0)
    if at < 0 or (text.find(_EVENTS) < 0 and text[:at].strip()):
        return
    decoder = json.JSONDecoder()
    at += 1
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            event, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield event


class _Events:
    def __init__(self, events: list[Any]) -> None:
        self._events = [event for event in events if isinstance(event, dict)]
        self.slices = ForeignSlices()
        self._process_titles: dict[str, dict[str, str]] = {}
        self._thread_titles: dict[tuple[str, str], str] = {}
        self._devices: dict[str, int] = {}
        self._threads: dict[tuple[str, str], tuple[int, int]] = {}
        self._open: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._open_async: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        self._flow_ends: list[dict[str, Any]] = []
        self._rows: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        self._latest = -math.inf

    def read(self) -> None:
        for event in self._events:
            if event.get("ph") == "M":
                self._metadata(event)
        for event in self._events:
            self._event(event)
        for stack in (*self._open.values(), *self._open_async.values()):
            for event in stack:  # never ended: it lasts until the last event
                self._add(event, self._latest - _time(event))
        self._match_flows()

    def _metadata(self, event: dict[str, Any]) -> None:
        process, thread = str(event.get("pid", "")), str(event.get("tid", ""))
        values = event.get("args")
        values = values if isinstance(values, dict) else {}
        what = event.get("name")
        if what in ("process_name", "process_labels"):
            title = str(values.get("name" if what == "process_name" else "labels", ""))
            self._process_titles.setdefault(process, {})[str(what)] = title
        elif what == "thread_name":
            self._thread_titles[process, thread] = str(values.get("name", ""))

    def _event(self, event: dict[str, Any]) -> None:
        phase = event.get("ph")
        time = _time(event)
        if math.isfinite(time):
            self._latest = max(self._latest, time)
        if phase == "X" and event.get("cat") != _WHOLE:
            took = _number(event.get("dur", 0.0))
            if math.isfinite(took):
                self._latest = max(self._latest, time + took)
            self._add(event, took)
        elif phase == "B":
            self._open.setdefault(_thread_of(event), []).append(event)
        elif phase == "E":
            stack = self._open.get(_thread_of(event))
            if stack:
                begun = stack.pop()
                self._add(begun, time - _time(begun))
        elif phase in ("b", "S"):
            self._open_async.setdefault(_async_key(event), []).append(event)
        elif phase in ("e", "F"):
            stack = self._open_async.get(_async_key(event))
            if stack:
                begun = stack.pop()
                self._add(begun, time - _time(begun))
        elif phase in ("i", "I", "n"):
            # An instant of global scope is on no thread.
            if event.get("name") != _MEMORY and event.get("s") != "g":
                self._add(event, 0.0)
        elif phase in ("s", "t", "f"):
            self._flow_ends.append(event)

    def _add(self, event: dict[str, Any], took_us: float) -> None:
        device, thread = self._place(event)
        start_us = _time(event)
        row = self.slices.add(
            device,
            thread,
            str(event.get("name", "")) or "(no name)",
            start_us * 1000,
            took_us * 1000,
            event.get("args"),
        )
        if row >= 0:
            start = round(start_us * 1000)
            end = round((start_us + took_us) * 1000)
            self._rows.setdefault((device, thread), []).append((start, end, row))

    def _place(self, event: dict[str, Any]) -> tuple[int, int]:
        process, thread = _thread_of(event)
        if event.get("ph") in ("b", "S"):
            thread = f"async {event.get('cat', '')}".strip()
        known = self._threads.get((process, thread))
        if known is not None:
            return known
        device = self._devices.get(process)
        if device is None:
            device = self._devices[process] = self.slices.device(self._title(process))
        number = len(self._threads)
        self._threads[process, thread] = device, number
        own = self._thread_titles.get((process, thread))
        fallback = thread if thread.startswith("async") else f"thread {thread or '?'}"
        self.slices.threads[device, number] = own or fallback
        return device, number

    def _title(self, process: str) -> str:
        titles = self._process_titles.get(process, {})
        name, labels = titles.get("process_name", ""), titles.get("process_labels", "")
        title = " ".join(part for part in (name.strip("/"), labels) if part)
        if not title:
            return f"process {process}" if process else "this process"
        # Two processes of one name are two devices.
        same = [
            other
            for other, known in self._process_titles.items()
            if (known.get("process_name"), known.get("process_labels"))
            == (titles.get("process_name"), titles.get("process_labels"))
        ]
        return f"{title} ({process})" if len(same) > 1 else title

    def _match_flows(self) -> None:
        """Connects the slices that enclose the ends of each flow, in order of time."""
        for rows in self._rows.values():
            rows.sort(key=lambda row: (row[0], -row[1]))
        begun: dict[tuple[str, str, str], int] = {}
        for event in sorted(self._flow_ends, key=_time):
            key = (str(event.get("cat")), str(event.get("name")), str(event.get("id")))
            row = self._row_at(event)
            if row < 0:
                continue
            if event["ph"] != "s" and key in begun and begun[key] != row:
                self.slices.add_flow(begun[key], row, key[1])
            begun[key] = row

    def _row_at(self, event: dict[str, Any]) -> int:
        """Returns the innermost slice on an event's thread at its time, or -1."""
        place = self._threads.get(_thread_of(event))
        time = _time(event) * 1000
        rows = self._rows.get(place, []) if place is not None and math.isfinite(time) else []
        low, high = 0, len(rows)
        while low < high:
            middle = (low + high) // 2
            if rows[middle][0] <= time + 1:  # rounding of microseconds
                low = middle + 1
            else:
                high = middle
        for start, end, row in reversed(rows[max(0, low - 64) : low]):
            if start - 1 <= time <= end + 1:
                return row
        return -1


def _thread_of(event: dict[str, Any]) -> tuple[str, str]:
    return str(event.get("pid", "")), str(event.get("tid", ""))


def _async_key(event: dict[str, Any]) -> tuple[str, str, str]:
    return str(event.get("cat")), str(event.get("id", event.get("id2"))), str(event.get("pid"))


def _time(event: dict[str, Any]) -> float:
    return _number(event.get("ts"))


def _number(value: Any) -> float:
    """Returns a number of microseconds; NaN for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
