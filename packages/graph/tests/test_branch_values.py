"""Values of branches outside of them."""

from __future__ import annotations

import headrace.graph as hr
from headrace.graph.control_flow.branch_values import branches_around, empty_value, merged_outside
from headrace.graph.control_flow.context_edges import output_context


def test_a_value_leaves_two_branches_by_a_merge_each() -> None:
    x, inside = hr.constant(2.0), []

    def inner() -> hr.Tensor:
        inside.append(hr.square(x))
        return inside[0]

    hr.cond(x > 0.0, lambda: hr.cond(x > 1.0, inner, lambda: x), lambda: x)
    value = inside[0]
    innermost, outermost = branches_around(value)
    assert innermost.outer_context is outermost and outermost.outer_context is None
    merged = merged_outside(value)
    assert merged.op.type == "Merge" and output_context(merged.op) is None
    (before,) = [t for t in merged.op.inputs if t.op.type == "Merge"]
    assert value in before.op.inputs and output_context(before.op) is outermost


def test_a_value_outside_of_branches_is_itself() -> None:
    x = hr.constant(2.0)
    assert branches_around(x) == [] and merged_outside(x) is x


def test_every_dtype_has_an_empty_value() -> None:
    for dtype in (hr.float32, hr.string, hr.bool, hr.resource, hr.variant):
        assert empty_value(dtype).dtype is dtype
