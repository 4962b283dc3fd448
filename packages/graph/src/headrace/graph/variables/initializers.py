"""Initializers: callables that create initial values for a shape and dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import DTypeLike, TensorLike


class Initializer:
    """Base class of initializers: `f(shape, dtype=None, partition_info=None) -> Tensor`."""

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Creates an initializer from the result of get_config."""
        return cls(**{k: v for k, v in config.items() if k != "dtype" or "dtype" in _fields(cls)})


def _fields(cls: type) -> Any:
    return cls.__init__.__code__.co_varnames  # type: ignore[misc]


class _Typed(Initializer):
    """An initializer with a default dtype."""

    def __init__(self, dtype: DTypeLike = float32) -> None:
        self.dtype = as_dtype(dtype)

    def _type(self, dtype: Any) -> Any:
        return self.dtype if dtype is None else as_dtype(dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"dtype": self.dtype.name}


def _filled(shape: Any, value: Any, dtype: Any, name: str) -> Any:
    shape = list(shape)
    if math.prod([int(d) for d in shape]) < 1000:
        return constant(value, dtype, shape=shape, name=name)
    with name_scope(name) as scope:
        sizes = constant(shape, as_dtype("int32"), name="shape_as_tensor")
        return op("Fill", sizes, constant(value, dtype, name="Const"), name=scope)


def _zero(dtype: Any) -> Any:
    return b"" if dtype.as_datatype_enum == 7 else False if dtype.is_bool else 0


class Zeros(_Typed):
    """Initializes to zeros ("" for strings)."""

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        dtype = self._type(dtype).base_dtype
        return _filled(shape, _zero(dtype), dtype, "zeros")


class Ones(_Typed):
    """Initializes to ones."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self._type(dtype).base_dtype
        return _filled(shape, True if dtype.is_bool else 1, dtype, "ones")


class Constant(_Typed):
    """Initializes to the elements of a value; the last one is repeated.

    Args:
      value: number, list or array, in row-major order.
      dtype: default dtype.
      verify_shape: require a value of the shape of the variable.
    Raises: TypeError for other values.
    """

    def __init__(
        self, value: TensorLike = 0, dtype: DTypeLike = float32, verify_shape: bool = False
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(f"Invalid type for initial value: {type(value)}")
        super().__init__(dtype)
        self.value = value
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: DTypeLike | None = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Any:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, self._type(dtype), shape=shape, verify_shape=verify)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"value": self.value, "dtype": self.dtype.name}


class _Random(_Typed):
    """Base class of random initializers, with seed and default dtype."""

    def __init__(self, seed: int | None, dtype: DTypeLike) -> None:
        super().__init__(dtype)
        if not self.dtype.is_floating and not self.dtype.is_integer:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")
        self.seed = seed


def _random(kind: str, shape: Any, a: Any, b: Any, dtype: Any, seed: Any) -> Any:
    from headrace.graph.ops.random import random

    return getattr(random, kind)(shape, a, b, dtype, seed=seed)


class RandomUniform(_Random):
    """Samples from the uniform distribution over [minval, maxval)."""

    def __init__(
        self,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        super().__init__(seed, dtype)
        self.minval = minval
        self.maxval = maxval

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self._type(dtype)
        maxval = 1.0 if self.maxval is None and dtype.is_floating else self.maxval
        return _random("random_uniform", shape, self.minval, maxval, dtype, self.seed)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            "minval": self.minval,
            "maxval": self.maxval,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class RandomNormal(_Random):
    """Samples from a normal distribution."""

    _kind = "random_normal"

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        super().__init__(seed, dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")
        self.mean = mean
        self.stddev = stddev

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        return _random(self._kind, shape, self.mean, self.stddev, self._type(dtype), self.seed)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            "mean": self.mean,
            "stddev": self.stddev,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class TruncatedNormal(RandomNormal):
    """Samples from a normal distribution, truncated at two standard deviations."""

    _kind = "truncated_normal"


class UniformUnitScaling(_Random):
    """Samples uniformly, scaled so that a linear layer preserves the variance of its input."""

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        super().__init__(seed, dtype)
        self.factor = factor

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        full = shape if partition_info is None else partition_info.full_shape
        size = max(float(math.prod([int(d) for d in full[:-1]])), 1.0) if len(full) else 1.0
        bound = math.sqrt(3 / size) * self.factor
        return _random("random_uniform", shape, -bound, bound, self._type(dtype), self.seed)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


class VarianceScaling(_Random):
    """Samples with variance scale / n, where n is the number of inputs, outputs, or their mean.

    Args:
      scale: factor above 0.
      mode: "fan_in", "fan_out" or "fan_avg".
      distribution: "normal" (truncated), "truncated_normal", "untruncated_normal" or "uniform".
    Raises: ValueError for other values.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"`scale` must be positive float, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        super().__init__(seed, dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        dtype = self._type(dtype)
        fan_in, fan_out = fans(shape if partition_info is None else partition_info.full_shape)
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}
        variance = self.scale / max(1.0, count[self.mode])
        if self.distribution in ("normal", "truncated_normal"):
            # Standard deviation of a unit normal truncated at two standard deviations.
            stddev = math.sqrt(variance) / 0.87962566103423978
            return _random("truncated_normal", shape, 0.0, stddev, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return _random("random_normal", shape, 0.0, math.sqrt(variance), dtype, self.seed)
        bound = math.sqrt(3.0 * variance)
        return _random("random_uniform", shape, -bound, bound, dtype, self.seed)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


def fans(shape: Any) -> tuple[int, int]:
    """Returns (fan_in, fan_out) of weights of a shape."""
    dims = [int(d) for d in shape]
    if not dims:
        return 1, 1
    if len(dims) == 1:
        return dims[0], dims[0]
    window = math.prod(dims[:-2])
    return dims[-2] * window, dims[-1] * window


class GlorotUniform(VarianceScaling):
    """Samples uniformly with variance 2 / (fan_in + fan_out). Source: Glorot and Bengio 2010."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Truncated normal, variance 2 / (fan_in + fan_out). Source: Glorot and Bengio 2010."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class Orthogonal(_Random):
    """A random orthogonal matrix times gain; all axes but the last are flattened.
    Source: Saxe et al. 2014.
    """

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        super().__init__(seed, dtype)
        self.gain = gain

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        dims = [int(d) for d in shape]
        if len(dims) < 2:
            raise ValueError(
                f"The tensor to initialize must be at least two-dimensional, got {dims}"
            )
        rows, columns = math.prod(dims[:-1]), dims[-1]
        flat = [max(rows, columns), min(rows, columns)]
        a = _random("random_normal", flat, 0.0, 1.0, self._type(dtype), self.seed)
        q, r = op("Qr", a, full_matrices=False)
        # Multiplying by the signs of the diagonal of r makes the distribution uniform.
        q = op("Mul", q, op("Sign", op("DiagPart", r)), name="mul")
        if rows < columns:
            q = op("Transpose", q, [1, 0])
        return op("Mul", self.gain, op("Reshape", q, dims), name="mul")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(_Typed):
    """An identity matrix times gain. Raises: ValueError, when called, for another rank."""

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        full = shape if partition_info is None else partition_info.full_shape
        if len(full) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        dtype = self._type(dtype)
        matrix = np.eye(int(full[0]), int(full[1])) * self.gain
        if partition_info is not None:
            at, size = partition_info.var_offset, shape
            matrix = matrix[at[0] : at[0] + size[0], at[1] : at[1] + size[1]]
        # A diagonal of ones, zeros around it if the matrix is not square, times gain.
        count_nodes(3 + (full[0] != full[1]))
        return constant(matrix.astype(dtype.as_numpy_dtype), name="eye")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"gain": self.gain, "dtype": self.dtype.name}


zeros_initializer = zeros = Zeros
ones_initializer = ones = Ones
constant_initializer = Constant
uniform_initializer = random_uniform_initializer = random_uniform = RandomUniform
random_normal_initializer = random_normal = RandomNormal
truncated_normal_initializer = truncated_normal = TruncatedNormal
uniform_unit_scaling_initializer = uniform_unit_scaling = UniformUnitScaling
variance_scaling_initializer = variance_scaling = VarianceScaling
glorot_uniform_initializer = glorot_uniform = GlorotUniform
glorot_normal_initializer = glorot_normal = GlorotNormal
orthogonal_initializer = orthogonal = Orthogonal
identity_initializer = identity = Identity


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Returns a truncated normal initializer, variance 2 / fan_in. Source: He et al. 2015."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns a uniform initializer, variance 2 / fan_in. Source: He et al. 2015."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Returns a truncated normal initializer, variance 1 / fan_in. Source: LeCun et al. 1998."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns a uniform initializer, variance 1 / fan_in. Source: LeCun et al. 1998."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)
