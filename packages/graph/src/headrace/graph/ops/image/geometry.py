"""Rotation, flips, cropping and padding of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.assertion import Assert
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import identity, with_dependencies
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.joining import stack
from headrace.graph.ops.image.checks import at_least_three_dimensional, shape_checks
from headrace.graph.ops.image.resize import ResizeMethod, resize_images
from headrace.graph.ops.random.random import random_uniform
from headrace.graph.typing.aliases import TensorLike

_INT32, _DOUBLE = as_dtype("int32"), as_dtype("float64")


def _image(image: Any) -> tuple[Tensor, int]:
    """Returns the image as a tensor, and the axis of its rows: 0, or 1 for a batch."""
    image = at_least_three_dimensional(convert_to_tensor(image, name="image"))
    rank = image.get_shape().ndims
    if rank is None:  # as in TensorFlow, one image
        rank = 3
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
        with counted_as(61 + (not isinstance(k, Tensor))):
            return _turned(image, rows, k)


def _turned(image: Tensor, rows: int, k: Any) -> Tensor:
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
        if rows == 0:
            flip = op("Less", random_uniform([], 0, 1.0, seed=seed), constant(0.5))
            result = cond(flip, lambda: op("ReverseV2", image, axis), lambda: image)
            result.set_shape(image.get_shape())
            return result
        batch = op("Shape", image)[0]
        numbers = random_uniform([batch], 0, 1.0, seed=seed)
        with counted_as(13 + (image.dtype is not numbers.dtype)):
            wide = op("Reshape", numbers, op("Pack", [batch, 1, 1, 1]))
            chosen = op("GreaterEqual", wide, constant(0.5))
            return op("SelectV2", chosen, op("ReverseV2", image, axis), image)


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
        image = convert_to_tensor(image, name="image")
        fraction = central_fraction
        if isinstance(fraction, Tensor):
            fraction = constant_value(fraction)
        if fraction is None or not 0.0 < fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if fraction == 1.0:
            return image
        rank = image.get_shape().ndims
        if rank is None:
            raise ValueError("`image` should have rank 3 or 4, its rank is unknown.")
        image, rows = _image(image)
        lengths = image.get_shape().as_list()[rows : rows + 2]
        unknown = lengths.count(None)
        with counted_as(15 * unknown + (2 * (1 + rank - unknown) if unknown else 2) + 1):
            return _centre(image, rows, fraction)


def _centre(image: Tensor, rows: int, fraction: float) -> Tensor:
    begins, sizes = [], []
    for length in _sizes(image, rows):
        if isinstance(length, int):
            start: Any = int((length - length * fraction) / 2)
        else:
            wide = op("Cast", length, DstT=_DOUBLE)
            start = op("Cast", (wide - wide * fraction) / 2.0, DstT=_INT32)
        begins.append(start)
        sizes.append(length - start * 2)
    ends = ([0] * rows, [0])
    begin, size = stack([*ends[0], *begins, 0]), stack([*([-1] * rows), *sizes, -1])
    result = op("Slice", image, begin, size)
    known = image.get_shape().as_list()
    result.set_shape([*known[:rows], *[_static(n) for n in sizes], known[-1]])
    return result


def _static(n: Any) -> int | None:
    return n if isinstance(n, int) else None


class _Batch:
    """Images as a batch.

    Attributes:
      images: [batch, height, width, channels].
      single: whether it was one image.
      checks: operations that check its shape in the run.
    """

    def __init__(self, image: Any) -> None:
        self.images = convert_to_tensor(image, name="image")
        rank = self.images.get_shape().ndims
        if rank not in (3, 4, None):
            shape = self.images.get_shape()
            raise ValueError(f"'image' (shape {shape}) must have either 3 or 4 dimensions.")
        self.single = rank != 4
        if self.single:
            self.images = op("ExpandDims", self.images, 0)
        if rank is None:
            self.images.set_shape([None] * 4)
        self.checks = list(shape_checks(self.images))

    def sizes(self) -> list[Any]:
        """Returns the four dimensions, as ints if known, otherwise as tensors."""
        known = self.images.get_shape().as_list()
        if None not in known:
            return known
        found = op("Unpack", op("Shape", self.images), num=4)
        return [t if n is None else n for n, t in zip(known, found, strict=True)]

    def require(self, good: Any, message: str) -> None:
        """Adds a check. Raises: ValueError if `good` is False; InvalidArgumentError in the run."""
        if isinstance(good, Tensor):
            self.checks.append(Assert(good, [message]))
        elif not good:
            raise ValueError(message)

    def checked(self) -> Tensor:
        """Returns the images, as a tensor that depends on the checks."""
        return with_dependencies(self.checks, self.images)

    def of_rank(self, images: Tensor) -> Tensor:
        """Returns a batch of images with the rank of the argument."""
        return op("Squeeze", images, squeeze_dims=[0]) if self.single else images


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
    Raises: ValueError if the image does not fit; InvalidArgumentError in the run.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        batch = _Batch(image)
        count, height, width, depth = batch.sizes()
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        batch.require(offset_height >= 0, "offset_height must be >= 0")
        batch.require(offset_width >= 0, "offset_width must be >= 0")
        batch.require(right >= 0, "width must be <= target - offset")
        batch.require(below >= 0, "height must be <= target - offset")
        images = batch.checked()
        flat = [0, 0, offset_height, below, offset_width, right, 0, 0]
        result = op("Pad", images, op("Reshape", stack(flat), [4, 2]))
        result.set_shape([_static(n) for n in (count, target_height, target_width, depth)])
        return batch.of_rank(result)


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
    Raises: ValueError if the crop exceeds the image; InvalidArgumentError in the run.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        batch = _Batch(image)
        count, height, width, depth = batch.sizes()
        batch.require(offset_width >= 0, "offset_width must be >= 0.")
        batch.require(offset_height >= 0, "offset_height must be >= 0.")
        batch.require(target_width > 0, "target_width must be > 0.")
        batch.require(target_height > 0, "target_height must be > 0.")
        batch.require(width >= target_width + offset_width, "width must be >= target + offset.")
        batch.require(height >= target_height + offset_height, "height must be >= target + offset.")
        images = batch.checked()
        begin = stack([0, offset_height, offset_width, 0])
        result = op("Slice", images, begin, stack([-1, target_height, target_width, -1]))
        result.set_shape([_static(n) for n in (count, target_height, target_width, depth)])
        return batch.of_rank(result)


def _minimum(a: Any, b: Any) -> Any:
    return op("Minimum", a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else min(a, b)


def _maximum(a: Any, b: Any) -> Any:
    return op("Maximum", a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else max(a, b)


def _equal(a: Any, b: Any) -> Any:
    return op("Equal", a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else a == b


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
        batch = _Batch(image)
        batch.require(target_width > 0, "target_width must be > 0.")
        batch.require(target_height > 0, "target_height must be > 0.")
        batch.images = batch.checked()
        if isinstance(target_height, Tensor):
            target_height = with_dependencies(batch.checks, target_height)
        if isinstance(target_width, Tensor):
            target_width = with_dependencies(batch.checks, target_width)
        _, height, width, _ = batch.sizes()
        more_width = target_width - width
        left, before = _maximum(-more_width // 2, 0), _maximum(more_width // 2, 0)
        more_height = target_height - height
        top, above = _maximum(-more_height // 2, 0), _maximum(more_height // 2, 0)
        rows, columns = _minimum(target_height, height), _minimum(target_width, width)
        cut = crop_to_bounding_box(batch.images, top, left, rows, columns)
        padded = pad_to_bounding_box(cut, above, before, target_height, target_width)
        batch.images, batch.checks = padded, []
        _, height, width, _ = batch.sizes()
        batch.require(_equal(height, target_height), "resized height is not correct.")
        batch.require(_equal(width, target_width), "resized width is not correct.")
        return batch.of_rank(batch.checked())


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
        batch = _Batch(image)
        batch.require(target_width > 0, "target_width must be > 0.")
        batch.require(target_height > 0, "target_height must be > 0.")
        batch.images = batch.checked()
        _, height, width, _ = batch.sizes()
        now = [op("Cast", n, DstT=_DOUBLE) for n in (height, width)]
        requested = [op("Cast", n, DstT=_DOUBLE) for n in (target_height, target_width)]
        ratio = op("Maximum", now[1] / requested[1], now[0] / requested[0])
        scaled = [n / ratio for n in now]
        size = [op("Cast", op("Floor", n), DstT=_INT32) for n in scaled]
        space = [(w - s) / 2 for w, s in zip(requested, scaled, strict=True)]
        before: list[Any] = [
            op("Maximum", 0, op("Cast", op("Floor", n), DstT=_INT32)) for n in space
        ]
        small = resize_images(batch.images, size, method, align_corners)
        if all(isinstance(n, int) for n in (height, width, target_height, target_width)):
            shrunk = max(width / target_width, height / target_height)
            small.set_shape([None, int(height / shrunk), int(width / shrunk), None])
        padded = pad_to_bounding_box(small, before[0], before[1], target_height, target_width)
        batch.images = padded
        batch.sizes()
        return batch.of_rank(padded)
