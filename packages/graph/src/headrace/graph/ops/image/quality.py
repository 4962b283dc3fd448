"""Image quality (PSNR, SSIM), total variation and edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.framework.default_graph import count_nodes, counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.convolution.convolution import depthwise_conv2d
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.image.colour import convert_image_dtype
from headrace.graph.ops.reduction import reduce_mean, reduce_prod, reduce_sum
from headrace.graph.typing.aliases import TensorLike

_FLOAT = as_dtype("float32")
_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
Pair = tuple[Tensor, Tensor]


def _pair(a: Any, b: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Converts both images and max_val to float. Raises: ValueError for incompatible shapes."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    for x in (a, b):
        if x.get_shape().ndims is not None and x.get_shape().ndims < 3:
            raise ValueError(f"images must have 3 dimensions at least, got shape {x.get_shape()}")
    if not a.get_shape()[-3:].is_compatible_with(b.get_shape()[-3:]):
        raise ValueError(f"shapes are different: {a.get_shape()} and {b.get_shape()}")
    top = convert_image_dtype(cast(max_val, a.dtype.base_dtype), _FLOAT)
    return convert_image_dtype(a, _FLOAT), convert_image_dtype(b, _FLOAT), top


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """Computes the peak signal-to-noise ratio of two images, in decibels.

    Args:
      a, b: [..., height, width, channels].
      max_val: range of the values: maximum minus minimum.
    Returns: [...] float.
    Raises: ValueError for incompatible shapes.
    """
    with name_scope(name, "PSNR", [a, b]):
        a, b, top = _pair(a, b, max_val)
        mse = reduce_mean(op("SquaredDifference", a, b), [-3, -2, -1])
        ten = constant(np.float32(10 / np.log(10)))
        peak = constant(20.0) * op("Log", top) / op("Log", constant(10.0))
        count_nodes(18)  # a check of the shapes
        return op("Sub", peak, ten * op("Log", mse), name="psnr")


def _window(size: int, sigma: float) -> Tensor:
    """Returns a Gaussian window [size, size, 1, 1] with sum 1."""
    near = np.square(np.arange(size, dtype=np.float32) - (size - 1) / 2) * (-0.5 / sigma**2)
    flat = np.exp(near[None, :] + near[:, None])
    return constant((flat / flat.sum()).astype(np.float32)[:, :, None, None])


def _by_channel(
    a: Tensor, b: Tensor, top: Tensor, size: int, sigma: float, k1: float, k2: float
) -> Pair:
    """Returns the similarity and the contrast-structure of each pixel and channel."""
    channels = op("Shape", a)[-1]
    times = op("Pack", [1, 1, channels, 1])
    kernel = op("Tile", _window(size, sigma), times)
    known = a.get_shape().as_list()[-1]
    kernel.set_shape([size, size, known, 1])

    def blurred(x: Tensor) -> Tensor:
        shape = op("Shape", x)
        flat = op("Reshape", x, op("ConcatV2", [[-1], shape[-3:]], 0))
        flat.set_shape([None, *x.get_shape().as_list()[-3:]])
        result = depthwise_conv2d(flat, kernel, [1, 1, 1, 1], "VALID")
        full = op("Reshape", result, op("ConcatV2", [shape[:-3], op("Shape", result)[1:]], 0))
        full.set_shape(x.get_shape()[:-3].concatenate(result.get_shape()[1:]))
        return full

    two = constant(2.0)
    c1, c2 = op("Square", k1 * top), op("Square", k2 * top)
    mean_a, mean_b = blurred(a), blurred(b)
    product = mean_a * mean_b * two
    squares = op("Square", mean_a) + op("Square", mean_b)
    luminance = (product + c1) / (squares + c1)
    joint = blurred(a * b) * two
    energy = blurred(op("Square", a) + op("Square", b))
    structure = (joint - product + c2) / (energy - squares + c2)
    return luminance * structure, structure


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Computes the structural similarity (SSIM) of two images, from -1 to 1.

    Args:
      img1, img2: [..., height, width, channels].
      max_val: range of the values: maximum minus minimum.
      filter_size, filter_sigma: size and standard deviation of the Gaussian window.
      k1, k2: constants that stabilise the divisions.
      return_index_map: return the index of each pixel instead of the mean.
    Returns: [...], or [..., height - filter_size + 1, width - filter_size + 1], float.
    Source: Wang et al. 2004.
    """
    with name_scope(None, "SSIM", [img1, img2]):
        a, b, top = _pair(img1, img2, max_val)
        count_nodes(69)  # a check of the shapes, and the window
        both = _by_channel(a, b, top, filter_size, filter_sigma, k1, k2)[0]
        each = both if return_index_map else reduce_mean(both, [-3, -2])
        return reduce_mean(each, [-1])


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Computes the multi-scale SSIM; each scale halves the size.

    Args:
      power_factors: weights of the scales.
      the others: as in ssim.
    Returns: [...] float.
    Source: Wang et al. 2003.
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        a, b, top = _pair(img1, img2, max_val)
        parts = []
        factors = list(power_factors)
        count_nodes(37 + 50 * len(factors))  # checks of the shapes, and the windows
        for number in range(len(factors)):
            if number:
                a, b = _downsample(a), _downsample(b)
            both, structure = _by_channel(a, b, top, filter_size, filter_sigma, k1, k2)
            last = number == len(factors) - 1
            parts.append(op("Relu", reduce_mean(both if last else structure, [-3, -2])))
        stacked = op("Pack", parts, axis=-1)
        result = reduce_prod(op("Pow", stacked, constant(factors, dtype=_FLOAT)), [-1])
        return reduce_mean(result, [-1])


def _downsample(x: Tensor) -> Tensor:
    """Averages 2x2 pixels; the last row or column is repeated if the size is odd."""
    shape = op("Shape", x)
    flat = op("Reshape", x, op("ConcatV2", [[-1], shape[-3:]], 0))
    flat.set_shape([None, *x.get_shape().as_list()[-3:]])
    known = flat.get_shape().as_list()[1:3]
    if None in known:
        odd = op("FloorMod", op("Shape", flat), constant([1, 2, 2, 1]))
        pads = op("Pack", [op("ZerosLike", odd), odd], axis=1)
        some = op("Any", op("NotEqual", odd, constant(0)), [0])
        even = cond(some, lambda: op("MirrorPad", flat, pads, mode="SYMMETRIC"), lambda: flat)
    else:
        ends = [[0, 0], [0, known[0] % 2], [0, known[1] % 2], [0, 0]]
        even = op("MirrorPad", flat, ends, mode="SYMMETRIC")
    sides = [1, 2, 2, 1]
    small = op("AvgPool", even, ksize=sides, strides=sides, padding="VALID")
    result = op("Reshape", small, op("ConcatV2", [shape[:-3], op("Shape", small)[1:]], 0))
    result.set_shape(x.get_shape()[:-3].concatenate(small.get_shape()[1:]))
    return result


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Computes the total variation: the sum of absolute differences of neighbouring pixels.

    Args:
      images: [height, width, channels], or a batch of images.
    Returns: a scalar, or [batch].
    Raises: ValueError for another rank.
    """
    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        rank = images.get_shape().ndims
        if rank not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        axis = None if rank == 3 else [1, 2, 3]
        if rank == 3:
            down, right = images[1:] - images[:-1], images[:, 1:] - images[:, :-1]
        else:
            down, right = images[:, 1:] - images[:, :-1], images[:, :, 1:] - images[:, :, :-1]
        return reduce_sum(op("Abs", down), axis) + reduce_sum(op("Abs", right), axis)


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Computes the differences to the pixel below and to the pixel on the right.

    Args:
      image: [batch, height, width, channels].
    Returns: (dy, dx) of the shape of image; the last row and column are 0.
    Raises: ValueError for another rank.
    """
    image = convert_to_tensor(image)
    if image.get_shape().ndims != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.get_shape()}."
        )
    with counted_as(34):
        return _differences(image)


def _differences(image: Tensor) -> tuple[Tensor, Tensor]:
    below = op("Pad", image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    beside = op("Pad", image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    for result in (below, beside):
        result.set_shape(image.get_shape())
    return below, beside


def sobel_edges(image: TensorLike) -> Tensor:
    """Computes the Sobel edge maps along y and x.

    Args:
      image: [batch, height, width, channels] float, with at least 2 rows and columns.
    Returns: [batch, height, width, channels, 2].
    """
    image = convert_to_tensor(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    kernels = constant(np.stack([down, down.T], -1)[:, :, None, :], dtype=image.dtype.base_dtype)
    shape = op("Shape", image)
    spread = op("Tile", kernels, op("Pack", [1, 1, shape[3], 1]))
    spread.set_shape([3, 3, image.get_shape().as_list()[-1], 2])
    pads = [[0, 0], [1, 1], [1, 1], [0, 0]]
    padded = op("MirrorPad", image, pads, mode="REFLECT")
    result = depthwise_conv2d(padded, spread, [1, 1, 1, 1], "VALID")
    full = op("Reshape", result, op("ConcatV2", [shape, [2]], 0))
    full.set_shape(image.get_shape().concatenate([2]))
    return full
