"""Gradients of the ops of arrays.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.arrays.joining import concat


def _register_identity_gradient(op_type: str) -> None:
    @gradient(op_type)
    def passing(node: Operation, grad: Tensor) -> Any:
        return grad


for _op_type in (
    "Identity",
    "PlaceholderWithDefault",
    "GuaranteeConst",
    "Snapshot",
    "DeepCopy",
    "EnsureShape",
    "RefIdentity",
    "DebugGradientIdentity",
):
    _register_identity_gradient(_op_type)


@gradient("IdentityN")
def _identity_n_gradient(node: Operation, *grads: Any) -> list[Any]:
    return list(grads)


@gradient("PreventGradient")
def _prevent_gradient(node: Operation, grad: Tensor) -> None:
    message = node.get_attr("message")
    raise LookupError(
        f"PreventGradient '{node.name}': "
        f"{message.decode() if isinstance(message, bytes) else message}"
    )


@gradient("Fill")
def _fill_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [None, op("Sum", grad, op("Range", 0, op("Rank", grad), 1))]


def _register_reshape_gradient(op_type: str) -> None:
    @gradient(op_type)
    def reshaping(node: Operation, grad: Any) -> list[Any]:
        back = op("Reshape", convert_to_tensor(grad), op("Shape", node.inputs[0]))
        return [back] + [None] * (len(node.inputs) - 1)


for _op_type in ("Reshape", "ExpandDims", "Squeeze"):
    _register_reshape_gradient(_op_type)


@gradient("BroadcastTo")
def _broadcast_to_gradient(node: Operation, grad: Tensor) -> list[Any]:
    shape_x = op("Shape", node.inputs[0])
    axes = op("BroadcastGradientArgs", shape_x, op("Shape", grad))[0]
    return [op("Reshape", op("Sum", grad, axes), shape_x), None]


@gradient("Tile")
def _tile_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Reshapes each dimension to (multiple, size), and sums over the multiples."""
    x, multiples = node.inputs
    shape_x = op("Shape", x, out_type=multiples.dtype.base_dtype)
    pairs = op("Reshape", op("Pack", [multiples, shape_x], axis=1), [-1])
    split_shape = pairs
    axes = op("Range", 0, op("Size", pairs), 2)
    return [op("Sum", op("Reshape", convert_to_tensor(grad), split_shape), axes), None]


@gradient("Transpose")
def _transpose_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("Transpose", grad, op("InvertPermutation", node.inputs[1])), None]


@gradient("ConjugateTranspose")
def _conjugate_transpose_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("ConjugateTranspose", grad, op("InvertPermutation", node.inputs[1])), None]


def _concat_gradients(values: list[Tensor], axis: Tensor, grad: Any) -> list[Any]:
    if len(values) == 1:
        return [grad]
    if isinstance(grad, IndexedSlices):
        grad = convert_to_tensor(grad)
    number = constant_value(axis)
    sizes: list[Any] | None = None
    if number is not None and all(v._shape is not None for v in values):  # noqa: SLF001
        sizes = [(v._shape or ())[int(number)] for v in values]  # noqa: SLF001
    if sizes is not None and None not in sizes:
        return list(
            op(
                "SplitV",
                grad,
                np.array(sizes, np.int64),
                op("Cast", axis, DstT="int32") if axis.dtype.base_dtype.name != "int32" else axis,
                num_split=len(values),
            )
        )
    if axis.dtype.base_dtype.name != "int32":
        axis = op("Cast", axis, DstT="int32")
    axis = op("FloorMod", axis, op("Rank", values[0]))
    shapes = list(op("ShapeN", values))
    starts = op("ConcatOffset", axis, shapes)
    return [op("Slice", grad, start, size) for start, size in zip(starts, shapes, strict=True)]


@gradient("ConcatV2")
def _concat_v2_gradient(node: Operation, grad: Any) -> list[Any]:
    return [*_concat_gradients(list(node.inputs[:-1]), node.inputs[-1], grad), None]


@gradient("Concat")
def _concat_gradient(node: Operation, grad: Any) -> list[Any]:
    return [None, *_concat_gradients(list(node.inputs[1:]), node.inputs[0], grad)]


@gradient("Pack")
def _pack_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    return list(op("Unpack", grad, num=len(node.inputs), axis=node.get_attr("axis")))


gradient("ParallelConcat")(
    lambda node, grad: list(op("Split", 0, grad, num_split=len(node.inputs)))
)


@gradient("Unpack")
def _unpack_gradient(node: Operation, *grads: Tensor) -> Tensor:
    return op("Pack", list(grads), axis=node.get_attr("axis"))


@gradient("Split")
def _split_gradient(node: Operation, *grads: Tensor) -> list[Any]:
    return [None, concat(list(grads), node.inputs[0])]


@gradient("SplitV")
def _split_v_gradient(node: Operation, *grads: Tensor) -> list[Any]:
    return [concat(list(grads), node.inputs[2]), None, None]


def _pad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    x, paddings = node.inputs[:2]
    before = op("Slice", paddings, [0, 0], op("Pack", [op("Rank", x), 1]))
    begin = op("Reshape", before, [-1])
    size = op("Shape", x, out_type=begin.dtype.base_dtype)
    rest: list[Any] = [None]
    if node.type == "PadV2":
        inside = op("Slice", grad, begin, size)
        rest.append(_total(grad) - _total(inside))
        return [inside, *rest]
    return [op("Slice", grad, begin, size), *rest]


def _total(x: Tensor) -> Tensor:
    return op("Sum", x, op("Range", 0, op("Rank", x), 1))


gradient("Pad")(_pad_gradient)
gradient("PadV2")(_pad_gradient)


@gradient("MirrorPad")
def _mirror_pad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    mode = node.get_attr("mode")
    return [op("MirrorPadGrad", grad, node.inputs[1], mode=mode), None]


@gradient("MirrorPadGrad")
def _mirror_pad_grad_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("MirrorPad", grad, node.inputs[1], mode=node.get_attr("mode")), None]


@gradient("ReverseV2")
def _reverse_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("ReverseV2", grad, node.inputs[1]), None]


@gradient("Reverse")
def _reverse_v1_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("Reverse", grad, node.inputs[1]), None]


@gradient("ReverseSequence")
def _reverse_sequence_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [
        op(
            "ReverseSequence",
            grad,
            node.inputs[1],
            seq_dim=node.get_attr("seq_dim"),
            batch_dim=node.get_attr("batch_dim"),
        ),
        None,
    ]


@gradient("Roll")
def _roll_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("Roll", grad, op("Neg", node.inputs[1]), node.inputs[2]), None, None]


@gradient("SpaceToDepth")
def _space_to_depth_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op(
        "DepthToSpace",
        grad,
        block_size=node.get_attr("block_size"),
        data_format=node.get_attr("data_format"),
    )


@gradient("DepthToSpace")
def _depth_to_space_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op(
        "SpaceToDepth",
        grad,
        block_size=node.get_attr("block_size"),
        data_format=node.get_attr("data_format"),
    )


@gradient("SpaceToBatchND")
def _space_to_batch_nd_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("BatchToSpaceND", grad, node.inputs[1], node.inputs[2]), None, None]


@gradient("BatchToSpaceND")
def _batch_to_space_nd_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("SpaceToBatchND", grad, node.inputs[1], node.inputs[2]), None, None]


@gradient("SpaceToBatch")
def _space_to_batch_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("BatchToSpace", grad, node.inputs[1], block_size=node.get_attr("block_size")), None]


@gradient("BatchToSpace")
def _batch_to_space_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("SpaceToBatch", grad, node.inputs[1], block_size=node.get_attr("block_size")), None]


@gradient("Diag")
def _diag_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("DiagPart", grad)


@gradient("DiagPart")
def _diag_part_gradient(node: Operation, grad: Tensor) -> Tensor:
    return op("Diag", grad)


@gradient("InplaceUpdate")
def _inplace_update_gradient(node: Operation, grad: Tensor) -> list[Any]:
    i = node.inputs[1]
    rest = op("InplaceUpdate", grad, i, op("ZerosLike", node.inputs[2]))
    return [rest, None, op("GatherV2", grad, i, 0)]


@gradient("InplaceAdd")
def _inplace_add_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, op("GatherV2", grad, node.inputs[1], 0)]


@gradient("InplaceSub")
def _inplace_sub_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, op("Neg", op("GatherV2", grad, node.inputs[1], 0))]


@gradient("ZerosLike")
def _zeros_like_gradient(node: Operation, grad: Tensor) -> None:
    return None


@gradient("OnesLike")
def _ones_like_gradient(node: Operation, grad: Tensor) -> None:
    return None


@gradient("StopGradient")
def _stop_gradient_gradient(node: Operation, grad: Tensor) -> None:
    return None


for _op_type in (
    "Shape",
    "ShapeN",
    "Size",
    "Rank",
    "BroadcastArgs",
    "BroadcastGradientArgs",
    "ConcatOffset",
    "InvertPermutation",
    "UnravelIndex",
    "DataFormatDimMap",
    "DataFormatVecPermute",
    "Where",
    "ListDiff",
    "LowerBound",
    "UpperBound",
):
    no_gradient(_op_type, "its output is a shape or an index")
for _op_type in ("Const", "ImmutableConst", "Placeholder", "PlaceholderV2", "Empty"):
    no_gradient(_op_type, "it has no input")
for _op_type in ("Range", "LinSpace", "OneHot"):
    no_gradient(_op_type, "TensorFlow defines none")
for _op_type in ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"):
    no_gradient(_op_type, "TensorFlow defines none")
no_gradient("TileGrad", "the gradient of Tile uses other ops")
no_gradient("DebugGradientRefIdentity", "a reference has no gradient")
