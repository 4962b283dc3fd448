"""Fourier transforms of the last one to three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.elementwise.elementwise import cast, real
from headrace.graph.ops.reduction import reduce_prod
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import RealTransform, Transform

_PLAIN = {1: "", 2: "2D", 3: "3D"}


def _transform(function_name: str, op_type: str, summary: str) -> Transform:
    def function(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002 - TF's name
        return op(op_type, input, name=name)

    function.__doc__ = f"{summary}. Args: input: [...] complex. Returns: the same shape and type."
    function.__name__ = function.__qualname__ = function_name
    return function


fft = _transform("fft", "FFT", "The Fourier transform along the last dimension")
ifft = _transform("ifft", "IFFT", "The inverse of fft")
fft2d = _transform("fft2d", "FFT2D", "The Fourier transform along the last two dimensions")
ifft2d = _transform("ifft2d", "IFFT2D", "The inverse of fft2d")
fft3d = _transform("fft3d", "FFT3D", "The Fourier transform along the last three dimensions")
ifft3d = _transform("ifft3d", "IFFT3D", "The inverse of fft3d")


def _real_transform(function_name: str, op_type: str, n: int, summary: str) -> RealTransform:
    def function(
        input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
    ) -> Tensor:
        x = convert_to_tensor(input_tensor)
        inverse = op_type.startswith("I")
        double = x.dtype.base_dtype.name in ("complex128", "float64")
        if fft_length is None:
            length = _length(x, n, inverse)
        else:
            length = convert_to_tensor(fft_length, dtype=as_dtype("int32"))
            x = _padded(x, length, n, inverse)
        if inverse:
            return op(op_type, x, length, Treal=as_dtype("float64" if double else "float32"),
                      name=name)  # fmt: skip
        return op(op_type, x, length, Tcomplex=as_dtype("complex128" if double else "complex64"),
                  name=name)  # fmt: skip

    function.__doc__ = (
        f"{summary}.\n\n    Args:\n      fft_length: [{n}] int32, the real side's sizes, which the "
        "input is cut or filled up to;\n        by default the input's own (of an inverse: the "
        "last one even).\n    "
    )
    function.__name__ = function.__qualname__ = function_name
    return function


def _length(x: Tensor, n: int, inverse: bool) -> Tensor:
    """Returns the sizes of the real tensor."""
    known: list[Any] = [None]
    if x.get_shape().ndims is not None:
        known = x.get_shape().as_list()[-n:]
    if None in known:
        sizes = op("Shape", x)[-n:]
        if not inverse:
            return sizes
        last = op("Maximum", constant(0), (sizes[-1:] - 1) * 2)
        return op("ConcatV2", [sizes[:-1], last], 0)
    if inverse:
        known[-1] = max(0, 2 * (known[-1] - 1))
    return constant(known, dtype=as_dtype("int32"))


def _padded(x: Tensor, length: Tensor, n: int, inverse: bool) -> Tensor:
    """Pads the last n dimensions of x with zeros to the sizes of the transform."""
    rank = x.get_shape().ndims
    if rank is None:
        return x
    requested = constant_value(length)
    known = x.get_shape().as_list()[rank - n :]
    if requested is not None and None not in known:
        sizes = [int(w) for w in requested]
        if inverse:
            sizes[-1] = sizes[-1] // 2 + 1 if sizes[-1] else 0
        ends = [max(0, w - int(k or 0)) for w, k in zip(sizes, known, strict=True)]
        if not any(ends):
            return x
        return op("Pad", x, [[0, 0]] * (rank - n) + [[0, e] for e in ends])
    last = length[-1:]
    if inverse:
        some = op("Cast", op("Greater", last, 0), DstT=as_dtype("int32"))
        last = op("FloorDiv", last, 2) + some
    sizes_ = op("ConcatV2", [length[:-1], last], 0)
    more = op("Maximum", sizes_ - op("Shape", x)[rank - n :], constant(0))
    ends_ = op("Pack", [op("ZerosLike", more), more], axis=1)
    return op("Pad", x, op("ConcatV2", [np.zeros((rank - n, 2), np.int32), ends_], 0))


rfft = _real_transform(
    "rfft", "RFFT", 1, "The Fourier transform of real numbers, without its mirror half"
)
irfft = _real_transform("irfft", "IRFFT", 1, "The inverse of rfft")
rfft2d = _real_transform("rfft2d", "RFFT2D", 2, "fft2d of real numbers, without its mirror half")
irfft2d = _real_transform("irfft2d", "IRFFT2D", 2, "The inverse of rfft2d")
rfft3d = _real_transform("rfft3d", "RFFT3D", 3, "fft3d of real numbers, without its mirror half")
irfft3d = _real_transform("irfft3d", "IRFFT3D", 3, "The inverse of rfft3d")


# ---- gradients -----------------------------------------------------------------------------


def _count(x: Tensor, n: int) -> Tensor:
    result: Tensor = cast(reduce_prod(op("Shape", x)[-n:]), x.dtype.base_dtype)
    return result


def _complex_gradients(n: int) -> None:
    kind = _PLAIN[n]

    @gradient(f"FFT{kind}")
    def forward(node: Operation, grad: Tensor) -> Tensor:
        return op(f"IFFT{kind}", grad) * _count(grad, n)

    @gradient(f"IFFT{kind}")
    def inverse(node: Operation, grad: Tensor) -> Tensor:
        return op(f"FFT{kind}", grad) / _count(grad, n)


def _real_gradients(n: int) -> None:
    kind = _PLAIN[n]

    @gradient(f"RFFT{kind}")
    def forward(node: Operation, grad: Tensor) -> list[Any]:
        """The omitted half of the output is the conjugate of this one, and has no gradient."""
        x, length = node.inputs
        rank = _rank(x)
        whole = op("ConcatV2", [op("Shape", grad)[: rank - n], length], 0)
        full = op(f"IFFT{kind}", _cropped_or_padded(grad, whole, rank))
        result = real(full) * cast(reduce_prod(length), x.dtype.base_dtype)
        return [_cropped_or_padded(result, op("Shape", x), rank), None]

    @gradient(f"IRFFT{kind}")
    def inverse(node: Operation, grad: Tensor) -> list[Any]:
        """Columns with a conjugate count twice: all except the first and the middle one."""
        x, length = node.inputs
        kept = x.dtype.base_dtype
        half = op(f"RFFT{kind}", grad, length, Tcomplex=kept)
        columns = op("Range", 0, op("Shape", half)[-1], 1)
        own = op("LogicalOr", op("Equal", columns, 0), op("Equal", columns * 2, length[-1]))
        one, two = constant(1, dtype=kept), constant(2, dtype=kept)
        weight = op("SelectV2", own, one, two) / cast(reduce_prod(length), kept)
        return [_cropped_or_padded(half * weight, op("Shape", x), _rank(x)), None]


def _rank(x: Tensor) -> int:
    rank = x.get_shape().ndims
    if rank is None:
        raise ValueError("the gradient of a real Fourier transform needs the rank of its input")
    return int(rank)


def _cropped_or_padded(x: Tensor, shape: Tensor, rank: int) -> Tensor:
    """Crops x, or pads it with zeros at the ends, to a shape."""
    now = op("Shape", x)
    cut = op("Slice", x, np.zeros(rank, np.int32), op("Minimum", now, shape))
    more = op("Maximum", shape - now, constant(0))
    result: Tensor = op("Pad", cut, op("Pack", [op("ZerosLike", more), more], axis=1))
    return result


for _n in _PLAIN:
    _complex_gradients(_n)
    _real_gradients(_n)
