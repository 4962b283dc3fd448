"""Resizing of images, and the gradients of all image ops."""

from __future__ import annotations

from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.image import hsv as image_hsv  # noqa: F401 - its gradient is of this family
from headrace.graph.typing.aliases import TensorLike

_INT32, _FLOAT = as_dtype("int32"), as_dtype("float32")


class ResizeMethod:
    """Interpolation methods, with TF 1.x's numbers."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resizes images with bilinear interpolation.

    Args:
      images: [batch, height, width, channels].
      size: [2] int32, new height and width.
      align_corners: map the centres of the corner pixels to each other.
      half_pixel_centers: pixel centres have coordinates x + 0.5.
    Returns: [batch, *size, channels] float.
    """
    corners = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return op("ResizeBilinear", images, _sizes(size), name=name, **corners)


def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resizes images with bicubic interpolation; see resize_bilinear. Source: Keys 1981."""
    corners = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return op("ResizeBicubic", images, _sizes(size), name=name, **corners)


def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resizes images to the nearest pixels, without a change of dtype; see resize_bilinear."""
    corners = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return op("ResizeNearestNeighbor", images, _sizes(size), name=name, **corners)


def resize_area(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Resizes images; each pixel is the mean of the area that it covers; see resize_bilinear."""
    return op("ResizeArea", images, _sizes(size), align_corners=align_corners, name=name)


def _sizes(size: Any) -> Tensor:
    return convert_to_tensor(size, dtype=_INT32, name="size")


_RESIZE = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}


def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes an image or a batch of images.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      size: [2] int32, new height and width.
      method: one of ResizeMethod.
      align_corners: map the centres of the corner pixels to each other.
      preserve_aspect_ratio: treat size as a maximum, and keep the aspect ratio.
    Returns: float, except for NEAREST_NEIGHBOR; images unchanged if the static size is equal.
    Raises: ValueError for another rank or an unknown method.
    """
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        rank = images.get_shape().ndims
        if rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        if method not in _RESIZE:
            raise ValueError(f"Resize method is not implemented: {method}")
        batch = op("ExpandDims", images, 0) if rank == 3 else images
        size = _sizes(size)
        if not size.get_shape().is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            shape = batch.get_shape()
            unknown = shape.as_list()[1:3].count(None)
            with counted_as(22 + 2 * (not shape.is_fully_defined()) - 2 * unknown):
                size = _fitted(batch, size)
        requested = constant_value(size)
        dims = batch.get_shape().as_list()
        if requested is not None and dims[1:3] == requested.tolist():
            return images
        result = _RESIZE[method](batch, size, align_corners)
        height, width = (None, None) if requested is None else requested.tolist()
        result.set_shape([None, height, width, None])
        return op("Squeeze", result, squeeze_dims=[0]) if rank == 3 else result


def _fitted(batch: Tensor, size: Tensor) -> Tensor:
    """Returns the greatest size within `size` that has the aspect ratio of the images."""
    now = op("Cast", op("Shape", batch)[1:3], DstT=_FLOAT)
    scale = op("Min", op("Cast", size, DstT=_FLOAT) / now, [0])
    known, requested = batch.get_shape().as_list()[1:3], constant_value(size)
    if None not in known and requested is not None:
        import numpy as np

        shape = np.asarray(known, np.float32)
        factor = (requested.astype(np.float32) / shape).min()
        return constant(np.round(factor * shape).astype(np.int32))
    return op("Cast", op("Round", scale * now), DstT=_INT32)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> Tensor:
    """Crops boxes from images, and resizes the crops to one size.

    Args:
      image: [batch, height, width, channels].
      boxes: [n, 4] float: y1, x1, y2, x2 as fractions of height and width; y2 < y1 flips the crop.
      box_ind: [n] int32, index of the image of each box; box_indices: its new name.
      crop_size: [2] int32, height and width of the crops.
      method: "bilinear" or "nearest".
      extrapolation_value: value of pixels outside of the image.
    Returns: [n, *crop_size, channels] float.
    """
    return op(
        "CropAndResize",
        image,
        boxes,
        box_indices if box_ind is None else box_ind,
        crop_size,
        method=method,
        extrapolation_value=float(extrapolation_value),
        name=name,
    )


def extract_glimpse(
    input: TensorLike,  # noqa: A002 - TF's name
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Extracts a window of each image; pixels outside of the image are noise.

    Args:
      input: [batch, height, width, channels] float.
      size: [2] int32, size of the windows.
      offsets: [batch, 2] float, centres of the windows.
      centered: offsets are relative to the centre of the image.
      normalized: offsets are fractions of the image size.
      uniform_noise: use uniform noise instead of normal noise.
    """
    return op(
        "ExtractGlimpse",
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )


# ---- gradients -----------------------------------------------------------------------------

_TYPES = {"CropAndResizeGradImage": ("float16", "float32", "float64")}


def _corners(node: Operation) -> dict[str, Any]:
    return {k: node.get_attr(k) for k in ("align_corners", "half_pixel_centers")}


def _spatial(image: Tensor) -> Any:
    known = image.get_shape().as_list()[1:3]
    return constant(known) if None not in known else op("Shape", image)[1:3]


@gradient("ResizeNearestNeighbor")
def _nearest_gradient(node: Operation, grad: Tensor) -> list[Any]:
    size = _spatial(node.inputs[0])
    return [op("ResizeNearestNeighborGrad", grad, size, **_corners(node)), None]


@gradient("ResizeBilinear")
def _bilinear_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [op("ResizeBilinearGrad", grad, node.inputs[0], **_corners(node)), None]


@gradient("ResizeBicubic")
def _bicubic_gradient(node: Operation, grad: Tensor) -> list[Any]:
    if node.inputs[0].dtype.base_dtype.name not in ("float32", "float64"):
        return [None, None]  # TensorFlow has the gradient for float and double only
    return [op("ResizeBicubicGrad", grad, node.inputs[0], **_corners(node)), None]


@gradient("ScaleAndTranslate")
def _scale_gradient(node: Operation, grad: Tensor) -> list[Any]:
    image, _, scale, translation = node.inputs
    attrs = {k: node.get_attr(k) for k in ("kernel_type", "antialias")}
    return [op("ScaleAndTranslateGrad", grad, image, scale, translation, **attrs), None, None, None]


@gradient("CropAndResize")
def _crop_gradient(node: Operation, grad: Tensor) -> list[Any]:
    image, boxes, index, _ = node.inputs
    into_image = None
    kind = image.dtype.base_dtype
    if kind.name in _TYPES["CropAndResizeGradImage"]:
        method = node.get_attr("method")
        into_image = op(
            "CropAndResizeGradImage", grad, boxes, index, op("Shape", image), T=kind, method=method
        )
    into_boxes = op("CropAndResizeGradBoxes", grad, image, boxes, index)
    return [into_image, into_boxes, None, None]


def _inverse_transform(node: Operation, grad: Tensor, *fill: Tensor) -> Tensor:
    """Applies the inverse transform to the gradient, as TensorFlow does."""
    image, transforms = node.inputs[:2]
    count = op("Shape", transforms)[:1]
    ones = op("Fill", op("ConcatV2", [count, [1]], 0), constant(1.0))
    matrices = op("Reshape", op("ConcatV2", [transforms, ones], 1), [-1, 3, 3])
    inverse = op("Reshape", op("MatrixInverse", matrices), [-1, 9])
    flat = (inverse / inverse[:, 8:9])[:, :8]
    attrs = {k: node.get_attr(k) for k in ("interpolation", "fill_mode")}
    size = op("Shape", image)[1:3]
    result: Tensor = op(node.type, grad, flat, size, *fill, **attrs)
    return result


@gradient("ImageProjectiveTransformV2")
def _projective_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [_inverse_transform(node, grad), None, None]


@gradient("ImageProjectiveTransformV3")
def _projective_v3_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [_inverse_transform(node, grad, constant(0.0)), None, None, None]


_REASONS = {
    **dict.fromkeys(("Decode", "Encode", "Extract"), "files and noise have no gradient"),
    **dict.fromkeys(("NonMax", "Combined", "Sample"), "boxes are chosen, not computed"),
    "Draw": "TensorFlow defines none",
}
_DIFFERENTIABLE = {
    "ResizeNearestNeighbor",
    "ResizeBilinear",
    "ResizeBicubic",
    "ScaleAndTranslate",
    "CropAndResize",
    "ImageProjectiveTransformV2",
    "ImageProjectiveTransformV3",
    "RGBToHSV",
}
for _op_type in op_catalogue.names():
    if op_catalogue.family(_op_type) == "image" and _op_type not in _DIFFERENTIABLE:
        _why = [why for start, why in _REASONS.items() if _op_type.startswith(start)]
        no_gradient(_op_type, _why[0] if _why else "TensorFlow defines none")
