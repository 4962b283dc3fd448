"""Gradients of tensor lists, the loop variables of functional loops and of gradients of loops.

The gradient of a list is a list of the gradients of its items.
"""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import variant
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, gradient_not_implemented, no_gradient
from headrace.graph.framework.operation import Operation, Tensor

for _kind in "Length ElementShape".split():
    no_gradient(f"TensorList{_kind}", "its output is a size")
no_gradient("EmptyTensorList", "it creates an empty list")
no_gradient("TensorListReserve", "it creates an empty list")
for _kind in (
    "PushBackBatch",
    "Scatter",
    "ScatterV2",
    "ScatterIntoExistingList",
    "Concat",
    "ConcatLists",
):
    gradient_not_implemented(
        f"TensorList{_kind}", "push, set or concatenate (TensorListConcatV2) items instead"
    )


def _is_differentiable(tensor: Tensor) -> bool:
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or dtype is variant


def _element_shape(tensor: Tensor) -> Tensor:
    shape = tensor._shape
    if shape is None:
        return constant(-1)
    return constant([-1 if d is None else d for d in shape], "int32", [len(shape)])


@gradient("TensorListPushBack")
def _push(operation: Operation, grad: Any) -> list[Any]:
    item = operation.inputs[1]
    if not _is_differentiable(item):
        return [None, None]
    return list(
        op("TensorListPopBack", grad, _element_shape(item), element_dtype=item.dtype.base_dtype)
    )


@gradient("TensorListPopBack")
def _pop(operation: Operation, grad: Any, item_grad: Any) -> list[Any]:
    item = operation.outputs[1]
    if not _is_differentiable(item):
        return [None, None]
    if grad is None:
        grad = op("ZerosLike", operation.outputs[0])
    if item_grad is None:
        item_grad = op("ZerosLike", item)
    return [op("TensorListPushBack", grad, item_grad), None]


@gradient("TensorListFromTensor")
def _from_tensor(operation: Operation, grad: Any) -> list[Any]:
    tensor = operation.inputs[0]
    found = op("TensorListStack", grad, _row_shape(tensor), element_dtype=tensor.dtype.base_dtype)
    return [found, None]


@gradient("TensorListStack")
@gradient("TensorListGather")
def _stack(operation: Operation, grad: Any) -> list[Any]:
    shape = operation.inputs[-1]
    if operation.type == "TensorListStack":
        return [op("TensorListFromTensor", grad, shape), None]
    handle, indices, _ = operation.inputs
    # An item that was gathered twice gets both gradients.
    rows = op("UnsortedSegmentSum", grad, indices, op("TensorListLength", handle))
    found = op("TensorListFromTensor", rows, shape)
    return [found, None, None]


@gradient("TensorListConcatV2")
def _concat(operation: Operation, grad: Any, _: Any) -> list[Any]:
    shape, lengths = operation.inputs[1], operation.outputs[1]
    return [op("TensorListSplit", grad, shape, lengths), None, None]


@gradient("TensorListSplit")
def _split(operation: Operation, grad: Any) -> list[Any]:
    tensor, shape, lengths = operation.inputs
    found = op(
        "TensorListConcatV2", grad, shape, lengths, element_dtype=tensor.dtype.base_dtype
    ).tensor
    found.set_shape(tensor.shape)
    return [found, None, None]


@gradient("TensorListGetItem")
def _get_item(operation: Operation, grad: Any) -> list[Any]:
    handle, index, _ = operation.inputs
    zeros = op("ZerosLike", handle)
    return [op("TensorListSetItem", zeros, index, grad), None, None]


@gradient("TensorListSetItem")
def _set_item(operation: Operation, grad: Any) -> list[Any]:
    _, index, item = operation.inputs
    shape = _element_shape(item)
    found = op("TensorListGetItem", grad, index, shape, element_dtype=item.dtype.base_dtype)
    zeros = op("ZerosLike", item)
    return [op("TensorListSetItem", grad, index, zeros), None, found]


@gradient("TensorListResize")
def _resize(operation: Operation, grad: Any) -> list[Any]:
    return [op("TensorListResize", grad, op("TensorListLength", operation.inputs[0])), None]


def _row_shape(tensor: Tensor) -> Tensor:
    shape = tensor._shape
    if shape is None:
        return constant(-1)
    return constant([-1 if d is None else d for d in shape[1:]], "int32", [len(shape) - 1])
