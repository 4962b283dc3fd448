"""Step traces: GET /traces, /trace/ID, /trace/ID/summary and others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Response, request

from headrace.board.errors import BadRequest, NotFound
from headrace.board.trace.analysis.memory_curve import reduce_curve
from headrace.board.trace.analysis.step_comparison import compare_steps
from headrace.board.trace.analysis.totals import totals_of
from headrace.board.trace.chrome_export import chrome_json
from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.board.trace.slice_search import (
    name_table,
    names_below,
    slice_columns,
    slices_across_steps,
)
from headrace.board.trace.trace_cache import LoadedTrace
from headrace.board.trace.trace_response import (
    memory_row,
    slice_details,
    summary_of,
    trace_row,
    window_response,
)
from headrace.board.web.panel import ErrorHandler, Panel, Route
from headrace.board.web.query_arguments import float_argument, ids_argument, int_argument
from headrace.board.web.responses import columns_response, json_response
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_PX = 8192
_MAX_LANES = 256  # in one response
_MAX_COMPARED = 8


class TracesPanel(Panel):
    """Serves step traces: slices at a zoom, totals, the critical path, memory and searches."""

    name = "traces"

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._traces = board.traces

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/traces", self.traces),
            Route("GET", "/trace/<int:number>", self.trace),
            Route("GET", "/trace/<int:number>/summary", self.summary),
            Route("GET", "/trace/<int:number>/totals", self.totals),
            Route("GET", "/trace/<int:number>/memory", self.memory),
            Route("GET", "/trace/<int:number>/slice", self.one_slice),
            Route("GET", "/trace/<int:number>/names", self.names),
            Route("GET", "/trace/<int:number>/slices", self.slices),
            Route("GET", "/trace/compare", self.compare),
            Route("GET", "/trace/<int:number>/chrome.json", self.chrome),
        )

    def error_handlers(self) -> Mapping[type[Exception], ErrorHandler]:
        return {TraceError: self._unreadable, DataLossError: self._unreadable}

    def traces(self) -> Response:
        """Returns the list of traces."""
        rows = [trace_row(entry, self._traces.known(entry.id)) for entry in self._traces.entries()]
        return json_response(self.board, {"traces": rows})

    def trace(self, number: int) -> Response:
        """Returns the slices of a window of time, reduced to its pixels."""
        found = self._loaded(number)
        t0, t1 = _window(found.trace)
        px = int_argument("px", 1600, 1, _MAX_PX)
        lanes = _lanes(found.trace)
        shown = lanes if lanes is not None else list(range(len(found.trace.lanes)))
        if len(shown) > _MAX_LANES:
            if lanes is not None:
                raise BadRequest(f"lanes has {len(lanes)} items, more than {_MAX_LANES}")
            shown = lanes = shown[:_MAX_LANES]
        header, columns = window_response(found, t0, t1, px, lanes)
        return columns_response(self.board, {**header, "shown_lanes": shown}, columns)

    def summary(self, number: int) -> Response:
        """Returns totals; of the whole step also its critical path, stalls and transfers."""
        found = self._loaded(number)
        t0, t1 = _window(found.trace)
        whole = "t0" not in request.args and "t1" not in request.args
        return json_response(self.board, summary_of(found, t0, t1, _lanes(found.trace), whole))

    def totals(self, number: int) -> Response:
        """Returns totals of a window."""
        found = self._loaded(number)
        t0, t1 = _window(found.trace)
        sums = totals_of(found.trace, t0, t1, _lanes(found.trace))
        return json_response(self.board, {"totals": vars(sums)})

    def memory(self, number: int) -> Response:
        """Returns how much memory each allocator held over a window."""
        found = self._loaded(number)
        t0, t1 = _window(found.trace)
        px = int_argument("px", 1600, 1, _MAX_PX)
        curves = found.curves()
        columns: dict[str, np.ndarray] = {}
        for i, curve in enumerate(curves):
            time, held = reduce_curve(curve, t0, t1, px)
            columns[f"time_{i}"] = time.astype(np.float64)
            columns[f"bytes_{i}"] = held.astype(np.float64)
        header = {"allocators": [memory_row(curve) for curve in curves], "t0": t0, "t1": t1}
        return columns_response(self.board, header, columns)

    def one_slice(self, number: int) -> Response:
        """Returns a slice by its index, or the slices of a node in all steps by its name."""
        found = self._loaded(number)
        name = request.args.get("name")
        if name is not None:
            return json_response(self.board, slices_across_steps(self._traces, found, name))
        at = int_argument("slice")
        if at >= len(found.trace):
            raise NotFound(f"trace {number} has {len(found.trace)} slices, so no {at}")
        stats = self._traces.node_stats(found, at)
        return json_response(self.board, slice_details(found, at, stats))

    def names(self, number: int) -> Response:
        """Returns all names of a trace, to search in."""
        header, columns = name_table(self._loaded(number))
        return columns_response(self.board, header, columns)

    def slices(self, number: int) -> Response:
        """Returns the slices of some names, of one name, or of a scope."""
        step = self._loaded(number).trace
        requested = ids_argument("names", 1000)
        if requested is None:
            name, prefix = request.args.get("name"), request.args.get("prefix")
            if name is not None:
                requested = [step.name_ids[name]] if name in step.name_ids else []
            elif prefix is not None:
                requested = names_below(step, prefix)
            else:
                raise BadRequest("names is missing")
        if any(not 0 <= i < len(step.names) for i in requested):
            raise BadRequest(f"names has an id that is not below {len(step.names)}")
        total, columns = slice_columns(step, requested)
        return columns_response(self.board, {"n": total}, columns)

    def compare(self) -> Response:
        """Returns what each op and node took in each of several steps."""
        ids = ids_argument("ids", _MAX_COMPARED)
        if not ids:
            raise BadRequest("ids is missing")
        found = [self._loaded(i) for i in ids]
        rows = [trace_row(one.entry, one) for one in found]
        comparison: dict[str, Any] = compare_steps([one.trace for one in found])
        return json_response(self.board, {"traces": rows, **comparison})

    def chrome(self, number: int) -> Response:
        """Returns the trace in Chrome's trace format."""
        found = self._loaded(number)
        which = found.entry.title or f"step {found.entry.step}"
        title = f"{found.entry.run.name} {which}"
        text = (part.encode() for part in chrome_json(found.trace, found.curves(), title))
        headers = {
            "Content-Disposition": f'attachment; filename="{_file_name(found.entry.step)}"',
            "Cache-Control": "no-cache",
        }
        return Response(text, 200, headers, content_type="application/json")

    def _loaded(self, number: int) -> LoadedTrace:
        try:
            return self._traces.load(number)
        except KeyError:
            raise NotFound(f"there is no trace {number}") from None

    def _unreadable(self, error: Exception) -> Response:
        return json_response(self.board, {"error": f"the trace cannot be read: {error}"}, 422)


def _file_name(step: int | None) -> str:
    return "trace.json" if step is None else f"trace_step_{step}.json"


def _window(trace: StepTrace) -> tuple[float, float]:
    """Returns the arguments t0 and t1 in ns, by default the whole step. Raises: BadRequest."""
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
    """Returns the argument `lanes`, sorted and each once; None for all. Raises: BadRequest."""
    lanes = ids_argument("lanes", 4096)
    if lanes is None:
        return None
    wrong = [lane for lane in lanes if not 0 <= lane < len(trace.lanes)]
    if wrong:
        raise BadRequest(f"lanes has {wrong[0]}, but there are {len(trace.lanes)} lanes")
    return sorted(set(lanes))
