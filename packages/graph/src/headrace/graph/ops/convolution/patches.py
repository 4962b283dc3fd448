"""Extraction of patches of images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.builder.required import required
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.elementwise.elementwise import imag, real
from headrace.graph.typing.aliases import TensorLike


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """Extracts patches of images, each flattened along the last dimension.

    Args:
      images: [batch, height, width, channels].
      ksizes: [1, height, width, 1], size of a patch; sizes: its new name.
      strides: [1, rows, columns, 1], steps between patches.
      rates: [1, rows, columns, 1], steps between the pixels of a patch.
      padding: "SAME" or "VALID".
    Returns: [batch, rows, columns, ksizes[1] * ksizes[2] * channels].
    """
    return op(
        "ExtractImagePatches",
        images,
        ksizes=list(required(sizes if ksizes is None else ksizes, "ksizes")),
        strides=list(required(strides, "strides")),
        rates=list(required(rates, "rates")),
        padding=padding,
        name=name,
    )


def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Same as extract_image_patches, its new name."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def extract_volume_patches(
    input: TensorLike,  # noqa: A002 - TF's name
    ksizes: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Extracts patches of volumes; see extract_image_patches.

    Args:
      input: [batch, planes, height, width, channels].
      ksizes, strides: five ints.
      padding: "SAME" or "VALID".
    """
    return op(
        "ExtractVolumePatches",
        input,
        ksizes=list(ksizes),
        strides=list(strides),
        padding=padding,
        name=name,
    )


# ---- gradients -----------------------------------------------------------------------------


@gradient("ExtractImagePatches")
def _image_patches_gradient(node: Operation, grad: Tensor) -> Tensor:
    rates = {"dilations": node.get_attr("rates")}
    return _patches_gradient(node, grad, "Conv2DBackpropInput", rates)


@gradient("ExtractVolumePatches")
def _volume_patches_gradient(node: Operation, grad: Tensor) -> Tensor:
    return _patches_gradient(node, grad, "Conv3DBackpropInputV2", {})


def _patches_gradient(node: Operation, grad: Tensor, back: str, attrs: dict[str, Any]) -> Tensor:
    """Computes the gradient as that of a depthwise convolution with one-hot filters."""
    if grad.dtype.is_complex:
        parts = [_patches_gradient(node, part(grad), back, attrs) for part in (real, imag)]
        return op("Complex", *parts, Tout=grad.dtype.base_dtype)
    window = list(node.get_attr("ksizes"))[1:-1]
    n = len(window)
    size = int(np.prod(window))
    dtype = grad.dtype.base_dtype
    filters = constant(np.eye(size).reshape(*window, 1, size), dtype=dtype)
    batch, *spatial, depth = op("Unpack", op("Shape", node.inputs[0]), num=n + 2)
    out = op("Unpack", op("Shape", grad), num=n + 2)[1:-1]
    apart = op("Reshape", grad, op("Pack", [batch, *out, constant(size), depth]))
    before = op("Transpose", apart, [0, n + 2, *range(1, n + 2)])
    joint = op("Mul", batch, depth)
    flat = op("Reshape", before, op("Pack", [joint, *out, constant(size)]))
    sizes = op("Pack", [joint, *spatial, constant(1)])
    strides, padding = node.get_attr("strides"), node.get_attr("padding")
    result = op(back, sizes, filters, flat, strides=strides, padding=padding, **attrs)
    images = op("Reshape", result, op("Pack", [batch, depth, *spatial]))
    found = op("Transpose", images, [0, *range(2, n + 2), 1])
    found.set_shape(node.inputs[0].get_shape())
    return found
