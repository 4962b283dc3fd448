"""Products of matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.formats.errors import InvalidArgumentError, UnimplementedError
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("MatMul")
def matmul(attrs: Attrs, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _product(attrs, a, b).astype(a.dtype)


@kernel("SparseMatMul")
def sparse_matmul(attrs: Attrs, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _product(attrs, a, b).astype(np.float32)


def _product(attrs: Attrs, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"both must be matrices: a is {list(a.shape)}, b is {list(b.shape)}")
    a = a.T if attrs["transpose_a"] else a
    b = b.T if attrs["transpose_b"] else b
    return np.matmul(wide(a), wide(b))


@kernel("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    target = numpy_type(attrs.get("Tout") or attrs["T"])
    if "c" in (x.dtype.kind, y.dtype.kind) and target.kind != "c":
        raise InvalidArgumentError(
            None, None, f"products of {x.dtype} and {y.dtype} do not fit in Tout, {target}"
        )
    if x.dtype.kind in "iu":
        x, y = x.astype(target), y.astype(target)
    x = np.conj(np.swapaxes(wide(x), -1, -2)) if attrs["adj_x"] else wide(x)
    y = np.conj(np.swapaxes(wide(y), -1, -2)) if attrs["adj_y"] else wide(y)
    return np.matmul(x, y).astype(target)


@kernel("Einsum")
def einsum(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    equation = attrs["equation"].decode()
    return np.einsum(equation, *[wide(x) for x in inputs]).astype(inputs[0].dtype)


@kernel("_FusedMatMul")
def fused_matmul(attrs: Attrs, a: np.ndarray, b: np.ndarray, *args: np.ndarray) -> np.ndarray:
    return apply_fused_ops(attrs, _product(attrs, a, b), args).astype(a.dtype)


def apply_fused_ops(attrs: Attrs, y: np.ndarray, args: tuple[np.ndarray, ...]) -> np.ndarray:
    """The operations that a graph pass hung on a product, channels last."""
    _check_fused_ops(attrs["fused_ops"], args)
    rest = list(args)
    for name in attrs["fused_ops"]:
        if name == b"BiasAdd":
            y = y + wide(rest.pop(0))
        elif name == b"FusedBatchNorm":
            scale, offset, mean, variance = [wide(rest.pop(0)) for _ in range(4)]
            y = (y - mean) * scale / np.sqrt(variance + attrs["epsilon"]) + offset
        else:
            y = _ACTIVATIONS[name](attrs, y)
    return y


def _check_fused_ops(names: list[bytes], args: tuple[np.ndarray, ...]) -> None:
    needed = {b"BiasAdd": 1, b"FusedBatchNorm": 4}.get(names[0], 0) if names else 0
    if not needed or len(names) > 2 or any(name not in _ACTIVATIONS for name in names[1:]):
        shown = ",".join(name.decode(errors="backslashreplace") for name in names)
        raise UnimplementedError(None, None, f"Fusion is not implemented: [{shown[:200]}]")
    if len(args) < needed or any(arg.ndim != 1 for arg in args[:needed]):
        raise InvalidArgumentError(
            None, None, f"{names[0].decode()} must have {needed} vectors as extra arguments: "
            f"{[arg.shape for arg in args]} are given"
        )  # fmt: skip


_ACTIVATIONS: dict[bytes, Callable[[Attrs, np.ndarray], np.ndarray]] = {
    b"Relu": lambda attrs, y: np.maximum(y, 0),
    b"Relu6": lambda attrs, y: np.clip(y, 0, 6),
    b"Elu": lambda attrs, y: np.where(y > 0, y, np.expm1(y)),
    b"LeakyRelu": lambda attrs, y: np.where(y > 0, y, y * attrs["leakyrelu_alpha"]),
    b"Tanh": lambda attrs, y: np.tanh(y),
    b"Sigmoid": lambda attrs, y: 1 / (1 + np.exp(-y)),
}
