"""Gradients of the ops of TensorArrays.

The gradient of what is read or gathered is written to a gradient array, and the gradient of what
was written or scattered is read from it. Both find the array by the name of the call of
`gradients`, so that two calls do not add up. The gradient of a flow is a flow: it orders the writes
of gradients before the reads.
"""

from __future__ import annotations

from typing import Any

from headrace.graph.autodiff.gradient_calls import gradient_call_name
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with

for _version in ("V2", "V3"):
    for _kind in ("", "Grad"):
        no_gradient(f"TensorArray{_kind}{_version}", "its output is a handle")
    no_gradient(f"TensorArrayClose{_version}", "it closes a handle and has no output")
    no_gradient(f"TensorArraySize{_version}", "its output is a count")
no_gradient("TensorArrayGradWithShape", "its output is a handle")


def _gradient_array(operation: Operation, flow: Tensor) -> tuple[Tensor, str]:
    """Returns the handle of the gradient array of an operation's array, and the ops' version.

    Args:
      flow: what must have run before: for a read, everything that was written before it; for a
        write, the writes of gradients.
    """
    version = operation.type[-2:]
    handle = operation.inputs[0]
    with colocate_with(handle):
        found = op(f"TensorArrayGrad{version}", handle, flow, source=gradient_call_name())
    return (found if isinstance(found, Tensor) else found[0]), version


def _register(version: str) -> None:
    gradient(f"TensorArrayRead{version}")(_read)
    gradient(f"TensorArrayWrite{version}")(_write)
    gradient(f"TensorArrayGather{version}")(_gather)
    gradient(f"TensorArrayScatter{version}")(_scatter)
    gradient(f"TensorArrayConcat{version}")(_concat)
    gradient(f"TensorArraySplit{version}")(_split)


def _read(operation: Operation, grad: Any) -> list[Any]:
    _, index, flow = operation.inputs
    handle, version = _gradient_array(operation, flow)
    return [None, None, op(f"TensorArrayWrite{version}", handle, index, _dense(grad), flow)]


def _write(operation: Operation, flow: Tensor) -> list[Any]:
    _, index, value, _ = operation.inputs
    handle, version = _gradient_array(operation, flow)
    dtype = value.dtype.base_dtype
    grad = op(f"TensorArrayRead{version}", handle, index, flow, dtype=dtype)
    grad.set_shape(value.get_shape())
    return [None, None, grad, flow]


def _gather(operation: Operation, grad: Any) -> list[Any]:
    _, indices, flow = operation.inputs
    handle, version = _gradient_array(operation, flow)
    return [None, None, op(f"TensorArrayScatter{version}", handle, indices, _dense(grad), flow)]


def _scatter(operation: Operation, flow: Tensor) -> list[Any]:
    _, indices, value, _ = operation.inputs
    handle, version = _gradient_array(operation, flow)
    grad = op(
        f"TensorArrayGather{version}",
        handle,
        indices,
        flow,
        dtype=value.dtype.base_dtype,
        element_shape=_rows(value),
    )
    grad.set_shape(value.get_shape())
    return [None, None, grad, flow]


def _concat(operation: Operation, grad: Any, _: Any) -> list[Any]:
    flow = operation.inputs[1]
    handle, version = _gradient_array(operation, flow)
    lengths = operation.outputs[1]
    return [None, op(f"TensorArraySplit{version}", handle, _dense(grad), lengths, flow)]


def _split(operation: Operation, flow: Tensor) -> list[Any]:
    value = operation.inputs[1]
    handle, version = _gradient_array(operation, flow)
    grad = op(
        f"TensorArrayConcat{version}",
        handle,
        flow,
        dtype=value.dtype.base_dtype,
        element_shape_except0=_rows(value),
    )[0]
    grad.set_shape(value.get_shape())
    return [None, grad, None, flow]


def _dense(grad: Any) -> Tensor:
    return convert_to_tensor(grad)


def _rows(value: Tensor) -> Any:
    shape = value.get_shape()
    return None if shape.ndims is None else shape.as_list()[1:]


_register("V2")
_register("V3")
