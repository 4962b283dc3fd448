"""Random tensors with stateful generators, and dropout."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes, get_seed
from headrace.graph.framework.op_registry import gradient, gradient_not_implemented, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import as_shape
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


def _seeds(seed: int | None) -> dict[str, Any]:
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


def _shape(shape: Any) -> Tensor:
    """Converts a shape to a tensor; an empty one becomes int32."""
    if isinstance(shape, Tensor):
        return shape
    return convert_to_tensor(
        shape if shape is not None and len(shape) else constant([], dtype="int32"), name="shape"
    )


def random_uniform(
    shape: ShapeLike | TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples from the uniform distribution over [minval, maxval).

    Args:
      shape: shape of the result.
      minval: lower bound; 0 by default.
      maxval: upper bound; 1 by default for floats, required for integers.
      dtype: dtype of the result.
      seed: op seed, see set_random_seed.
    Raises: ValueError for an integer dtype without maxval.
    """
    requested = as_dtype(dtype)
    if not (requested.is_floating or requested.is_integer):
        raise ValueError(f"Invalid dtype {requested}")
    if maxval is None:
        if requested.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {requested.name}")
        maxval = 1
    with name_scope(name or "random_uniform") as scope:
        low = convert_to_tensor(minval, dtype=requested, name="min")
        high = convert_to_tensor(maxval, dtype=requested, name="max")
        if requested.is_integer:
            return op("RandomUniformInt", _shape(shape), low, high, name=scope, **_seeds(seed))
        unit = op("RandomUniform", _shape(shape), dtype=requested, **_seeds(seed))
        return op("AddV2", unit * (high - low), low, name=scope)


def random_normal(
    shape: ShapeLike | TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples from a normal distribution; see random_uniform for shape, dtype and seed."""
    return _normal(
        "RandomStandardNormal", shape, mean, stddev, dtype, seed, name or "random_normal"
    )


def truncated_normal(
    shape: ShapeLike | TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples from a normal distribution, truncated at two standard deviations."""
    return _normal("TruncatedNormal", shape, mean, stddev, dtype, seed, name or "truncated_normal")


def _normal(
    op_type: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: int | None, name: str
) -> Tensor:
    requested = as_dtype(dtype)
    with name_scope(name) as scope:
        middle = convert_to_tensor(mean, dtype=requested, name="mean")
        spread = convert_to_tensor(stddev, dtype=requested, name="stddev")
        unit = op(op_type, _shape(shape), dtype=requested, **_seeds(seed))
        return op("AddV2", unit * spread, middle, name=scope)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffles the rows of value."""
    return op("RandomShuffle", value, name=name, **_seeds(seed))


def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Crops a random part of the given size."""
    with name_scope(name or "random_crop") as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtype="int32", name="size")
        count_nodes(7)  # an assertion that the size fits
        room = op("Shape", value) - size + 1
        offset = op(
            "FloorMod",
            random_uniform(op("Shape", room), maxval=2**31 - 1, dtype="int32", seed=seed),
            room,
        )
        return op("Slice", value, offset, size, name=scope)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Samples class indices by unnormalised log-probabilities.

    Args:
      logits: [batch, classes].
      num_samples: number of samples per row.
      seed: op seed.
      output_dtype: int32 or int64.
    Returns: [batch, num_samples], int64 by default.
    """
    return op(
        "Multinomial",
        logits,
        num_samples,
        output_dtype=as_dtype(output_dtype or "int64"),
        name=name,
        **_seeds(seed),
    )


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Same as multinomial."""
    return multinomial(logits, num_samples, seed, name, dtype)


def random_gamma(
    shape: ShapeLike | TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples from Gamma(alpha, beta). Returns: shape + broadcast shape of alpha and beta."""
    with name_scope(name or "random_gamma"):
        requested = as_dtype(dtype)
        alpha = convert_to_tensor(alpha, dtype=requested, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype=requested, name="beta")
        alpha = alpha + op("ZerosLike", beta)
        drawn = op("RandomGamma", _shape(shape), alpha, **_seeds(seed)) / beta
        return op(
            "Maximum",
            drawn,
            constant(requested.as_numpy_dtype(0) + _tiny(requested), dtype=requested),
        )


def _tiny(dtype: Any) -> Any:
    import numpy as np

    return np.finfo(dtype.as_numpy_dtype).tiny


def random_poisson(
    lam: TensorLike,
    shape: ShapeLike | TensorLike,
    dtype: DTypeLike = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples from Poisson(lam). Returns: shape + shape of lam."""
    return op(
        "RandomPoissonV2", _shape(shape), lam, dtype=as_dtype(dtype), name=name, **_seeds(seed)
    )


def dropout(
    x: TensorLike,
    keep_prob: Any = None,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Sets elements to 0 with probability rate, and scales the others by 1 / (1 - rate).

    Args:
      x: [...] float.
      keep_prob: 1 - rate, the old form of rate.
      noise_shape: shape of the random mask, broadcast to x.
      seed: op seed.
      rate: scalar from [0, 1).
    Returns: shape and dtype of x.
    Raises: ValueError unless exactly one of rate and keep_prob is given, for another dtype, or for
      a static rate outside of [0, 1).
    Source: Srivastava et al. 2014.
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("dropout: give either rate or keep_prob")
    with name_scope(name or "dropout"):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(f"x has to be a floating point tensor, got {x.dtype.name}")
        if rate is None:
            if isinstance(keep_prob, str):
                raise ValueError(
                    f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})"
                )
            rate = 1 - keep_prob
        if isinstance(rate, int | float):
            if not 0 <= rate < 1:
                raise ValueError(
                    f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}"
                )
            if rate == 0:
                return x
        rate = convert_to_tensor(rate, dtype=x.dtype.base_dtype, name="rate")
        shape = _noise_shape(x, noise_shape)
        count_nodes(2)  # the bounds of random_uniform
        drawn = op("RandomUniform", shape, dtype=x.dtype.base_dtype, **_seeds(seed))
        keep = op("Cast", op("GreaterEqual", drawn, rate), DstT=x.dtype.base_dtype)
        one = constant(1.0, dtype=x.dtype.base_dtype)
        result = x * (one / (one - rate)) * keep
        count_nodes(4)
        result.set_shape(x.get_shape())
        return result


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """Returns the shape of dropout's mask; None in noise_shape is a dimension of x."""
    known = x.get_shape()
    if noise_shape is None:
        if known.is_fully_defined():
            return constant(known.as_list(), dtype="int32", name="Shape")
        return op("Shape", x)
    if isinstance(noise_shape, Tensor) or known.ndims is None:
        return _shape(noise_shape)
    given = as_shape(noise_shape)
    if given.ndims == known.ndims and any(n is None for n in given.as_list()):
        pairs = zip(given.as_list(), known.as_list(), strict=True)
        return _shape([theirs if n is None else n for n, theirs in pairs])
    return _shape(noise_shape)


# ---- gradients -----------------------------------------------------------------------------


@gradient("RandomGamma")
def _random_gamma_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Differentiates the sample implicitly. Source: Figurnov et al. 2018."""
    shape, alpha = node.inputs
    count = op("Size", shape)
    ones = op("Fill", op("ExpandDims", op("Rank", alpha), 0), 1)
    spread = op(
        "Reshape",
        alpha,
        op("ConcatV2", [op("Fill", op("ExpandDims", count, 0), 1), op("Shape", alpha) * ones], 0),
    )
    derivative = op("RandomGammaGrad", spread, node.outputs[0])
    return [None, op("Sum", grad * derivative, op("Range", 0, count, 1))]


for _op_type in (
    "RandomUniform",
    "RandomUniformInt",
    "RandomStandardNormal",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "Multinomial",
    "RandomPoisson",
    "RandomPoissonV2",
    "RandomShuffle",
    "StatelessMultinomial",
    "StatelessRandomNormal",
    "StatelessRandomUniform",
    "StatelessRandomUniformFullInt",
    "StatelessRandomUniformInt",
    "StatelessTruncatedNormal",
):
    no_gradient(_op_type, "its output is drawn at random")
gradient_not_implemented("RandomCrop", "hr.random_crop, which uses Slice, has a gradient")
gradient_not_implemented("RandomGammaGrad", "the second derivative of a sample is not implemented")
