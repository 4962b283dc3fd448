"""Queries of charts, parsed from JSON and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.board.errors import BadRequest
from headrace.board.series import grouping, joining, smoothing, x_axes
from headrace.board.series.expression import Expression, ExpressionError, parse
from headrace.board.series.smoothing import Smoothing
from headrace.board.web.json_values import integer, number, one_of

MAX_QUERIES = 16
MAX_RUNS = 1000
MAX_PX = 8192
MAX_VARIABLES = 16
_DEFAULTS: dict[str, Any] = {
    "tag": None,
    "runs": None,
    "x": "step",
    "x_scale": "linear",
    "lo": None,
    "hi": None,
    "px": 1000,
    "smooth": None,
    "group": None,
    "expression": None,
    "variables": None,
    "join": "exact",
    "superseded": False,
}


@dataclass(frozen=True)
class Query:
    """The curves of one chart; docs/board_api.md describes each part.

    Args:
      variables: tag ids by the names in the expression; without an expression the tag has name "".
      x_tag: id of the tag that gives x, for x_kind "tag".
      groups: lists of run ids; None if each run has its own curve.
    """

    runs: tuple[int, ...]
    variables: tuple[tuple[str, int], ...]
    expression: Expression | None
    x_kind: str
    x_tag: int | None
    logarithmic: bool
    lo: float | None
    hi: float | None
    px: int
    smoothing: Smoothing | None
    groups: tuple[tuple[int, ...], ...] | None
    center: str
    band: str
    join: str
    superseded: bool


def queries_of(body: dict[str, Any]) -> list[Query]:
    """Returns the queries of a request. Raises: BadRequest, which names the wrong part."""
    listed = body.get("queries")
    if not isinstance(listed, list):
        raise BadRequest("queries is not a list")
    if len(listed) > MAX_QUERIES:
        raise BadRequest(f"queries has {len(listed)} items, more than {MAX_QUERIES}")
    return [query_of(item, f"queries[{i}]") for i, item in enumerate(listed)]


def query_of(document: Any, where: str) -> Query:
    """Returns one query. Raises: BadRequest."""
    if not isinstance(document, dict):
        raise BadRequest(f"{where} is not an object")
    unknown = sorted(set(document) - set(_DEFAULTS))
    if unknown:
        raise BadRequest(f"{where} has {unknown[0][:40]!r}: there are only {', '.join(_DEFAULTS)}")
    fields = {**_DEFAULTS, **document}
    expression, variables = _expression(fields, where)
    x_kind, x_tag = _x(fields["x"], f"{where}.x")
    lo = None if fields["lo"] is None else number(fields["lo"], f"{where}.lo")
    hi = None if fields["hi"] is None else number(fields["hi"], f"{where}.hi")
    if lo is not None and hi is not None and lo > hi:
        raise BadRequest(f"{where}.lo is {lo}, above hi, which is {hi}")
    groups, center, band = _group(fields["group"], f"{where}.group")
    if groups is None:
        runs = ids(fields["runs"], f"{where}.runs")
    else:
        runs = tuple(dict.fromkeys(run for group in groups for run in group))
    if len(runs) > MAX_RUNS:
        raise BadRequest(f"{where} has {len(runs)} runs, more than {MAX_RUNS}")
    superseded = fields["superseded"]
    if not isinstance(superseded, bool):
        raise BadRequest(f"{where}.superseded is neither true nor false")
    return Query(
        runs=runs,
        variables=variables,
        expression=expression,
        x_kind=x_kind,
        x_tag=x_tag,
        logarithmic=one_of(fields["x_scale"], ("linear", "log"), f"{where}.x_scale") == "log",
        lo=lo,
        hi=hi,
        px=integer(fields["px"], f"{where}.px", 1, MAX_PX),
        smoothing=_smoothing(fields["smooth"], f"{where}.smooth"),
        groups=groups,
        center=center,
        band=band,
        join=one_of(fields["join"], joining.HOW, f"{where}.join"),
        superseded=superseded,
    )


def _expression(
    fields: dict[str, Any], where: str
) -> tuple[Expression | None, tuple[tuple[str, int], ...]]:
    if fields["expression"] is None:
        return None, (("", integer(fields["tag"], f"{where}.tag")),)
    if not isinstance(fields["expression"], str):
        raise BadRequest(f"{where}.expression is not a text")
    try:
        expression = parse(fields["expression"])
    except ExpressionError as error:
        raise BadRequest(f"{where}: {error}") from None
    tags = fields["variables"]
    if not isinstance(tags, dict):
        raise BadRequest(f"{where}.variables is not an object of tag ids")
    if len(expression.names) > MAX_VARIABLES:
        raise BadRequest(f"{where}.expression has more than {MAX_VARIABLES} variables")
    variables = []
    for name in expression.names:
        if name not in tags:
            raise BadRequest(f"{where}.variables has no {name[:40]!r}, which the expression names")
        variables.append((name, integer(tags[name], f"{where}.variables.{name[:40]}")))
    return expression, tuple(variables)


def _x(value: Any, where: str) -> tuple[str, int | None]:
    if isinstance(value, dict):
        if set(value) != {"tag"}:
            raise BadRequest(f"{where} is an object, but not {{'tag': id}}")
        return "tag", integer(value["tag"], f"{where}.tag")
    return one_of(value, x_axes.KINDS[:3], where), None


def _smoothing(value: Any, where: str) -> Smoothing | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) - {"kind", "weight"}:
        raise BadRequest(f"{where} is not {{'kind', 'weight'}}")
    kind = one_of(value.get("kind"), smoothing.KINDS, f"{where}.kind")
    weight = number(value.get("weight"), f"{where}.weight")
    if kind == "ema":
        if not 0 <= weight < 1:
            raise BadRequest(f"{where}.weight is {weight}, not from 0 to below 1")
        return Smoothing(kind, weight) if weight else None
    if weight != int(weight) or not 1 <= weight <= smoothing.MAX_WIDTH:
        raise BadRequest(
            f"{where}.weight is {weight}, not a number of points from 1 to {smoothing.MAX_WIDTH}"
        )
    return Smoothing(kind, weight) if weight > 1 else None


def _group(value: Any, where: str) -> tuple[tuple[tuple[int, ...], ...] | None, str, str]:
    if value is None:
        return None, "mean", "std"
    if not isinstance(value, dict) or set(value) - {"runs", "center", "band"}:
        raise BadRequest(f"{where} is not {{'runs', 'center', 'band'}}")
    listed = value.get("runs")
    if not isinstance(listed, list):
        raise BadRequest(f"{where}.runs is not a list of lists of run ids")
    if len(listed) > MAX_RUNS:
        raise BadRequest(f"{where}.runs has {len(listed)} groups, more than {MAX_RUNS}")
    groups = tuple(ids(item, f"{where}.runs[{i}]") for i, item in enumerate(listed))
    center = one_of(value.get("center", "mean"), grouping.CENTERS, f"{where}.center")
    band = one_of(value.get("band", "std"), grouping.BANDS, f"{where}.band")
    return groups, center, band


def ids(value: Any, where: str) -> tuple[int, ...]:
    """Returns a list of run ids without duplicates. Raises: BadRequest."""
    if not isinstance(value, list):
        raise BadRequest(f"{where} is not a list of run ids")
    if len(value) > MAX_RUNS:
        raise BadRequest(f"{where} has {len(value)} runs, more than {MAX_RUNS}")
    return tuple(dict.fromkeys(integer(v, f"{where}[{i}]") for i, v in enumerate(value)))
