"""Rotation, flips, cropping and padding of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.image.resize import ResizeMethod, resize_images
from headrace.graph.ops.random.random import random_uniform
from headrace.graph.typing.aliases import TensorLike

_INT32, _FLOAT, _DOUBLE = as_dtype("int32"), as_dtype("float32"), as_dtype("float64")


def _image(image: Any) -> tuple[Tensor, int]:
    """Returns the image as a tensor, and the axis of its rows: 0, or 1 for a batch."""
    image = convert_to_tensor(image, name="image")
    rank = image.get_shape().ndims
    if rank is None:  # as in TensorFlow, one image
        image, rank = op("Identity", image), 3
        image.set_shape([None] * 3)
    if rank not in (3, 4):
        raise ValueError(f"'image' (shape {image.get_shape()}) must have either 3 or 4 dimensions.")
    return image, rank - 3


def flip_left_right(image: TensorLike) -> Tensor:
    """Reverses the columns. Args: image: [height, width, channels], or a batch of images."""
    with name_scope(None, "flip_left_right", [image]):
        image, rows = _image(image)
        return op("ReverseV2", image, [rows + 1])


def flip_up_down(image: TensorLike) -> Tensor:
    """Reverses the rows. Args: image: [height, width, channels], or a batch of images."""
    with name_scope(None, "flip_up_down", [image]):
        image, rows = _image(image)
        return op("ReverseV2", image, [rows])


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Transposes rows and columns. Args: image: [height, width, channels], or a batch."""
    with name_scope(name, "transpose", [image]) as scope:
        image, rows = _image(image)
        return op("Transpose", image, [1, 0, 2] if rows == 0 else [0, 2, 1, 3], name=scope)


transpose_image = transpose


def rot90(image: TensorLike, k: Any = 1, name: str | None = None) -> Tensor:
    """Rotates an image counterclockwise by k * 90 degrees.

    Args:
      image: [height, width, channels], or a batch of images.
      k: int or int32 scalar.
    """
    with name_scope(name, "rot90", [image, k]):
        image, rows = _image(image)
        order = [1, 0, 2] if rows == 0 else [0, 2, 1, 3]

        def turned(times: int) -> Tensor:
            if times == 0:
                return identity(image)
            if times == 2:
                return op("ReverseV2", image, [rows, rows + 1])
            if times == 1:
                return op("Transpose", op("ReverseV2", image, [rows + 1]), order)
            return op("ReverseV2", op("Transpose", image, order), [rows + 1])

        known = constant_value(k) if isinstance(k, Tensor) else k
        if known is not None:
            return turned(int(known) % 4)
        times = op("FloorMod", convert_to_tensor(k, dtype=_INT32), constant(4))

        def choose(which: int) -> Callable[[], Tensor]:
            if which == 3:
                return lambda: turned(3)
            return lambda: cond(op("Equal", times, which), lambda: turned(which), choose(which + 1))

        return choose(0)()


def _random_flip(image: Any, across: int, seed: int | None, name: str) -> Tensor:
    with name_scope(None, name, [image]):
        image, rows = _image(image)
        axis = [rows + across]
        half = constant(0.5)
        if rows == 0:
            flip = op("Less", random_uniform([], 0, 1.0, seed=seed), half)
            result = cond(flip, lambda: op("ReverseV2", image, axis), lambda: identity(image))
            result.set_shape(image.get_shape())
            return result
        batch = op("Shape", image)[:1]
        flips = op("GreaterEqual", random_uniform(batch, 0, 1.0, seed=seed), half)
        wide = op("Reshape", flips, op("ConcatV2", [batch, [1, 1, 1]], 0))
        return op("SelectV2", wide, op("ReverseV2", image, axis), image)


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Applies flip_left_right with probability 0.5, separately for each image of a batch."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Applies flip_up_down with probability 0.5, separately for each image of a batch."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _sizes(image: Tensor, rows: int) -> tuple[Any, Any]:
    """Returns height and width, as ints if known, otherwise as tensors."""
    known = image.get_shape().as_list()[rows : rows + 2]
    if None in known:
        shape = op("Shape", image)
        known = [shape[rows + i] if n is None else n for i, n in enumerate(known)]
    return known[0], known[1]


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """Crops the centre of an image.

    Args:
      image: [height, width, channels], or a batch of images.
      central_fraction: fraction of height and width to keep, in (0, 1].
    Raises: ValueError for a fraction outside of (0, 1], or an image of another rank.
    """
    with name_scope(None, "central_crop", [image]):
        image, rows = _image(image)
        fraction = central_fraction
        if isinstance(fraction, Tensor):
            fraction = constant_value(fraction)
        if fraction is None or not 0.0 < fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if fraction == 1.0:
            return image
        begins, sizes = [], []
        for length in _sizes(image, rows):
            if isinstance(length, int):
                start: Any = int((length - length * fraction) / 2)
            else:
                wide = op("Cast", length, DstT=_DOUBLE)
                start = op("Cast", (wide - wide * fraction) / 2.0, DstT=_INT32)
            begins.append(start)
            sizes.append(length - start * 2)
        return _cut(image, rows, begins, sizes)


def _cut(image: Tensor, rows: int, begins: list[Any], sizes: list[Any]) -> Tensor:
    ends = ([0] * rows, [0])
    result = op(
        "Slice",
        image,
        op("Pack", [*ends[0], *begins, 0]),
        op("Pack", [*([-1] * rows), *sizes, -1]),
    )
    known = image.get_shape().as_list()
    static = [n if isinstance(n, int) else None for n in sizes]
    result.set_shape([*known[:rows], *static, known[-1]])
    return result


def _checked(conditions: list[tuple[Any, str]]) -> None:
    for good, message in conditions:
        if isinstance(good, bool) and not good:
            raise ValueError(message)


def _known(*values: Any) -> bool:
    return all(isinstance(v, int) for v in values)


def pad_to_bounding_box(
    image: TensorLike,
    offset_height: int | Tensor,
    offset_width: int | Tensor,
    target_height: int | Tensor,
    target_width: int | Tensor,
) -> Tensor:
    """Pads an image with zeros to a size.

    Args:
      image: [height, width, channels], or a batch of images.
      offset_height, offset_width: numbers of rows above and columns left of the image.
      target_height, target_width: the new size.
    Raises: ValueError if the image does not fit.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image, rows = _image(image)
        height, width = _sizes(image, rows)
        after_height = target_height - offset_height - height
        after_width = target_width - offset_width - width
        rules = [
            (offset_height, "offset_height must be >= 0"),
            (offset_width, "offset_width must be >= 0"),
            (after_height, "height must be <= target - offset"),
            (after_width, "width must be <= target - offset"),
        ]
        _checked([(n >= 0, text) for n, text in rules if _known(n)])
        flat = [0, 0] * rows + [offset_height, after_height, offset_width, after_width, 0, 0]
        pads = constant(flat) if _known(*flat) else op("Pack", flat)
        result = op("Pad", image, op("Reshape", pads, [rows + 3, 2]))
        sizes = [n if isinstance(n, int) else None for n in (target_height, target_width)]
        known = image.get_shape().as_list()
        result.set_shape([*known[:rows], *sizes, known[-1]])
        return result


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: int | Tensor,
    offset_width: int | Tensor,
    target_height: int | Tensor,
    target_width: int | Tensor,
) -> Tensor:
    """Crops an image.

    Args:
      image: [height, width, channels], or a batch of images.
      offset_height, offset_width: first row and column of the crop.
      target_height, target_width: size of the crop.
    Raises: ValueError if the crop exceeds the image.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image, rows = _image(image)
        height, width = _sizes(image, rows)
        rules = [
            (offset_width, "offset_width must be >= 0."),
            (offset_height, "offset_height must be >= 0."),
            (target_width - 1, "target_width must be > 0."),
            (target_height - 1, "target_height must be > 0."),
            (width - target_width - offset_width, "width must be >= target + offset."),
            (height - target_height - offset_height, "height must be >= target + offset."),
        ]
        _checked([(n >= 0, text) for n, text in rules if _known(n)])
        return _cut(image, rows, [offset_height, offset_width], [target_height, target_width])


def _minimum(a: Any, b: Any) -> Any:
    return min(a, b) if _known(a, b) else op("Minimum", a, b)


def _maximum(a: Any, b: Any) -> Any:
    return max(a, b) if _known(a, b) else op("Maximum", a, b)


def resize_image_with_crop_or_pad(
    image: TensorLike, target_height: int | Tensor, target_width: int | Tensor
) -> Tensor:
    """Crops an image centrally, or pads it with zeros, to a size.

    Args:
      image: [height, width, channels], or a batch of images.
      target_height, target_width: the new size, above 0.
    Raises: ValueError for a size that is not positive, or an image of another rank.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, rows = _image(image)
        height, width = _sizes(image, rows)
        for what, value in (("width", target_width), ("height", target_height)):
            if isinstance(value, int) and value <= 0:
                raise ValueError(f"target_{what} must be > 0.")
        more_height, more_width = target_height - height, target_width - width
        cut = crop_to_bounding_box(
            image,
            _maximum(-more_height // 2, 0),
            _maximum(-more_width // 2, 0),
            _minimum(target_height, height),
            _minimum(target_width, width),
        )
        return pad_to_bounding_box(
            cut,
            _maximum(more_height // 2, 0),
            _maximum(more_width // 2, 0),
            target_height,
            target_width,
        )


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def resize_image_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Resizes an image with its aspect ratio, and pads it with zeros to a size.

    Args:
      image: [height, width, channels], or a batch of images.
      target_height, target_width: the new size, above 0.
      method: one of ResizeMethod.
      align_corners: as in resize_images.
    Raises: ValueError for a size that is not positive, or an image of another rank.
    """
    with name_scope(None, "resize_image_with_pad", [image]):
        image, rows = _image(image)
        for what, value in (("width", target_width), ("height", target_height)):
            if isinstance(value, int) and value <= 0:
                raise ValueError(f"target_{what} must be > 0.")
        requested = [op("Cast", n, DstT=_FLOAT) for n in (target_height, target_width)]
        now = [op("Cast", n, DstT=_FLOAT) for n in _sizes(image, rows)]
        ratio = op("Maximum", now[1] / requested[1], now[0] / requested[0])
        scaled = [op("Floor", n / ratio) for n in now]
        zero = constant(0)
        before: list[Any] = [
            op("Maximum", zero, op("Cast", op("Floor", (w - s) / 2.0), DstT=_INT32))
            for w, s in zip(requested, scaled, strict=True)
        ]
        size = op("Pack", [op("Cast", n, DstT=_INT32) for n in scaled])
        known = constant_value(size)
        small = resize_images(image, size if known is None else known, method, align_corners)
        starts = [constant_value(n) for n in before]
        if None not in starts:
            before = [int(n) for n in starts]
        return pad_to_bounding_box(small, before[0], before[1], target_height, target_width)
