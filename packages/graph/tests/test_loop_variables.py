"""Variables that are added to a loop, what a loop's gradient keeps, and units of gradients."""

from __future__ import annotations

import headrace.graph as hr
from headrace.graph.autodiff.units import Units, active_enters
from headrace.graph.control_flow.context import WhileContext
from headrace.graph.control_flow.loop_accumulators import accumulators_of
from headrace.graph.control_flow.loop_variables import LoopVariable, is_loop_merge, is_loop_switch


def a_loop() -> tuple[hr.Tensor, WhileContext, dict[str, hr.Tensor]]:
    inside: dict[str, hr.Tensor] = {}

    def body(i: hr.Tensor, y: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        inside["square"] = hr.square(y)
        return i + 1, inside["square"]

    _, y = hr.while_loop(lambda i, _: i < 3, body, (hr.constant(0), hr.constant(2.0)))
    loop = inside["square"].op._context
    assert isinstance(loop, WhileContext)
    return y, loop, inside


def test_a_variable_is_added_to_a_loop_that_is_built() -> None:
    _, loop, _ = a_loop()
    before = len(loop.loop_exits)
    added = LoopVariable(loop, hr.constant(1.0), ())
    added.open()
    with hr.get_default_graph().control_dependencies(None), loop:
        following = added.value * 2.0
    result = added.close(following)
    assert is_loop_merge(added.merged.op)
    assert is_loop_switch(added.value.op.inputs[0].op)
    assert loop.loop_exits[before:] == [result] and result.op.type == "Exit"


def test_a_loop_counts_and_keeps_a_value_once() -> None:
    _, loop, inside = a_loop()
    kept = accumulators_of(loop)
    assert accumulators_of(loop) is kept
    assert kept.count() is kept.count() and kept.count().dtype is hr.int32
    assert kept.list_of(inside["square"]) is kept.list_of(inside["square"])
    assert kept.list_of(inside["square"]).dtype is hr.variant


def test_a_loop_is_one_unit_outside_of_it() -> None:
    y, loop, inside = a_loop()
    result = y * 2.0
    outside = Units(None)
    assert outside.of(inside["square"].op) is loop and outside.of(y.op) is loop
    order = outside.in_order([result.op])
    assert order.index(loop) < order.index(result.op) == len(order) - 1
    within = Units(loop)
    assert within.is_body and within.of(inside["square"].op) is inside["square"].op
    assert any(within.is_boundary(t.op) for t in loop.loop_enters)


def test_what_a_gradient_goes_through_is_found_in_one_search() -> None:
    start = [hr.constant(float(n)) for n in range(4)]
    factor = hr.constant(2.0)

    def body(i: hr.Tensor, *v: hr.Tensor) -> tuple[hr.Tensor, ...]:
        return (i + 1, v[0] * factor, v[0] + v[1], v[2] * 1.0, v[1] + v[2])

    results = hr.while_loop(lambda i, *_: i < 2, body, (hr.constant(0), *start))
    loop = results[1].op._context
    assert isinstance(loop, WhileContext)

    def entering(result: hr.Tensor, requested: list[hr.Tensor]) -> list[hr.Tensor]:
        found = active_enters(loop, {result: 1.0}, lambda t: t.op.inputs[0] in requested)
        return [t.op.inputs[0] for t in found]

    # The body does not read variable 3; 2 hangs on itself alone, 1 on 0, which the factor scales.
    assert entering(results[4], start) == start
    assert entering(results[4], [factor]) == [start[0], start[1], start[3], factor]
    assert entering(results[3], [*start, factor]) == [start[2]]
    assert entering(results[1], [start[1]]) == []
