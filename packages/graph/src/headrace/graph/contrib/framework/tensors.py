"""Checks and conversions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import graph_of, name_scope
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.layers.smart_cond import known
from headrace.graph.losses.weight_broadcasting import squeeze_to_match
from headrace.graph.ops.assertions import assert_equal, assert_scalar
from headrace.graph.ops.elementwise.elementwise import add_n
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.typing.aliases import ShapeLike, TensorLike


def assert_scalar_int(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns the tensor if it is an integer scalar.

    Raises: ValueError for another dtype or shape.
    """
    with name_scope(name, "assert_scalar_int", [tensor]) as scope:
        result = convert_to_tensor(tensor)
        if not result.dtype.base_dtype.is_integer:
            raise ValueError(
                f"Expected integer type for {result.name}, received type: {result.dtype}."
            )
        return assert_scalar(result, name=scope)


def reduce_sum_n(tensors: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Returns the sum of all elements of some tensors, [].

    Raises: ValueError without tensors.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [reduce_sum(t, name=f"t{i}/sum") for i, t in enumerate(tensors)]
        return sums[0] if len(sums) == 1 else add_n(sums, name=scope)


def remove_squeezable_dimensions(
    predictions: TensorLike, labels: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Removes the last dimension of predictions or labels if it is 1 and their ranks differ by 1.

    Returns: predictions and labels, [...] of equal rank where the ranks are known.
    """
    with name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        found = squeeze_to_match(labels, predictions)
        return found[1], found[0]


def with_shape(expected_shape: ShapeLike | Tensor, tensor: TensorLike) -> Tensor:
    """Returns the tensor with a static shape, checked when it runs where it cannot be before.

    Raises: ValueError if the static shapes are incompatible.
    """
    result = convert_to_tensor(tensor)
    if isinstance(expected_shape, Tensor):
        check = assert_equal(op("Shape", result, out_type=expected_shape.dtype), expected_shape)
        with get_default_graph().control_dependencies([check]):
            return op("Identity", result)
    shape = as_shape(expected_shape)
    found = result.get_shape()
    if not found.is_compatible_with(shape):
        raise ValueError(f"Incompatible static shapes for {result.name}: {found} and {shape}.")
    if found.is_fully_defined() or shape.ndims is None:
        return result
    result = op("EnsureShape", result, shape=shape)
    return result


def with_same_shape(expected_tensor: TensorLike, tensor: TensorLike) -> Tensor:
    """Returns the tensor, which must have the shape of another one; see with_shape."""
    expected = convert_to_tensor(expected_tensor)
    shape = expected.get_shape()
    if shape.is_fully_defined():
        return with_shape(shape, tensor)
    return with_shape(op("Shape", expected), tensor)


def get_graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """Returns the graph of some tensors and operations, or the default graph without any.

    Raises: ValueError if they are in different graphs, or not in the given one.
    """
    found = graph
    for value in op_input_list:
        owner = graph_of([value])
        if owner is None:
            continue
        if found is not None and owner is not found:
            raise ValueError(f"{value} is not from the passed-in graph.")
        found = owner
    return found or get_default_graph()


def get_placeholders(graph: Graph) -> list[Tensor]:
    """Returns the placeholders of a graph, in order of creation."""
    return [o.outputs[0] for o in graph.get_operations() if o.type == "Placeholder"]


def get_name_scope() -> str:
    """Returns the current name scope, without its last slash."""
    return get_default_graph().get_name_scope()


def smart_constant_value(pred: TensorLike) -> bool | None:
    """Returns the truth value of a predicate if it is known when the graph is built.

    Args:
      pred: bool, 0, 1, or a bool tensor.
    Returns: True, False, or None if it is unknown.
    Raises: TypeError for another value.
    """
    if isinstance(pred, Tensor) or hasattr(pred, "_as_tensor") or isinstance(pred, bool):
        return known(pred)
    if isinstance(pred, int) and pred in (0, 1):
        return bool(pred)
    raise TypeError(
        f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}"
    )


def smart_cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Returns true_fn() or false_fn(); adds a cond with both only if the predicate is unknown.

    Raises: TypeError for functions that are not callable.
    """
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    truth = smart_constant_value(pred)
    if truth is not None:
        return true_fn() if truth else false_fn()
    return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


def smart_case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """Same as case, without conditionals where all predicates are known.

    Raises: as case.
    """
    from headrace.graph.control_flow.case import case

    pairs = list(pred_fn_pairs.items() if hasattr(pred_fn_pairs, "items") else pred_fn_pairs)
    truths = [smart_constant_value(pred) for pred, _ in pairs]
    for truth, (_, function) in zip(truths, pairs):
        if truth is None:
            break
        if truth:
            return function()
    else:
        if default is not None:
            return default()
    return case(pred_fn_pairs, default=default, exclusive=exclusive, name=name)
