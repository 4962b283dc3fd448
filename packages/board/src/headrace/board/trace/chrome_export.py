"""Exports a step trace in Chrome's trace format, which Perfetto reads too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from headrace.board.trace.analysis.memory_curve import MemoryCurve
from headrace.board.trace.reading.device_name import read_device
from headrace.board.trace.reading.step_trace import RECV, SEND, SYNC, TRANSFER, StepTrace

_CATEGORIES = {RECV: "receive", SEND: "send", TRANSFER: "transfer", SYNC: "sync"}
_ROWS_AT_ONCE = 5000


def chrome_json(trace: StepTrace, curves: list[MemoryCurve], title: str = "") -> Iterator[str]:
    """Yields the text of a JSON object in parts; times are microseconds with three decimals.

    Each device of a task becomes a process and each lane a thread; transfers become flow events,
    memory curves counters.
    """
    yield '{"displayTimeUnit":"ns","otherData":'
    yield _json({"title": title, "origin_ns": str(trace.origin_ns), "by": "headrace-board"})
    yield ',"traceEvents":[\n'
    events = _events(trace, curves)
    yield next(events, "")
    while rows := list(islice(events, _ROWS_AT_ONCE)):
        yield ",\n" + ",\n".join(rows)
    yield "\n]}\n"


def _events(trace: StepTrace, curves: list[MemoryCurve]) -> Iterator[str]:
    places = _places(trace)
    for event in _names(trace, places):
        yield _json(event)
    for i in range(len(trace)):
        yield _slice(trace, i, places)
    for k in range(len(trace.transfers)):
        yield from _flow(trace, k, places)
    first_of_task: dict[str, int] = {}
    for lane, (pid, _) in places.items():
        first_of_task.setdefault(trace.lanes[lane].task, pid)
    for curve in curves:
        pid = first_of_task.get(curve.task, 0)
        name = _json(f"memory {curve.allocator}")
        for begin in range(0, len(curve.time), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            for t, b in zip(curve.time[part].tolist(), curve.bytes[part].tolist(), strict=True):
                args = f'{{"bytes":{b}}}'
                yield f'{{"ph":"C","name":{name},"pid":{pid},"ts":{_micros(t)},"args":{args}}}'


def _micros(ns: int) -> str:
    """Returns nanoseconds as microseconds with three decimals, exact unlike a float."""
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _places(trace: StepTrace) -> dict[int, tuple[int, int]]:
    """Returns: process and thread of each lane."""
    processes: dict[tuple[str, str], int] = {}
    threads: dict[int, int] = {}
    places = {}
    for lane in trace.lanes:
        pid = processes.setdefault((lane.task, lane.device), len(processes) + 1)
        threads[pid] = threads.get(pid, -1) + 1
        places[lane.id] = (pid, threads[pid])
    return places


def _names(trace: StepTrace, places: dict[int, tuple[int, int]]) -> Iterator[dict[str, Any]]:
    seen = set()
    for lane in trace.lanes:
        pid, tid = places[lane.id]
        if pid not in seen:
            seen.add(pid)
            task = read_device(lane.task).title_of_task
            name = f"{task}: {lane.device_title}"
            yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
            yield {
                "ph": "M",
                "name": "process_sort_index",
                "pid": pid,
                "args": {"sort_index": pid},
            }
        name = lane.thread or lane.device_title
        if lane.row:
            name += f" ({lane.row + 1})"
        args = {"name": name}
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args}
        order = {"sort_index": tid}
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": order}


def _slice(trace: StepTrace, i: int, places: dict[int, tuple[int, int]]) -> str:
    pid, tid = places[int(trace.lane[i])]
    start, end = int(trace.start[i]), int(trace.end[i])
    op = trace.ops[int(trace.op[i])]
    category = _CATEGORIES.get(int(trace.kind[i]), "op")
    args: dict[str, Any] = {"node": trace.names[int(trace.name[i])]}
    waited = start - int(trace.scheduled[i])
    if waited:
        args["waited_ns"] = waited
    if trace.output_bytes[i]:
        args["output_bytes"] = int(trace.output_bytes[i])
    return (
        f'{{"ph":"X","name":{_json(op)},"cat":"{category}","pid":{pid},"tid":{tid},'
        f'"ts":{_micros(start)},"dur":{_micros(end - start)},"args":{_json(args)}}}'
    )


def _flow(trace: StepTrace, k: int, places: dict[int, tuple[int, int]]) -> list[str]:
    moves = trace.transfers
    result = []
    source, target = int(moves.source[k]), int(moves.target[k])
    # A flow must end within its slice, so it ends a nanosecond before the slice.
    arrival = max(int(trace.start[target]), int(trace.end[target]) - 1)
    for phase, at, time in (("s", source, int(trace.start[source])), ("f", target, arrival)):
        pid, tid = places[int(trace.lane[at])]
        bound = ',"bp":"e"' if phase == "f" else ""
        result.append(
            f'{{"ph":"{phase}","id":{k + 1},"name":{_json(moves.tensor[k])},"cat":"transfer",'
            f'"pid":{pid},"tid":{tid},"ts":{_micros(time)}{bound}}}'
        )
    return result
