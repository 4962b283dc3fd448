"""Describes what differs between two matched ops."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from headrace.board.graph.diff.diff_side import Side
from headrace.board.graph.node_details import attribute_words, node_def_of

_OUTSIDE = "(outside)"
_NONE = "none"
_MAX_INPUTS = 8
_WORDS = 100  # of a value

End = tuple[int, int]


def changes(a: Side, b: Side, op: int, other: int, to_b: Mapping[int, int]) -> list[str]:
    """Returns a text for each difference: op, device, inputs, attributes.

    Args:
      op: an op of a.
      other: the matched op of b.
      to_b: the matched op of b for each op of a.
    """
    left, right = (node_def_of(s.graph_def, s.analysis, o) for s, o in ((a, op), (b, other)))
    if left is None or right is None:
        return []
    what = []
    if left.op != right.op:
        what.append(f"op: {left.op} -> {right.op}")
    if left.device != right.device and a.prefix == b.prefix:
        what.append(f"device: {left.device or 'any'} -> {right.device or 'any'}")
    what += _inputs(a, b, a.inputs(op), b.inputs(other), to_b)
    if left.attr != right.attr:
        what += _attributes(left.attr, right.attr)
    return what


def _inputs(
    a: Side, b: Side, ours: list[End], theirs: list[End], to_b: Mapping[int, int]
) -> list[str]:
    """Compares data inputs by position, and control inputs as sets."""
    became = [(to_b.get(s, -2) if s >= 0 else -1, port) for s, port in ours]
    if became == theirs:
        return []
    out = []
    data = [
        [(end, now) for end, now in zip(ends, nows, strict=True) if end[1] >= 0]
        for ends, nows in ((ours, became), (theirs, theirs))
    ]
    for place, (x, y) in enumerate(zip_longest(*data)):
        if x is None or y is None or x[1] != y[1]:
            out.append(f"input {place}: {_end(a, x and x[0])} -> {_end(b, y and y[0])}")
    before = {now: end for end, now in zip(ours, became, strict=True) if now[1] < 0}
    after = {end for end in theirs if end[1] < 0}
    for now, end in before.items():
        if now not in after:
            out.append(f"control input: {_end(a, end)} -> {_NONE}")
    out += [f"control input: {_NONE} -> {_end(b, end)}" for end in theirs if end[1] < 0
            and end not in before]  # fmt: skip
    if len(out) > _MAX_INPUTS:
        out = [*out[:_MAX_INPUTS], f"and {len(out) - _MAX_INPUTS} more inputs"]
    return out


def _end(side: Side, end: End | None) -> str:
    if end is None:
        return _NONE
    source, port = end
    name = side.name[source] if source >= 0 else _OUTSIDE
    return f"^{name}" if port < 0 else name if port == 0 else f"{name}:{port}"


def _attributes(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    out = []
    for key in sorted({*left, *right}):
        if key in left and key in right and _equal(left[key], right[key]):
            continue
        words = [
            attribute_words(attr[key])["value"] if key in attr else _NONE for attr in (left, right)
        ]
        shown = [text if len(text) <= _WORDS else f"{text[:_WORDS]}..." for text in words]
        title = "shapes" if key == "_output_shapes" else key
        beyond = " (they differ further on)" if shown[0] == shown[1] else ""
        out.append(f"{title}: {shown[0]} -> {shown[1]}{beyond}")
    return out


def _equal(left: Any, right: Any) -> bool:
    # NaN is unequal to itself, but its bytes are equal.
    return bool(left == right or left.SerializeToString() == right.SerializeToString())
