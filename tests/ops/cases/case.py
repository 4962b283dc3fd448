"""What a case is, and how its inputs are made."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype

T = "T"  # in a spec or an attribute: the dtype that the case is run for
Spec = Callable[[np.random.Generator, np.dtype], Any]

_ALL = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "bool complex64 complex128 string"
).split()


@dataclass(frozen=True)
class Derived:
    """An input that follows from those before it, such as a forward op's output."""

    function: Callable[[list[Any]], np.ndarray]
    typed: bool = True


@dataclass(frozen=True)
class Case:
    """One op under one set of attributes and inputs.

    Attributes:
      inputs: one spec per input of the op; a list of specs for a list input.
      dtypes: names of the types that the case is run for; empty: all that the catalogue allows
        for the inputs that are of type T.
      smooth: whether the op is differentiable around the inputs, so that its gradient may be
        compared with differences.
      exact: whether two right kernels give the same values (False for random ops).
      in_tensorflow: False where TensorFlow's CPU kernels reject what ours do, or are wrong.
      undefined: outputs whose values mean nothing.
      flat_outputs: outputs through which, by TensorFlow's rule, no gradient flows back.
    """

    op: str
    inputs: tuple[Any, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    smooth: bool = True
    exact: bool = True
    in_tensorflow: bool = True
    undefined: tuple[int, ...] = ()
    flat_outputs: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        text = ",".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"{self.op}({text})" if text else self.op

    def types(self) -> tuple[str, ...]:
        """The dtypes to run for; one empty name where nothing is of type T."""
        signature = op_catalogue.signature(self.op)
        allowed: set[str] | None = None
        for arg, spec in zip(signature.inputs, self.inputs, strict=True):
            specs = spec if isinstance(spec, list) else [spec]
            if not arg.type_attr or not any(getattr(s, "typed", False) for s in specs):
                continue
            (attr,) = [a for a in signature.attrs if a.name == arg.type_attr]
            own = {as_dtype(n).name for n in attr.allowed} if attr.allowed else set(_ALL)
            allowed = own if allowed is None else allowed & own
        if allowed is None:
            return self.dtypes or ("",)
        return tuple(n for n in self.dtypes or _ALL if n in allowed)

    def values(self, dtype: str, variant: int = 0) -> list[Any]:
        """The inputs, the same at each call: arrays, and lists of arrays for list inputs."""
        seed = zlib.crc32(f"{self.name} {dtype} {variant}".encode())
        rng = np.random.default_rng(seed)
        kind = np.dtype(as_dtype(dtype or "float32").as_numpy_dtype)
        result: list[Any] = []
        for spec in self.inputs:
            if isinstance(spec, list):
                result.append([one(rng, kind) for one in spec])
            elif isinstance(spec, Derived):
                result.append(spec.function(result))
            else:
                result.append(spec(rng, kind))
        return result

    def attributes(self, dtype: str) -> dict[str, Any]:
        """The attributes that the inputs do not say, with T resolved."""
        return {k: dtype if v is T else v for k, v in self.attrs.items()}


def cases_of(module: Any) -> Iterator[Case]:
    """All cases of a family's module."""
    yield from module.CASES


# ---- specs ----


def _typed(spec: Spec) -> Spec:
    spec.typed = True  # type: ignore[attr-defined]
    return spec


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Spec:
    """Anything between low and high, of type T; of unsigned types not below 0."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        if dtype.kind == "b":
            return rng.random(shape) < 0.5
        if dtype.kind == "O":
            words = np.array([b"", b"a", b"stone", b"\xff\x00", "größe".encode()], object)
            return np.asarray(rng.choice(words, shape), object)
        if dtype.kind in "iu":
            least = max(int(np.ceil(low)), 0 if dtype.kind == "u" else int(low) - 9)
            return rng.integers(least, max(int(high), least) + 1, shape).astype(dtype)
        x = rng.uniform(low, high, shape)
        if dtype.kind == "c":
            x = x + 1j * rng.uniform(low, high, shape)
        return np.asarray(x).astype(dtype)

    return _typed(make)


def positive(*shape: int) -> Spec:
    """Away from 0, of type T."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        if dtype.kind in "iu":
            return rng.integers(1, 9, shape).astype(dtype)
        x = rng.uniform(0.25, 3.0, shape)
        if dtype.kind == "c":
            x = x + 1j * rng.uniform(0.25, 3.0, shape)
        return np.asarray(x).astype(dtype)

    return _typed(make)


def distinct(*shape: int, shift: float = 0.125) -> Spec:
    """No two values alike or near, of type T: order is clear, and stays so under a small step.

    Two tensors of different shifts between 0 and 0.25 share no value either.
    """

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        count = int(np.prod(shape))
        if dtype.kind == "O":
            return np.array([b"%d" % n for n in rng.permutation(count)], object).reshape(shape)
        order = rng.permutation(count) - (0 if dtype.kind in "ub" else count // 2)
        if dtype.kind in "iub":
            return order.astype(dtype).reshape(shape)
        return (order * 0.25 + shift).astype(dtype).reshape(shape)

    return _typed(make)


def probabilities(*shape: int) -> Spec:
    """Rows that sum to one, of type T."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        x = rng.uniform(0.1, 1, shape)
        return (x / x.sum(axis=-1, keepdims=True)).astype(dtype)

    return _typed(make)


def special(*shape: int) -> Spec:
    """NaN, infinities and zeros of both signs among others; the extremes of integer types."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        if dtype.kind == "b":
            return rng.random(shape) < 0.5
        if dtype.kind in "iu":
            ends = np.iinfo(dtype)
            pool = np.array([ends.min, ends.max, 0, 1, 2, 3], dtype)
            return rng.choice(pool, shape)
        pool = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, -30.0])
        return rng.choice(pool, shape).astype(dtype)

    return _typed(make)


def integers(*shape: int, low: int = 0, high: int, dtype: str = "int32") -> Spec:
    """low <= n < high, of a type of their own."""
    return lambda rng, _: np.asarray(rng.integers(low, high, shape)).astype(dtype)


def floats(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Spec:
    """Numbers of a type of their own."""
    return lambda rng, _: np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def flags(*shape: int) -> Spec:
    return lambda rng, _: rng.random(shape) < 0.5


def literal(value: Any, dtype: str = "int32") -> Spec:
    """Just this; of type T where `dtype` is T."""
    if dtype is T:
        return _typed(lambda rng, kind: np.asarray(value).astype(kind))
    if dtype == "string":
        return lambda rng, _: np.array(value, object)
    return lambda rng, _: np.asarray(value).astype(as_dtype(dtype).as_numpy_dtype)
