"""Summaries of tensors, collections and activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.clipping import zero_fraction
from headrace.graph.summary.summaries import histogram, scalar
from headrace.graph.variables.variable import Variable


def summarize_tensor(tensor: Tensor | Variable, tag: str | None = None) -> Tensor | None:
    """Adds a scalar summary of a scalar, or a histogram of another tensor.

    Args:
      tag: name of the summary; by default that of the tensor's operation.
    Returns: the summary; None if the tensor cannot be summarised or the name is taken.
    """
    dtype = tensor.dtype.base_dtype
    if not (dtype.is_floating or dtype.is_integer):
        return None
    add = scalar if tensor.get_shape().ndims == 0 else histogram
    return _added(add, tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Operation | Tensor) -> Tensor | None:
    """Adds a histogram of an activation, and the fraction of zeros of Relu and Relu6.

    Returns: the histogram; None if the name is taken.
    """
    name, kind = (op.op.name, op.op.type) if isinstance(op, Tensor) else (op.name, op.type)
    value = op if isinstance(op, Tensor) else op.outputs[0]
    if kind in ("Relu", "Softplus", "Relu6"):
        _added(lambda tag, t: scalar(tag, zero_fraction(t)), f"{name}/zeros", value)
    if kind == "Relu6":
        _added(lambda tag, t: scalar(tag, zero_fraction(t - 6.0)), f"{name}/sixes", value)
    return _added(histogram, f"{name}/activation", value)


def _added(add: Callable[[str, Any], Tensor], tag: str, value: Any) -> Tensor | None:
    """Adds a summary unless the collection has one of this tag."""
    held = get_default_graph().get_collection(GraphKeys.SUMMARIES)
    if any(getattr(summary, "op", summary).name == tag for summary in held):
        return None
    return add(tag, value)


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
    return summarize_tensors(
        get_default_graph().get_collection(collection, name_filter), summarizer
    )


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """Summarises the tensors of GraphKeys.ACTIVATIONS; see summarize_collection."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)


def summarize_variables(name_filter: str | None = None) -> list[Any]:
    """Summarises the trainable variables; see summarize_collection."""
    return summarize_collection(GraphKeys.TRAINABLE_VARIABLES, name_filter)


def summarize_weights(name_filter: str | None = None) -> list[Any]:
    """Summarises the tensors of GraphKeys.WEIGHTS; see summarize_collection."""
    return summarize_collection(GraphKeys.WEIGHTS, name_filter)


def summarize_biases(name_filter: str | None = None) -> list[Any]:
    """Summarises the tensors of GraphKeys.BIASES; see summarize_collection."""
    return summarize_collection(GraphKeys.BIASES, name_filter)
