"""slice, strided_slice and their gradients."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.builder.slice_syntax import with_assign
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import Ints, TensorLike

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def slice(
    input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None
) -> Tensor:  # noqa: A001
    """Returns size[i] elements from begin[i] on in dimension i; size -1 extends to the end."""
    return op("Slice", input_, begin, size, name=name)


def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: Ints | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns a strided slice, as Python's slice syntax.

    Args:
      input_: [...] any dtype.
      begin, end, strides: [n] ints, one per position of the index expression.
      begin_mask, end_mask: bit i: begin[i] or end[i] is ignored.
      ellipsis_mask, new_axis_mask: bit i: position i is an ellipsis or a new axis.
      shrink_axis_mask: bit i: position i selects one element, and the dimension is removed.
      var: the sliced variable, if any: the result's method `assign` writes into it.
    """
    if strides is None:
        count_nodes(2)  # the shape of the ones, and their value
        strides = op("OnesLike", convert_to_tensor(begin))
    masks = dict(
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )
    result = op("StridedSlice", input_, begin, end, strides, name=name, **masks)
    return with_assign(result, var, [begin, end, strides], masks, name)


@gradient("Slice")
def _slice_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Pads the gradient with zeros to the shape of the input."""
    x, begin = node.inputs[:2]
    with name_scope("pad"):
        index = begin.dtype.base_dtype
        shape = op("Shape", x, out_type=index)
        after = shape - op("Shape", node.outputs[0], out_type=index) - begin
        return [op("Pad", grad, op("Pack", [begin, after], axis=1)), None, None]


@gradient("StridedSlice")
def _strided_slice_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, begin, end, strides = node.inputs
    index = begin.dtype.base_dtype
    if index.name not in ("int32", "int64"):
        begin, end, strides = (op("Cast", t, DstT="int32") for t in (begin, end, strides))
        index = begin.dtype.base_dtype
    masks = {mask: node.get_attr(mask) for mask in _MASKS}
    result = op(
        "StridedSliceGrad", op("Shape", x, out_type=index), begin, end, strides, grad, **masks
    )
    return [result, None, None, None]


@gradient("StridedSliceGrad")
def _strided_slice_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    _, begin, end, strides, _ = node.inputs
    masks = {mask: node.get_attr(mask) for mask in _MASKS}
    return [None, None, None, None, op("StridedSlice", grad, begin, end, strides, **masks)]


@gradient("TensorStridedSliceUpdate")
def _update_gradient(node: Operation, grad: Tensor) -> list[Any]:
    _, begin, end, strides, value = node.inputs
    masks = {mask: node.get_attr(mask) for mask in _MASKS}
    rest = op(
        "TensorStridedSliceUpdate", grad, begin, end, strides, op("ZerosLike", value), **masks
    )
    return [rest, None, None, None, op("StridedSlice", grad, begin, end, strides, **masks)]


for _op_type in ("StridedSliceAssign", "ResourceStridedSliceAssign"):
    no_gradient(_op_type, "it changes a variable")
