"""Summaries of tensors, collections and activations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.elementwise.elementwise import cast, greater, less, to_float
from headrace.graph.ops.reduction import reduce_mean
from headrace.graph.summary.summaries import histogram, scalar
from headrace.graph.variables.variable import Variable


def summarize_tensor(tensor: Tensor | Variable, tag: str | None = None) -> Tensor | None:
    """Adds a scalar summary of a scalar, or a histogram of another tensor.

    Args:
      tag: name of the summary; by default that of the tensor's operation.
    Returns: the summary; None for strings and bools.
    """
    if tensor.dtype.base_dtype.name in ("string", "bool"):
        return None
    add = scalar if tensor.get_shape().ndims == 0 else histogram
    return add(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Operation | Tensor) -> Tensor:
    """Adds a histogram of an activation, and what part of its inputs Relu and Relu6 cut off.

    Returns: the histogram.
    """
    node = op if isinstance(op, Operation) else op.op
    if node.type in ("Relu", "Softplus", "Relu6"):
        _add_fraction(less, node, 0.0, "zeros")
    if node.type == "Relu6":
        _add_fraction(greater, node, 6.0, "sixes")
    return histogram(f"{node.name}/activation", node.outputs[0])


def _add_fraction(compare: Callable[..., Tensor], node: Operation, bound: float, what: str) -> None:
    """Adds a summary of the part of the inputs beyond a bound; rounding does not change it."""
    x = node.inputs[0]
    beyond = compare(x, cast(bound, x.dtype.base_dtype))
    scalar(f"{node.name}/{what}", reduce_mean(to_float(beyond)))


def summarize_tensors(
    tensors: Sequence[Any], summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Applies a summarizer to each of some tensors."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str,
    name_filter: str | None = None,
    summarizer: Callable[[Any], Any] = summarize_tensor,
) -> list[Any]:
    """Applies a summarizer to the tensors of a collection.

    Args:
      name_filter: regular expression that the names must match.
    """
    held = get_default_graph().get_collection(collection)
    return summarize_tensors(
        [t for t in held if name_filter is None or re.match(name_filter, t.op.name)], summarizer
    )


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """Summarises the tensors of GraphKeys.ACTIVATIONS; see summarize_collection."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)


def summarize_variables(name_filter: str | None = None) -> list[Any]:
    """Summarises the global variables; see summarize_collection."""
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter)


def summarize_weights(name_filter: str | None = None) -> list[Any]:
    """Summarises the tensors of GraphKeys.WEIGHTS; see summarize_collection."""
    return summarize_collection(GraphKeys.WEIGHTS, name_filter)


def summarize_biases(name_filter: str | None = None) -> list[Any]:
    """Summarises the tensors of GraphKeys.BIASES; see summarize_collection."""
    return summarize_collection(GraphKeys.BIASES, name_filter)
