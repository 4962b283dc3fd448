"""Gradients of While and For: those of a while loop that calls the same functions."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import resource
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.functions.call_gradients import apply_call_gradient, call, call_gradient
from headrace.graph.functions.func_graph import FuncGraph
from headrace.graph.functions.function_body import FunctionBody
from headrace.graph.functions.function_to_graph import body_of


@gradient("While")
@gradient("StatelessWhile")
def _while(node: Operation, *grads: Any) -> list[Any]:
    condition = _function(node, "cond")
    step = _function(node, "body")

    def build(inputs: list[Tensor]) -> list[Tensor]:
        # A handle is the same in all iterations: it is no variable of the loop.
        changing = [i for i, t in enumerate(inputs) if t.dtype.base_dtype is not resource]

        def arguments(values: tuple[Tensor, ...]) -> list[Tensor]:
            found = list(inputs)
            for i, value in zip(changing, values, strict=True):
                found[i] = value
            return found

        def following(*values: Tensor) -> list[Tensor]:
            found = call(step, arguments(values))
            return [found[i] for i in changing]

        results = while_loop(
            lambda *values: _as_bool(call(condition, arguments(values))[0]),
            following,
            [inputs[i] for i in changing],
            shape_invariants=[_invariant(inputs[i], node.outputs[i]) for i in changing],
            parallel_iterations=node.get_attr("parallel_iterations"),
            return_same_structure=True,
        )
        return arguments(tuple(results))

    return _gradient(node, f"__while_{step.name}", build, grads)


@gradient("For")
def _for(node: Operation, *grads: Any) -> list[Any]:
    step = _function(node, "body")

    def build(inputs: list[Tensor]) -> list[Tensor]:
        start, limit, delta, *values = inputs
        rising = op("GreaterEqual", delta, 0)

        def go_on(i: Tensor, *_: Tensor) -> Tensor:
            return op("SelectV2", rising, op("Less", i, limit), op("Greater", i, limit))

        def following(i: Tensor, *values: Tensor) -> list[Tensor]:
            return [op("AddV2", i, delta), *call(step, [i, *values])]

        return while_loop(
            go_on,
            following,
            [start, *values],
            shape_invariants=[(), *[None] * len(values)],
            return_same_structure=True,
        )[1:]

    return _gradient(node, f"__for_{step.name}", build, grads)


def _invariant(start: Tensor, end: Tensor) -> Any:
    """Returns what is known of the shapes of a variable in all iterations."""
    one, other = start._shape, end._shape
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple([m if m == n else None for m, n in zip(one, other, strict=True)])


def _function(node: Operation, attr: str) -> Any:
    name = node.get_attr(attr).name
    function = node.graph._get_function(name)
    if function is None:
        raise LookupError(f"{node.type} '{node.name}': function {name!r} is not in the graph")
    body_of(function, node.graph)
    return function


def _as_bool(value: Tensor) -> Tensor:
    """Returns whether a loop goes on: a value that is not bool counts as TensorFlow says."""
    if value.dtype.base_dtype.name == "bool":
        return value
    if value._shape not in (None, ()):
        return op("Greater", op("Size", value), 0)
    if value.dtype.base_dtype.name == "string":
        return op("Greater", op("StringLength", value), 0)
    return op("NotEqual", value, constant(0, value.dtype.base_dtype))


def _gradient(node: Operation, name: str, build: Any, grads: tuple[Any, ...]) -> list[Any]:
    with node.graph.as_default():
        graph = FuncGraph(name)
    with graph.as_default():
        for number, tensor in enumerate(node.inputs):
            inner = graph.add_input(tensor.dtype, tensor._shape, f"input_{number}")
            graph._keep_handle_data(inner, tensor)
        outputs = build(list(graph.inputs))
    body = FunctionBody(graph, graph.inputs, list(outputs), graph.get_operations())
    return apply_call_gradient(node, call_gradient(body, name), grads)
