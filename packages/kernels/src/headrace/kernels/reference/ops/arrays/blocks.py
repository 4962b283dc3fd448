"""Blocks of a plane as batch or channels, and the formats of images."""

from __future__ import annotations

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.arrays.arrays import pad
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("SpaceToBatchND")
def space_to_batch_nd(
    attrs: Attrs, x: np.ndarray, block_shape: np.ndarray, paddings: np.ndarray
) -> np.ndarray:
    block = block_shape.tolist()
    m = len(block)
    x = pad(attrs, x, np.array([[0, 0], *paddings.tolist(), *[[0, 0]] * (x.ndim - 1 - m)]))
    inner = x.shape[1 + m :]
    split = [n for full, b in zip(x.shape[1 : 1 + m], block, strict=True) for n in (full // b, b)]
    blocks = x.reshape([x.shape[0], *split, *inner])
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m + 1, 2)]
    order += range(2 * m + 1, blocks.ndim)
    outer = [full // b for full, b in zip(x.shape[1 : 1 + m], block, strict=True)]
    return blocks.transpose(order).reshape([x.shape[0] * int(np.prod(block)), *outer, *inner])


@kernel("SpaceToBatch")
def space_to_batch(attrs: Attrs, x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    return space_to_batch_nd(attrs, x, np.array([attrs["block_size"]] * 2), paddings)


@kernel("BatchToSpaceND")
def batch_to_space_nd(
    attrs: Attrs, x: np.ndarray, block_shape: np.ndarray, crops: np.ndarray
) -> np.ndarray:
    block = block_shape.tolist()
    m = len(block)
    batch = x.shape[0] // int(np.prod(block))
    blocks = x.reshape([*block, batch, *x.shape[1:]])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    order += range(2 * m + 1, blocks.ndim)
    spatial = [full * b for full, b in zip(x.shape[1 : 1 + m], block, strict=True)]
    whole = blocks.transpose(order).reshape([batch, *spatial, *x.shape[1 + m :]])
    kept = [slice(start, n - end) for n, (start, end) in zip(spatial, crops.tolist(), strict=True)]
    return whole[(slice(None),) + tuple(kept)].copy()


@kernel("BatchToSpace")
def batch_to_space(attrs: Attrs, x: np.ndarray, crops: np.ndarray) -> np.ndarray:
    return batch_to_space_nd(attrs, x, np.array([attrs["block_size"]] * 2), crops)


@kernel("SpaceToDepth")
def space_to_depth(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    b = attrs["block_size"]
    x = to_channels_last(attrs, x)
    n, h, w, c = x.shape
    y = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return from_channels_last(attrs, y.reshape(n, h // b, w // b, b * b * c))


@kernel("DepthToSpace")
def depth_to_space(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    b = attrs["block_size"]
    x = to_channels_last(attrs, x)
    n, h, w, c = x.shape
    y = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return from_channels_last(attrs, y.reshape(n, h * b, w * b, c // (b * b)))


def channels_first(attrs: Attrs) -> bool:
    """Whether the node's data format has its channels before the spatial axes."""
    data_format = attrs.get("data_format", b"NHWC")
    if data_format not in (b"NHWC", b"NCHW", b"NDHWC", b"NCDHW"):
        raise InvalidArgumentError(
            None, None, f"data_format {data_format.decode()} is not supported on the CPU"
        )
    return data_format.startswith(b"NC")


def to_channels_last(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    """x with its channels at the end, whatever the node's data format."""
    return np.moveaxis(x, 1, -1) if channels_first(attrs) else x


def from_channels_last(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    """The way back."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 1)) if channels_first(attrs) else x


@kernel("DataFormatDimMap")
def data_format_dim_map(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    source, target = attrs["src_format"], attrs["dst_format"]
    places = np.array([target.index(letter) for letter in source], x.dtype)
    return places[x]  # a negative axis counts from the end, in NumPy as here


@kernel("DataFormatVecPermute")
def data_format_vec_permute(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    source, target = attrs["src_format"], attrs["dst_format"]
    if x.shape[0] == len(source) - 2:  # the spatial axes alone
        source = bytes(letter for letter in source if letter not in b"NC")
        target = bytes(letter for letter in target if letter not in b"NC")
    return x[[source.index(letter) for letter in target]]
