"""Printing, checks for NaN and Inf, and timestamps at run time."""

from __future__ import annotations

import pprint
import sys
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.typing.aliases import TensorLike


def Print(  # noqa: N802 - TF's name
    input_: TensorLike,
    data: TensorLike,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns input_ unchanged, and prints tensors to standard error when it is computed.

    Args:
      input_: tensor to return.
      data: list of tensors to print.
      message: prefix of the output.
      first_n: print only the first n times; None prints always.
      summarize: number of elements to print of each tensor; 3 if None.
    """
    return op(
        "Print",
        input_,
        data,
        message=message or "",
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )


_PLACEHOLDER = (
    "\x1d"  # placeholder of a tensor in a template; a control character that no text contains
)


class _TensorPlaceholder:
    """Represents a tensor in a structure; its repr is the placeholder of the template."""

    def __init__(self, text: str = _PLACEHOLDER) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def print(*inputs: Any, **kwargs: Any) -> Operation:  # noqa: A001 - TF's name
    """Creates an operation that prints its inputs when it runs.

    Args:
      inputs: tensors, or structures of tensors and other objects.
      output_stream: sys.stderr (the default), sys.stdout, hr.logging.info, hr.logging.warning,
        hr.logging.error, or "file://PATH".
      summarize: number of elements to print at each end of each dimension, 3 by default; -1 prints
        all.
      sep, end: text between the inputs, and after the last.
      name: name of the operation.
    Raises: ValueError for another stream or keyword.
    """
    stream = _stream_name(kwargs.pop("output_stream", sys.stderr))
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    separator, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for hr.print: {kwargs}")
    templates: list[str] = []
    tensors: list[Any] = []
    for item in inputs:
        templates.append(_template(item, tensors))
    with name_scope(name or "print"):
        if len(inputs) == 1 and _is_line(inputs[0]):
            text: Any = inputs[0]
        else:
            text = op(
                "StringFormat",
                tensors,
                template=separator.join(templates),
                placeholder=_PLACEHOLDER,
                summarize=-1 if summarize is None else summarize,
            )
        return op("PrintV2", text, output_stream=stream, end=end)


def _is_line(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.base_dtype.name == "string" and x.shape.ndims == 0


def _template(item: Any, tensors: list[Any]) -> str:
    """Returns the template of one input, and appends its tensors to the list."""

    def shown(part: Any) -> Any:
        if isinstance(part, SparseTensor):
            tensors.extend([part.indices, part.values, part.dense_shape])
            return _TensorPlaceholder(
                f"SparseTensor(indices={_PLACEHOLDER}, values={_PLACEHOLDER}, shape={_PLACEHOLDER})"
            )
        if isinstance(part, Tensor) or hasattr(part, "_as_graph_element"):
            tensors.append(convert_to_tensor(part))
            return _TensorPlaceholder()
        return part

    if isinstance(item, str):
        return item
    result = nest.map_structure(shown, item)
    return pprint.pformat(result)


def _stream_name(stream: Any) -> str:
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    from headrace.graph.platform import logging

    known = {
        id(sys.stdout): "stdout",
        id(sys.stderr): "stderr",
        id(logging.info): "log(info)",
        id(logging.warning): "log(warning)",
        id(logging.warn): "log(warning)",
        id(logging.error): "log(error)",
    }
    if id(stream) in known:
        return known[id(stream)]
    if stream in ("stdout", "stderr", "log(info)", "log(warning)", "log(error)"):
        return stream
    raise ValueError(
        "hr.print: output_stream must be sys.stdout, sys.stderr, hr.logging.info, .warning, "
        f".error or 'file://PATH', got {stream!r}"
    )


# ---- checks --------------------------------------------------------------------------------


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Returns the tensor; a run fails with InvalidArgumentError if an element is NaN or Inf."""
    return op("CheckNumerics", tensor, message=message, name=name)


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """Same as check_numerics, its old name."""
    value = t if x is None else x
    with name_scope(name or "VerifyFinite"):
        value = convert_to_tensor(value, name="t")
        with get_default_graph().colocate_with(value.op):
            checked = check_numerics(value, message=(msg if message is None else message) or "")
            with control_dependencies([checked]):
                return op("Identity", value)


def add_check_numerics_ops() -> Operation:
    """Creates an operation that checks all floating-point tensors of the graph, in order.

    Raises: ValueError if the graph contains a cond or while_loop.
    """
    checks: list[Tensor] = []
    graph = get_default_graph()
    for node in list(graph.get_operations()):
        for output in node.outputs:
            if output.dtype.base_dtype.name not in ("float16", "float32", "float64"):
                continue
            if node._get_control_flow_context() is not None:
                raise ValueError(
                    "add_check_numerics_ops does not work with cond or while_loop: "
                    f"{node.name} is in one; use check_numerics there"
                )
            with control_dependencies(checks[-1:]):
                checks.append(check_numerics(output, f"{node.name}:{output.value_index}"))
    from headrace.graph.control_flow.control_flow_ops import group

    return group(*checks[-1:])


def timestamp(name: str | None = None) -> Tensor:
    """Returns the time of the run in seconds since 1970, [] float64."""
    return op("Timestamp", name=name)


# ---- gradients -----------------------------------------------------------------------------


@gradient("CheckNumerics")
def _check_gradient(node: Operation, grad: Tensor) -> Any:
    parts = node.get_attr("message")
    message = parts.decode() if isinstance(parts, bytes) else parts
    return check_numerics(
        grad, f"Not a number (NaN) or infinity (Inf) values detected in gradient of {message}"
    )


gradient("CheckNumericsV2")(_check_gradient)


@gradient("Print")
def _print_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [grad, *[None] * (len(node.inputs) - 1)]


no_gradient("PrintV2", "it only prints")
no_gradient("Timestamp", "its output is the time")
no_gradient("Assert", "it only checks a condition")
