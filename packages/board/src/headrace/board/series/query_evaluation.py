"""Evaluates the queries of charts: reads, joins, smooths, groups and reduces curves to pixels."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.board.errors import BadRequest, DeadlineExceeded, NotFound
from headrace.board.series.curve import Curve, CurveCache, make_curve
from headrace.board.series.grouping import GroupCurve, grouped
from headrace.board.series.joining import joined
from headrace.board.series.point_flags import RESTART, SUPERSEDED, flags_of_values
from headrace.board.series.query import Query
from headrace.board.series.reduction import range_of, reduced
from headrace.board.series.smoothing import Smoothing, smoothed
from headrace.board.series.x_axes import x_values
from headrace.board.store.scalar_series import ScalarColumns, ScalarSeries

if TYPE_CHECKING:
    from headrace.board.store.run import Run
    from headrace.board.store.run_index import RunIndex

MAX_POINTS = 5_000_000
MAX_S = 20.0


class QueryEvaluator:
    """Evaluates the queries of charts on the store."""

    def __init__(self, index: RunIndex) -> None:
        self._index = index
        self._cache = CurveCache()

    def evaluate(self, queries: list[Query]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Returns the header and the columns of a reply.

        Raises: NotFound for an unknown run or tag; BadRequest for a tag of another kind, or for
          more points than a reply may have; DeadlineExceeded if the evaluation takes too long.
        """
        reply = _ResponseBuilder(until=time.monotonic() + MAX_S)
        for number, query in enumerate(queries):
            self._check(query)
            self._evaluate_one(number, query, reply)
        return {"curves": reply.curves}, reply.columns

    def _check(self, query: Query) -> None:
        tags = [tag for _, tag in query.variables]
        for tag in tags if query.x_tag is None else [*tags, query.x_tag]:
            try:
                found = self._index.tag(tag)
            except KeyError:
                raise NotFound(f"there is no tag {tag}") from None
            if found.kind != "scalar":
                raise BadRequest(f"tag {tag} is of kind {found.kind}, not scalar")

    def _evaluate_one(self, number: int, query: Query, reply: _ResponseBuilder) -> None:
        live: dict[int, Curve] = {}
        for run in query.runs:
            reply.check()
            curve = self._curve(query, run, False)
            if curve is not None:
                live[run] = curve
        dead: dict[int, Curve] = {}
        if query.superseded and query.groups is None and _is_plain(query):
            for run in live:
                curve = self._curve(query, run, True)
                if curve is not None and len(curve.x):
                    reply.check()
                    dead[run] = curve
        bounds = _bounds(query, [*live.values(), *dead.values()])
        if query.groups is None:
            for run, curve in live.items():
                head = {"query": number, "run": run, "superseded": self._superseded(query, run)}
                reply.add_run(head, curve, dead.get(run), query, bounds)
            return
        for number_of_group, group in enumerate(query.groups):
            members = [live[run] for run in group if run in live]
            of_group = grouped([(c.x, c.y) for c in members], query.center, query.band)
            head = {"query": number, "group": number_of_group, "runs": len(members)}
            reply.add_group(head, of_group, query, bounds)

    def _run(self, run: int) -> Run:
        try:
            return self._index.run(run)
        except KeyError:
            raise NotFound(f"there is no run {run}") from None

    def _series(self, run: int, tag: int) -> ScalarSeries | None:
        try:
            found = self._index.series(run, tag)
        except KeyError:
            return None
        return found if isinstance(found, ScalarSeries) else None

    def _superseded(self, query: Query, run: int) -> int:
        """Returns the number of superseded points of the first tag within the range."""
        series = self._series(run, query.variables[0][1])
        if series is None or (columns := series.columns()).segments == 1:
            return 0
        if not _is_plain(query):
            return int(np.count_nonzero(columns.superseded))
        curve = self._curve(query, run, True)
        if curve is None or not len(curve.x):
            return 0
        lo, hi = _bounds(query, [curve])
        begin, end = range_of(curve.x, lo, hi)
        return end - begin

    def _curve(self, query: Query, run_id: int, superseded: bool) -> Curve | None:
        """Returns the curve of a run; None if the run lacks one of the tags.

        Args:
          superseded: whether to return the superseded points instead of the current ones.
        """
        run = self._run(run_id)
        tags = [tag for _, tag in query.variables]
        if query.x_tag is not None:
            tags.append(query.x_tag)
        parts = [self._series(run_id, tag) for tag in tags]
        if any(part is None for part in parts):
            return None
        series = [part for part in parts if part is not None]
        versions = tuple(one.version for one in series)
        smoothing = None if superseded else query.smoothing
        points = (run_id, tuple(tags), versions, query.expression, query.x_kind, query.join,
                  superseded)  # fmt: skip

        def plain() -> Curve:
            columns = [one.columns() for one in series]
            return _made(query, run, columns, superseded, None)

        def smooth() -> Curve:
            assert smoothing is not None
            curve = self._cache.get((points, None), plain)
            if curve.as_given:
                return replace(curve, y=smoothed(curve.y, smoothing), raw=curve.y)
            columns = [one.columns() for one in series]
            return _made(query, run, columns, superseded, smoothing)

        return self._cache.get((points, smoothing), plain if smoothing is None else smooth)


def _is_plain(query: Query) -> bool:
    return query.expression is None and query.x_tag is None


def _made(
    query: Query,
    run: Run,
    parts: list[ScalarColumns],
    superseded: bool,
    smoothing: Smoothing | None,
) -> Curve:
    chosen = [_in_order_of_step(columns, superseded) for columns in parts]
    values: list[np.ndarray] = []
    if len(parts) == 1:
        values = [_taken(parts[0].value, chosen[0])]
        rows = chosen[0]
    else:
        steps = [_taken(columns.step, pick) for columns, pick in zip(parts, chosen)]
        picks = joined(steps, query.join)
        for columns, pick, at in zip(parts, chosen, picks):
            values.append(_taken(columns.value, pick)[at])
        rows = picks[0] if chosen[0] is None else chosen[0][picks[0]]
    first = parts[0]
    if query.x_tag is None:
        step, wall = _taken(first.step, rows), _taken(first.wall, rows)
        # The first event may have a later wall time, as in copied or generated logs.
        start = np.fmin(run.start, first.wall[0]) if len(first) else 0.0
        x = x_values(query.x_kind, step, wall, start)
    else:
        x = values.pop().astype(np.float64)
    y = values[0]
    if query.expression is not None:
        y = query.expression.value(
            {name: v.astype(np.float64) for (name, _), v in zip(query.variables, values)}
        )
    return make_curve(x, y, _taken(first.segment, rows), smoothing)


def _in_order_of_step(columns: ScalarColumns, superseded: bool) -> np.ndarray | None:
    """Returns the rows of current or superseded points by step; None: all rows, as they are."""
    rows = None
    if superseded or columns.segments > 1:
        rows = np.flatnonzero(columns.superseded == superseded)
    step = _taken(columns.step, rows)
    if len(step) > 1 and not (step[1:] >= step[:-1]).all():
        order = np.argsort(step, kind="stable")
        rows = order if rows is None else rows[order]
    return rows


def _taken(column: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    return column if rows is None else column[rows]


def _bounds(query: Query, curves: list[Curve]) -> tuple[float, float]:
    """Returns the range to draw: the requested one, else that of all points."""
    there = [c.x for c in curves if len(c.x)]
    lo, hi = query.lo, query.hi
    if query.logarithmic:
        positive = [x[int(np.searchsorted(x, 0.0, "right")) :] for x in there]
        firsts = [float(x[0]) for x in positive if len(x)]
        least = min(firsts, default=1.0)
        lo = least if lo is None or lo <= 0 else lo
        hi = max([float(x[-1]) for x in positive if len(x)], default=1.0) if hi is None else hi
        return lo, max(lo, hi)
    if lo is None:
        lo = min((float(x[0]) for x in there), default=0.0)
    if hi is None:
        hi = max((float(x[-1]) for x in there), default=0.0)
    return lo, max(lo, hi)


@dataclass
class _ResponseBuilder:
    """Collects the curves of a reply; equal columns of x, which runs often have, are sent once."""

    curves: list[dict[str, Any]] = field(default_factory=list)
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    until: float = float("inf")
    points: int = 0
    _of_bytes: dict[bytes, str] = field(default_factory=dict)

    def check(self) -> None:
        """Checks the limits of one request. Raises: BadRequest; DeadlineExceeded."""
        if self.points > MAX_POINTS:
            raise BadRequest(
                f"the reply would have more than {MAX_POINTS} points: request fewer runs or px"
            )
        if time.monotonic() > self.until:
            raise DeadlineExceeded(
                f"the reply would take more than {MAX_S:.0f} s: request fewer runs at once"
            )

    def _put(self, kind: str, column: np.ndarray) -> str:
        self.check()
        if kind == "y":
            self.points += len(column)
        name = f"{kind}{len(self.columns)}"
        self.columns[name] = column
        return name

    def _put_x(self, x: np.ndarray) -> str:
        data = x.tobytes()
        if data not in self._of_bytes:
            self._of_bytes[data] = self._put("x", x)
        return self._of_bytes[data]

    def add_run(
        self,
        head: dict[str, Any],
        curve: Curve,
        dead: Curve | None,
        query: Query,
        bounds: tuple[float, float],
    ) -> None:
        lo, hi = bounds
        x, y, raw, flags, n, drawn = _points(curve, query, lo, hi)
        if dead is not None:
            x2, y2, _, flags2, n2, drawn2 = _points(dead, query, lo, hi)
            order = np.argsort(np.concatenate([x, x2]), kind="stable")
            x = np.concatenate([x, x2])[order]
            y = np.concatenate([y, y2])[order]
            raw = None if raw is None else np.concatenate([raw, y2])[order]
            flags = np.concatenate([flags, flags2 | SUPERSEDED])[order]
            n, drawn = n + n2, drawn + drawn2
        columns = {"x": self._put_x(x), "y": self._put("y", y)}
        if raw is not None:
            columns["raw_x"] = columns["x"]
            columns["raw_y"] = self._put("r", raw)
        if flags.any():
            columns["flags"] = self._put("f", flags)
        head |= {"n": n, "drawn": drawn, "without_x": curve.without_x, "columns": columns}
        self.curves.append(head)

    def add_group(
        self, head: dict[str, Any], curve: GroupCurve, query: Query, bounds: tuple[float, float]
    ) -> None:
        lo, hi = bounds
        at, n = reduced(curve.x, [curve.y, curve.lo, curve.hi], lo, hi, query.px, query.logarithmic)
        x, y = curve.x[at], curve.y[at]
        columns = {
            "x": self._put_x(x),
            "y": self._put("y", y),
            "lo": self._put("l", curve.lo[at]),
            "hi": self._put("h", curve.hi[at]),
        }
        flags = flags_of_values(y)
        if flags.any():
            columns["flags"] = self._put("f", flags)
        self.curves.append({**head, "n": n, "drawn": _count_within(x, lo, hi), "columns": columns})


def _points(
    curve: Curve, query: Query, lo: float, hi: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray, int, int]:
    ys = [curve.y] if curve.raw is None else [curve.y, curve.raw]
    at, n = reduced(curve.x, ys, lo, hi, query.px, query.logarithmic, curve.restarts)
    x, y = curve.x[at], curve.y[at]
    raw = None if curve.raw is None else curve.raw[at]
    flags = flags_of_values(y if raw is None else raw)
    if len(curve.restarts):
        flags[np.isin(at, curve.restarts)] |= RESTART
    return x, y, raw, flags, n, _count_within(x, lo, hi)


def _count_within(x: np.ndarray, lo: float, hi: float) -> int:
    begin, end = range_of(x, lo, hi)
    return end - begin
