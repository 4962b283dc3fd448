"""space_to_batch, batch_to_space, and dilated windows by means of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import ShapeLike, TensorLike


def space_to_batch(
    input: TensorLike,  # noqa: A002 - TF's name
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Moves spatial blocks to the batch dimension.

    Args:
      input: [batch, height, width, channels].
      paddings: [2, 2] numbers of zeros before and after height and width.
      block_size: size of the blocks in both dimensions.
      block_shape: [2] sizes of the blocks, instead of block_size.
    Raises: ValueError without block_size and block_shape.
    """
    return op("SpaceToBatchND", input, _block(block_size, block_shape), paddings, name=name)


def batch_to_space(
    input: TensorLike,  # noqa: A002 - TF's name
    crops: TensorLike,
    block_size: int,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """Inverts space_to_batch, and crops the result. Raises: as space_to_batch."""
    return op("BatchToSpaceND", input, _block(block_size, block_shape), crops, name=name)


def _block(size: Any, shape: Any) -> Any:
    if shape is not None:
        return shape
    if size is None:
        raise ValueError("block_size or block_shape is needed")
    return constant([size, size])


def required_space_to_batch_paddings(
    input_shape: ShapeLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the paddings to whole blocks, and the crops that remove them.

    Args:
      input_shape: [n] int32, the spatial dimensions.
      block_shape: [n] int32.
      base_paddings: [n, 2] int32, minimum paddings; zeros by default.
    Returns: paddings [n, 2], crops [n, 2].
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes = convert_to_tensor(input_shape, dtype="int32", name="input_shape")
        blocks = convert_to_tensor(block_shape, dtype="int32", name="block_shape")
        known = [constant_value(t) for t in (sizes, blocks)]
        if base_paddings is None:
            zeros = op("ZerosLike", blocks)
            base = op("Pack", [zeros, zeros], axis=1)
        else:
            base = convert_to_tensor(base_paddings, dtype="int32", name="base_paddings")
        known.append(constant_value(base))
        if all(v is not None for v in known):
            start, end = known[2][:, 0], known[2][:, 1]
            more = -(known[0] + start + end) % known[1]
            pads = np.stack([start, end + more], 1)
            crops = np.stack([np.zeros_like(more), more], 1)
            return (
                constant(pads, dtype="int32", name="paddings"),
                constant(crops, dtype="int32", name="crops"),
            )
        dims = (blocks.get_shape().as_list() or [None])[0] or 0
        count_nodes(5 + 15 * dims)  # TensorFlow 1.15 takes the vectors apart
        start_, end_ = op("Unpack", base, num=2, axis=1)
        full = sizes + start_ + end_
        extra = op("FloorMod", blocks - op("FloorMod", full, blocks), blocks)
        return (
            op("Pack", [start_, end_ + extra], axis=1, name="paddings"),
            op("Pack", [op("ZerosLike", extra), extra], axis=1, name="crops"),
        )


def with_space_to_batch(
    input: TensorLike,  # noqa: A002 - TF's name
    dilation_rate: TensorLike,
    padding: str,
    op: Callable[..., Tensor],  # noqa: A002 - TF's name
    filter_shape: TensorLike | None = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Tensor:
    """Applies a windowed op with dilation: op sees every dilation_rate-th element.

    Args:
      input: [batch, spatial..., channels], or channels first by data_format.
      dilation_rate: [n] static ints.
      padding: "VALID" or "SAME".
      op: `f(input, num_spatial_dims, padding) -> Tensor`.
      filter_shape: [n, ...] shape of the windows; required for "SAME".
      spatial_dims: the n spatial dimensions; by default all but batch and channels.
      data_format: None or "N...C" for channels last, "NC..." for channels first.
    Raises: ValueError for "SAME" without filter_shape.
    """
    x = convert_to_tensor(input, name="input")
    rate = np.asarray(constant_value(convert_to_tensor(dilation_rate, dtype="int32")))
    n = len(rate)
    first = data_format is not None and data_format.startswith("NC")
    dims = list(spatial_dims) if spatial_dims is not None else [i + 1 + first for i in range(n)]
    if (rate == 1).all():
        return op(x, n, padding)
    base = np.zeros([n, 2], np.int32)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be given for SAME padding")
        window = np.asarray(constant_value(convert_to_tensor(filter_shape)))[:n]
        extra = (window - 1) * rate
        base = np.stack([extra // 2, extra - extra // 2], 1)
    sizes = _sizes(x, dims)
    pads, crops = required_space_to_batch_paddings(sizes, rate, base)
    before = min(dims) - 1
    blocks = constant(np.concatenate([np.ones(before, np.int32), rate]), dtype="int32")
    spread = space_to_batch(x, _add_batch_paddings(pads, before), block_shape=blocks)
    result = op(spread, n, "VALID")
    return batch_to_space(result, _add_batch_paddings(crops, before), 0, block_shape=blocks)


def _add_batch_paddings(pads: Tensor, before: int) -> Tensor:
    """Adds zero paddings for the dimensions between batch and space."""
    if not before:
        return pads
    return op("ConcatV2", [constant(np.zeros([before, 2], np.int32)), pads], 0)


def _sizes(x: Tensor, dims: list[int]) -> Any:
    known = x.get_shape().as_list() if x.get_shape().ndims is not None else None
    if known is not None and all(known[d] is not None for d in dims):
        return [known[d] for d in dims]
    return op("GatherV2", op("Shape", x), dims, 0)
