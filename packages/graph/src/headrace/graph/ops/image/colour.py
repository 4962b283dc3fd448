"""Dtype conversion, brightness, contrast, hue and colour spaces of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.ops.elementwise.elementwise import cast, saturate_cast
from headrace.graph.ops.image.checks import at_least_three_dimensional
from headrace.graph.ops.matmul.tensordot import tensordot
from headrace.graph.ops.random.random import random_uniform
from headrace.graph.ops.reduction import reduce_mean, reduce_prod, reduce_std
from headrace.graph.typing.aliases import DTypeLike, TensorLike

_FLOAT = as_dtype("float32")
_GREY = (0.2989, 0.5870, 0.1140)
_TO_YUV = (
    (0.299, -0.14714119, 0.61497538),
    (0.587, -0.28886916, -0.51496512),
    (0.114, 0.43601035, -0.10001026),
)
_FROM_YUV = ((1.0, 1.0, 1.0), (0.0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0.0))
_TO_YIQ = (
    (0.299, 0.59590059, 0.2115),
    (0.587, -0.27455667, -0.52273617),
    (0.114, -0.32134392, 0.31119955),
)
_FROM_YIQ = (
    (1.0, 1.0, 1.0),
    (0.95598634, -0.27201283, -1.10674021),
    (0.6208248, -0.64720424, 1.70423049),
)


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Converts an image to a dtype, and scales it: floats from 0 to 1, integers from 0 to max.

    Args:
      image: [...] any floating-point or integer dtype.
      dtype: dtype of the result.
      saturate: clip values outside of the range of dtype.
    Raises: AttributeError for a dtype that is neither floating-point nor integer.
    """
    image = convert_to_tensor(image, name="image")
    dtype = as_dtype(dtype).base_dtype
    source = image.dtype.base_dtype
    for what, kind in (("dtype", dtype), ("image dtype", source)):
        if not kind.is_floating and not kind.is_integer:
            raise AttributeError(f"{what} must be either floating point or integer")
    if dtype == source:
        return identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        into = saturate_cast if saturate else cast
        if source.is_floating and dtype.is_floating:
            return op("Cast", image, DstT=dtype, name=scope)
        if source.is_floating:
            top = constant(_top(dtype) + 0.5, dtype=source)
            return into(op("Mul", image, top), dtype, name=scope)
        if dtype.is_floating:
            share = constant(1.0 / _top(source), dtype=dtype)
            return op("Mul", cast(image, dtype), share, name=scope)
        if _top(source) > _top(dtype):
            ratio = (_top(source) + 1) // (_top(dtype) + 1)
            return into(op("FloorDiv", image, constant(ratio, dtype=source)), dtype, name=scope)
        ratio = (_top(dtype) + 1) // (_top(source) + 1)
        return op("Mul", into(image, dtype), constant(ratio, dtype=dtype), name=scope)


def _top(dtype: Any) -> int:
    return int(np.iinfo(dtype.as_numpy_dtype).max)


def _in_float(image: Any) -> tuple[Tensor, Any]:
    """Returns the image as floats (half stays half), and its original dtype."""
    image = convert_to_tensor(image, name="image")
    kind = image.dtype.base_dtype
    if kind.name in ("float16", "float32"):
        return image, kind
    return convert_image_dtype(image, _FLOAT), kind


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Adds delta to the brightness of an image with values from 0 to 1."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        values, kind = _in_float(image)
        result = op("AddV2", values, cast(delta, values.dtype.base_dtype), name=scope)
        return convert_image_dtype(result, kind, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Scales the contrast: multiplies each channel's distance from its mean by a factor.

    Args:
      images: [..., height, width, channels].
      contrast_factor: scalar factor.
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        values, kind = _in_float(images)
        result = op("AdjustContrastv2", values, contrast_factor, name=scope)
        return convert_image_dtype(result, kind, saturate=True)


def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: TensorLike = 1) -> Tensor:
    """Computes gain * image ** gamma, for values from 0 to 1.

    Raises: ValueError for a static negative gamma.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        values, kind = _in_float(image)
        message = "Gamma should be a non-negative real number."
        known = constant_value(gamma) if isinstance(gamma, Tensor) else gamma
        if known is not None:
            if known < 0:
                raise ValueError(message)
            result = gain * values**gamma
        else:
            good = op("GreaterEqual", gamma, constant(0, dtype=gamma.dtype.base_dtype))
            with control_dependencies([op("Assert", good, [constant(message.encode())])]):
                gamma = identity(gamma)
            result = gain * values**gamma
        return convert_image_dtype(result, kind, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Adds delta to the hue of RGB images.

    Args:
      image: [..., 3].
      delta: from -1 to 1.
    """
    with name_scope(name, "adjust_hue", [image]):
        values, kind = _in_float(image)
        return convert_image_dtype(op("AdjustHue", values, delta), kind)


def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Multiplies the saturation of RGB images by a factor. Args: image: [..., 3]."""
    with name_scope(name, "adjust_saturation", [image]):
        values, kind = _in_float(image)
        return convert_image_dtype(op("AdjustSaturation", values, saturation_factor), kind)


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """Encodes and decodes an image as JPEG.

    Args:
      image: [height, width, 1 or 3].
      jpeg_quality: from 0 to 100.
      dct_method: as in decode_jpeg.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        kind = image.dtype.base_dtype
        shape = image.get_shape()
        channels = None if shape.ndims is None else shape.as_list()[-1]
        quality = convert_to_tensor(jpeg_quality, dtype=as_dtype("int32"))
        pixels = convert_image_dtype(image, "uint8")
        packed = op("EncodeJpegVariableQuality", pixels, quality)
        result = op("DecodeJpeg", packed, channels=channels or 0, dct_method=dct_method)
        return convert_image_dtype(result, kind)


def _between(low: float, high: float, seed: int | None) -> Tensor:
    return random_uniform([], low, high, seed=seed)


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Applies adjust_brightness with a random delta from [-max_delta, max_delta).

    Raises: ValueError for a negative max_delta.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, _between(-max_delta, max_delta, seed))


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Applies adjust_contrast with a random factor from [lower, upper).

    Raises: ValueError unless 0 <= lower < upper.
    """
    _check_range(lower, upper)
    return adjust_contrast(image, _between(lower, upper, seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Applies adjust_hue with a random delta from [-max_delta, max_delta).

    Raises: ValueError for max_delta outside of [0, 0.5].
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, _between(-max_delta, max_delta, seed))


def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Applies adjust_saturation with a random factor from [lower, upper).

    Raises: ValueError unless 0 <= lower < upper.
    """
    _check_range(lower, upper)
    return adjust_saturation(image, _between(lower, upper, seed))


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """Applies adjust_jpeg_quality with a random quality from [min, max).

    Raises: ValueError for qualities outside of [0, 100] or min >= max.
    """
    if (
        min_jpeg_quality < 0
        or max_jpeg_quality < 0
        or max(min_jpeg_quality, max_jpeg_quality) > 100
    ):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, dtype="int32", seed=seed)
    return adjust_jpeg_quality(image, quality)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts RGB to grayscale. Args: images: [..., 3]. Returns: [..., 1]."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        values = convert_image_dtype(images, _FLOAT)
        grey = tensordot(values, constant(_GREY, dtype=_FLOAT), [[-1], [-1]])
        wide = op("ExpandDims", grey, -1)
        if images.get_shape().ndims is not None:
            wide.set_shape(images.get_shape()[:-1].concatenate([1]))
        return convert_image_dtype(wide, images.dtype.base_dtype, name=scope)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts grayscale to RGB. Args: images: [..., 1]. Returns: [..., 3]."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        with counted_as(14 if images.get_shape().is_fully_defined() else 46):
            before = op("ExpandDims", op("Rank", images) - 1, 0)
            times = op("ConcatV2", [op("Fill", before, 1), [3]], 0)
            result = op("Tile", images, times, name=scope)
        if images.get_shape().ndims is not None:
            result.set_shape(images.get_shape()[:-1].concatenate([3]))
        return result


def _mixed(images: Any, matrix: Any) -> Tensor:
    images = convert_to_tensor(images, name="images")
    kernel = constant(matrix, dtype=images.dtype.base_dtype, name="kernel")
    rank = images.get_shape().ndims
    return tensordot(images, kernel, [[-1 if rank is None else rank - 1], [0]])


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Converts RGB with values from 0 to 1 to YUV. Args: images: [..., 3]."""
    return _mixed(images, _TO_YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Converts YUV to RGB. Args: images: [..., 3]."""
    return _mixed(images, _FROM_YUV)


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Converts RGB with values from 0 to 1 to YIQ (NTSC). Args: images: [..., 3]."""
    return _mixed(images, _TO_YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Converts YIQ to RGB. Args: images: [..., 3]."""
    return _mixed(images, _FROM_YIQ)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Scales each image to mean 0 and variance 1.

    Args:
      image: [..., height, width, channels]; the standard deviation is at least
        1 / sqrt(number of values).
    Returns: the dtype of image, as in TensorFlow 1.15: cast integers to float before.
    Raises: ValueError for fewer than three dimensions, or one of size 0.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = at_least_three_dimensional(convert_to_tensor(image, name="image"))
        given = image.dtype.base_dtype
        if given.name not in ("float16", "float32"):
            image = convert_image_dtype(image, _FLOAT)
        count = cast(reduce_prod(op("Shape", image)[-3:]), image.dtype.base_dtype)
        axes = [-1, -2, -3]
        centred = image - reduce_mean(image, axis=axes, keepdims=True)
        spread = op("Maximum", reduce_std(image, axis=axes, keepdims=True), op("Rsqrt", count))
        scaled = op("RealDiv", centred, spread, name=scope)
        return convert_image_dtype(scaled, given, saturate=True)
