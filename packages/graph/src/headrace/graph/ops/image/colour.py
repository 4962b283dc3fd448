"""Types, brightness, contrast, hue and colour spaces of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.ops.elementwise.elementwise import cast, saturate_cast
from headrace.graph.ops.matmul.matmul import tensordot
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
    """An image in another type, scaled: integers go to their greatest, floats to 1.

    Args:
      saturate: what is out of dtype's range becomes its end.
    Raises: AttributeError for a type that is neither floating-point nor integer.
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
    """The image as floats (halves stay), and the type it had."""
    image = convert_to_tensor(image, name="image")
    kind = image.dtype.base_dtype
    if kind.name in ("float16", "float32"):
        return identity(image), kind
    return convert_image_dtype(image, _FLOAT), kind


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """delta added to an image, whose values are taken as from 0 to 1."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        values, kind = _in_float(image)
        made = op("AddV2", values, cast(delta, values.dtype.base_dtype), name=scope)
        return convert_image_dtype(made, kind, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Each channel's distances from its mean times a factor. Args: images: [..., h, w, c]."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        values, kind = _in_float(images)
        made = op("AdjustContrastv2", values, contrast_factor, name=scope)
        return convert_image_dtype(made, kind, saturate=True)


def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: TensorLike = 1) -> Tensor:
    """gain * image ** gamma, whose values are taken as from 0 to 1.

    Raises: ValueError for a gamma that is known to be below 0.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        values, kind = _in_float(image)
        says = "Gamma should be a non-negative real number."
        known = constant_value(gamma) if isinstance(gamma, Tensor) else gamma
        if known is not None:
            if known < 0:
                raise ValueError(says)
            made = gain * values**gamma
        else:
            good = op("GreaterEqual", gamma, constant(0, dtype=gamma.dtype.base_dtype))
            with control_dependencies([op("Assert", good, [constant(says.encode())])]):
                gamma = identity(gamma)
            made = gain * values**gamma
        return convert_image_dtype(made, kind, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """delta added to the hue of an RGB image. Args: image: [..., 3]; delta: from -1 to 1."""
    with name_scope(name, "adjust_hue", [image]):
        values, kind = _in_float(image)
        return convert_image_dtype(op("AdjustHue", values, delta), kind)


def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """The saturation of an RGB image times a factor. Args: image: [..., 3]."""
    with name_scope(name, "adjust_saturation", [image]):
        values, kind = _in_float(image)
        return convert_image_dtype(op("AdjustSaturation", values, saturation_factor), kind)


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """An image as JPEG would leave it. Args: image: RGB or grey; jpeg_quality: from 0 to 100."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        kind = image.dtype.base_dtype
        channels = image.get_shape().as_list()[-1]
        quality = convert_to_tensor(jpeg_quality, dtype=as_dtype("int32"))
        pixels = convert_image_dtype(image, "uint8", saturate=True)
        packed = op("EncodeJpegVariableQuality", pixels, quality)
        made = op("DecodeJpeg", packed, channels=channels or 0, dct_method=dct_method)
        return convert_image_dtype(made, kind, saturate=True)


def _between(low: float, high: float, seed: int | None) -> Tensor:
    return random_uniform([], low, high, seed=seed)


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """adjust_brightness by something from -max_delta to max_delta."""
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
    """adjust_contrast by something from lower to upper."""
    _check_range(lower, upper)
    return adjust_contrast(image, _between(lower, upper, seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """adjust_hue by something from -max_delta to max_delta."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, _between(-max_delta, max_delta, seed))


def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """adjust_saturation by something from lower to upper."""
    _check_range(lower, upper)
    return adjust_saturation(image, _between(lower, upper, seed))


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """adjust_jpeg_quality by something from min_jpeg_quality to below max_jpeg_quality."""
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
    """RGB as one channel of grey. Args: images: [..., 3]. Returns: [..., 1]."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        values = convert_image_dtype(images, _FLOAT)
        grey = tensordot(values, constant(_GREY, dtype=_FLOAT), [[-1], [-1]])
        wide = op("ExpandDims", grey, -1)
        if images.get_shape().ndims is not None:
            wide.set_shape(images.get_shape()[:-1].concatenate([1]))
        return convert_image_dtype(wide, images.dtype.base_dtype, name=scope)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """One channel of grey as three that are alike. Args: images: [..., 1]. Returns: [..., 3]."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        before = op("ExpandDims", op("Rank", images) - 1, 0)
        times = op("ConcatV2", [op("Fill", before, 1), [3]], 0)
        made = op("Tile", images, times, name=scope)
        if images.get_shape().ndims is not None:
            made.set_shape(images.get_shape()[:-1].concatenate([3]))
        return made


def _mixed(images: Any, matrix: Any) -> Tensor:
    images = convert_to_tensor(images, name="images")
    kernel = constant(matrix, dtype=images.dtype.base_dtype, name="kernel")
    rank = images.get_shape().ndims
    return tensordot(images, kernel, [[-1 if rank is None else rank - 1], [0]])


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """RGB from 0 to 1 as luma and two differences of colour. Args: images: [..., 3]."""
    return _mixed(images, _TO_YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of rgb_to_yuv."""
    return _mixed(images, _FROM_YUV)


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """RGB from 0 to 1 as NTSC's YIQ. Args: images: [..., 3]."""
    return _mixed(images, _TO_YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of rgb_to_yiq."""
    return _mixed(images, _FROM_YIQ)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Each image with mean 0 and variance 1. Args: image: [..., height, width, channels].

    The standard deviation is taken as 1 / sqrt(number of values) at least.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = convert_to_tensor(image, name="image")
        if image.dtype.base_dtype.name not in ("float16", "float32"):
            image = convert_image_dtype(image, _FLOAT)
        kind = image.dtype.base_dtype
        count = cast(reduce_prod(op("Shape", image)[-3:]), kind)
        axes = [-1, -2, -3]
        centred = image - reduce_mean(image, axis=axes, keepdims=True)
        spread = op("Maximum", reduce_std(image, axis=axes, keepdims=True), op("Rsqrt", count))
        return op("RealDiv", centred, spread, name=scope)
