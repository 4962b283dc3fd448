"""`/traces` and `/trace/ID/...`: the step traces (docs/board_api.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Blueprint, Response, request

from headrace.board.web.columns import least_dtype
from headrace.board.web.responses import (
    BadRequest,
    NotFound,
    float_argument,
    ids_argument,
    int_argument,
    reply_columns,
    reply_json,
)
from headrace.board.trace.chrome_export import chrome_json
from headrace.board.trace.analysis.memory_curve import reduce_curve
from headrace.board.trace.reading.step_columns import BadTrace
from headrace.board.trace.analysis.step_comparison import compare_steps
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.board.trace.analysis.totals import totals_of
from headrace.board.trace.trace_response import (
    described_slice,
    described_trace,
    lane_rows,
    summary_of,
)
from headrace.board.trace.trace_cache import LoadedTrace, TraceShelf
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

MOST_PX = 8192
MOST_LANES = 256  # in one reply
MOST_COMPARED = 8
MOST_FOUND = 5000
# By name over all steps: a trace above this that nobody has opened is not read for it.
MOST_BYTES_UNASKED = 32 << 20
MOST_STEPS_UNASKED = 16


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints of step traces."""
    made = Blueprint("traces", __name__)
    shelf = board.trace_shelf = TraceShelf(board)

    def loaded(number: int) -> LoadedTrace:
        try:
            return shelf.load(number)
        except KeyError:
            raise NotFound(f"there is no trace {number}") from None

    def answers_damage(view: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(view)
        def answer(**arguments: Any) -> Response:
            try:
                return view(**arguments)
            except (BadTrace, DataLossError) as error:
                return reply_json(board, {"error": f"the trace cannot be read: {error}"}, 422)

        return answer

    @made.get("/traces")
    def traces() -> Response:
        rows = [described_trace(entry, shelf.known(entry.id)) for entry in shelf.entries()]
        return reply_json(board, {"traces": rows})

    @made.get("/trace/<int:number>")
    @answers_damage
    def trace(number: int) -> Response:
        found = loaded(number)
        step = found.trace
        t0, t1 = _window(step)
        px = int_argument("px", 1600, 1, MOST_PX)
        lanes = _lanes(step)
        shown = lanes if lanes is not None else list(range(len(step.lanes)))
        if len(shown) > MOST_LANES:
            if lanes is not None:
                raise BadRequest(f"lanes has {len(lanes)} items, more than {MOST_LANES}")
            shown = lanes = shown[:MOST_LANES]
        cut = found.cut(t0, t1, px, lanes)
        name_ids, names = np.unique(step.name[cut.slice], return_inverse=True)
        busy = np.divide(
            cut.busy_ns,
            cut.end - cut.start,
            out=np.ones(len(cut), np.float64),
            where=cut.end > cut.start,
        )
        critical = np.divide(
            cut.critical_ns, cut.busy_ns, out=np.zeros(len(cut), np.float64), where=cut.busy_ns > 0
        )
        header = {
            **described_trace(found.entry, found),
            "t0": t0,
            "t1": t1,
            "px": px,
            "analysed": found.analysed,
            "lanes": lane_rows(step),
            "shown_lanes": shown,
            "skew_ns": dict(step.skew_ns),
            "untimed": step.untimed,
            "origin_ns": str(step.origin_ns),
            "names": [step.names[i] for i in name_ids.tolist()],
            "ops": step.ops,
            "n": cut.n,
            "drawn": len(cut),
        }
        columns = {
            "lane": least_dtype(cut.lane),
            "start": least_dtype(cut.start),
            "dur": least_dtype(cut.end - cut.start),
            "name": least_dtype(names),
            "op": least_dtype(cut.op),
            "kind": cut.kind,
            "busy": np.minimum(busy, 1).astype(np.float32),
            "count": least_dtype(cut.count),
            "slice": least_dtype(cut.slice),
            "wait": least_dtype(cut.wait_ns),
            "critical": np.minimum(critical, 1).astype(np.float32),
        }
        return reply_columns(board, header, columns)

    @made.get("/trace/<int:number>/summary")
    @answers_damage
    def summary(number: int) -> Response:
        found = loaded(number)
        t0, t1 = _window(found.trace)
        whole = "t0" not in request.args and "t1" not in request.args
        return reply_json(board, summary_of(found, t0, t1, _lanes(found.trace), whole))

    @made.get("/trace/<int:number>/totals")
    @answers_damage
    def totals(number: int) -> Response:
        found = loaded(number)
        t0, t1 = _window(found.trace)
        sums = totals_of(found.trace, t0, t1, _lanes(found.trace))
        return reply_json(board, {"totals": vars(sums)})

    @made.get("/trace/<int:number>/memory")
    @answers_damage
    def memory(number: int) -> Response:
        found = loaded(number)
        t0, t1 = _window(found.trace)
        px = int_argument("px", 1600, 1, MOST_PX)
        rows: list[dict[str, Any]] = []
        columns: dict[str, np.ndarray] = {}
        for i, curve in enumerate(found.curves()):
            time, held = reduce_curve(curve, t0, t1, px)
            columns[f"time_{i}"] = time.astype(np.float64)
            columns[f"bytes_{i}"] = held.astype(np.float64)
            rows.append(
                {
                    "name": curve.allocator,
                    "task": curve.task,
                    "source": curve.source,
                    "peak": curve.peak,
                    "peak_ns": curve.peak_ns,
                    "n": len(curve.time),
                }
            )
        return reply_columns(board, {"allocators": rows, "t0": t0, "t1": t1}, columns)

    @made.get("/trace/<int:number>/slice")
    @answers_damage
    def one_slice(number: int) -> Response:
        name = request.args.get("name")
        if name is not None:
            return reply_json(board, _everywhere(shelf, loaded(number), name))
        found = loaded(number)
        at = int_argument("slice")
        if at >= len(found.trace):
            raise NotFound(f"trace {number} has {len(found.trace)} slices, so no {at}")
        return reply_json(board, described_slice(found, at, shelf.node_stats(found, at)))

    @made.get("/trace/<int:number>/names")
    @answers_damage
    def names(number: int) -> Response:
        found = loaded(number)
        step = found.trace
        n = len(step.names)
        first = np.full(n, -1, np.int64)
        first[step.name[::-1]] = np.arange(len(step) - 1, -1, -1)
        op = np.where(first >= 0, step.op[first] if len(step) else 0, 0)
        columns: dict[str, np.ndarray] = {
            "op": op.astype(np.int32),
            "count": np.bincount(step.name, minlength=n).astype(np.uint32),
            "total": np.bincount(step.name, step.duration, n).astype(np.float64),
        }
        other = {
            at: node
            for at, (node, own) in enumerate(zip(found.graph_nodes(), step.names, strict=True))
            if node not in ("", own)
        }
        header = {"names": step.names, "ops": step.ops, "graph_nodes": other}
        return reply_columns(board, header, columns)

    @made.get("/trace/<int:number>/slices")
    @answers_damage
    def slices(number: int) -> Response:
        step = loaded(number).trace
        wanted = ids_argument("names", 1000)
        if wanted is None:
            name, prefix = request.args.get("name"), request.args.get("prefix")
            if name is not None:
                wanted = [step.name_ids[name]] if name in step.name_ids else []
            elif prefix is not None:
                below = f"{prefix}/"
                wanted = [
                    i
                    for i, text in enumerate(step.names)
                    if text == prefix or text.startswith(below)
                ]
            else:
                raise BadRequest("names is missing")
        if any(not 0 <= i < len(step.names) for i in wanted):
            raise BadRequest(f"names has an id that is not below {len(step.names)}")
        parts = [step.slices_of(i) for i in sorted(set(wanted))]
        at = np.concatenate(parts) if parts else np.empty(0, np.int64)
        total = len(at)
        at = at[np.argsort(step.start[at], kind="stable")][:MOST_FOUND]
        columns = {
            "slice": at.astype(np.int32),
            "lane": step.lane[at],
            "start": step.start[at].astype(np.float64),
            "dur": step.duration[at].astype(np.float64),
        }
        return reply_columns(board, {"n": total}, columns)

    @made.get("/trace/compare")
    @answers_damage
    def compare() -> Response:
        ids = ids_argument("ids", MOST_COMPARED)
        if not ids:
            raise BadRequest("ids is missing")
        found = [loaded(i) for i in ids]
        rows = [described_trace(one.entry, one) for one in found]
        return reply_json(board, {"traces": rows, **compare_steps([one.trace for one in found])})

    @made.get("/trace/<int:number>/chrome.json")
    @answers_damage
    def chrome(number: int) -> Response:
        found = loaded(number)
        title = f"{found.entry.run.name} step {found.entry.step}"
        text = (part.encode() for part in chrome_json(found.trace, found.curves(), title))
        headers = {
            "Content-Disposition": f'attachment; filename="trace_step_{found.entry.step}.json"',
            "Cache-Control": "no-cache",
        }
        return Response(text, 200, headers, content_type="application/json")

    return made


def _window(trace: StepTrace) -> tuple[float, float]:
    """Returns: the arguments t0 and t1 in ns, by default the whole step. Raises: BadRequest."""
    t0, t1 = float_argument("t0", 0.0), float_argument("t1")
    assert t0 is not None
    if t1 is None:
        t1 = max(float(trace.duration_ns), t0 + 1)
    if not t1 > t0 or not math.isfinite(t1 - t0):
        raise BadRequest(f"t1 is {t1}, not above t0, which is {t0}")
    if max(abs(t0), abs(t1)) > 2.0**62:
        raise BadRequest(f"t0 and t1 are {t0} and {t1}, beyond any step")
    return t0, t1


def _lanes(trace: StepTrace) -> list[int] | None:
    lanes = ids_argument("lanes", 4096)
    if lanes is None:
        return None
    wrong = [lane for lane in lanes if not 0 <= lane < len(trace.lanes)]
    if wrong:
        raise BadRequest(f"lanes has {wrong[0]}, but there are {len(trace.lanes)} lanes")
    return sorted(set(lanes))


def _everywhere(shelf: TraceShelf, here: LoadedTrace, name: str) -> dict[str, list[Any]]:
    """Returns: the slices of a node over the traces of the run, by step; and what was not read."""
    entries = [e for e in shelf.entries() if e.run is here.entry.run]
    near = sorted(entries, key=lambda e: abs(e.step - here.entry.step))[:MOST_STEPS_UNASKED]
    rows: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for entry in sorted(near, key=lambda e: e.step):
        told = {"trace": entry.id, "step": entry.step}
        if shelf.known(entry.id) is None and entry.length > MOST_BYTES_UNASKED:
            skipped.append({**told, "error": f"it has {entry.length >> 20} MB and is not open"})
            continue
        try:
            step = shelf.load(entry.id).trace
        except (BadTrace, DataLossError) as error:
            skipped.append({**told, "error": str(error)})
            continue
        except KeyError:
            continue  # it went away meanwhile
        at = step.name_ids.get(name)
        if at is None:
            continue
        for i in step.slices_of(at)[:MOST_FOUND].tolist():
            rows.append(
                {
                    "trace": entry.id,
                    "step": entry.step,
                    "slice": i,
                    "lane": int(step.lane[i]),
                    "start": int(step.start[i]),
                    "dur": int(step.duration[i]),
                }
            )
    return {"slices": rows[:MOST_FOUND], "skipped": skipped}
