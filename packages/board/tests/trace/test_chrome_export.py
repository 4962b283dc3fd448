from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
from fixtures.traces import planted_trace, two_tasks

from headrace.board.trace.analysis.memory_curve import MemoryCurve, memory_curves
from headrace.board.trace.chrome_export import chrome_json
from headrace.board.trace.reading.read_step import read_step


def exported(data: bytes) -> tuple:
    trace = read_step(data)
    text = "".join(chrome_json(trace, memory_curves(trace), 'a "title"'))
    return trace, json.loads(text, parse_float=Decimal)["traceEvents"]


def test_every_slice_is_a_complete_event_with_its_nanoseconds() -> None:
    trace, events = exported(planted_trace(20_000).metadata)
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) == len(trace)
    for event, start, took in zip(
        slices, trace.start.tolist(), trace.duration.tolist(), strict=True
    ):
        assert (event["ts"] * 1000, event["dur"] * 1000) == (start, took)


def test_processes_and_threads_have_names() -> None:
    trace, events = exported(two_tasks().SerializeToString())
    named = {(e["name"], e["args"].get("name")) for e in events if e["ph"] == "M"}
    assert ("process_name", "w 0: CPU:0") in named
    assert ("thread_name", "thread 0") in named
    places = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
    assert len(places) == len(trace.lanes)


def test_a_flow_leads_from_inside_one_slice_into_another() -> None:
    _, events = exported(two_tasks().SerializeToString())
    slices = [e for e in events if e["ph"] == "X"]
    flows = [e for e in events if e["ph"] in "sf"]
    assert [e["ph"] for e in flows] == ["s", "f", "s", "f"]
    for flow in flows:
        assert any(
            s["pid"] == flow["pid"]
            and s["tid"] == flow["tid"]
            and s["ts"] <= flow["ts"] <= s["ts"] + s["dur"]
            for s in slices
        )


def test_memory_is_a_counter() -> None:
    _, events = exported(two_tasks().SerializeToString())
    assert [e["name"] for e in events if e["ph"] == "C"][0] == "memory outputs"


def test_no_part_of_the_stream_is_large_whatever_it_holds() -> None:
    """Slices, flows and counters alike: memory does not grow with the trace."""
    trace = read_step(two_tasks().SerializeToString())
    time = np.arange(200_000)
    curve = MemoryCurve("cpu", "", "records", time, time)
    parts = list(chrome_json(trace, [curve]))
    assert max(map(len, parts)) < sum(map(len, parts)) / 20
    events = json.loads("".join(parts))["traceEvents"]
    assert sum(e["ph"] == "C" for e in events) == len(time)
