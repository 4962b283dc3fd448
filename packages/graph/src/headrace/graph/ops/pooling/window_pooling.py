"""Pooling by rank, fractional pooling, and grayscale morphology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.builder.required import required
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.space_batches import with_space_to_batch
from headrace.graph.typing.aliases import Ints, Padding, TensorLike

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def _sizes(value: Any, n: int, first: bool, what: str) -> list[int]:
    """Expands one, n or n + 2 numbers to n + 2. Raises: ValueError for another number."""
    values = [value] if isinstance(value, int) else list(value)
    if len(values) == n + 2:
        return values
    if len(values) == 1:
        values = values * n
    if len(values) != n:
        raise ValueError(f"{what} should be of length 1, {n} or {n + 2}, got {values}")
    return [1, 1, *values] if first else [1, *values, 1]


def _pooled(
    kind: str, x: Any, ksize: Any, strides: Any, padding: Any, layout: str, name: str | None
) -> Tensor:
    """Pools over the spatial dimensions of a layout; kind is Max or Avg."""
    n = len(layout) - 2
    first = layout.startswith("NC")
    window = _sizes(ksize, n, first, "ksize")
    steps = _sizes(strides, n, first, "strides")
    if n == 1:
        axis = 3 if first else 2
        wide, far = ([*s[:axis], 1, *s[axis:]] for s in (window, steps))
        deep = op("ExpandDims", x, axis)
        result = _pooled(kind, deep, wide, far, padding, "NCHW" if first else "NHWC", None)
        return op("Squeeze", result, squeeze_dims=[axis], name=name)
    attrs: dict[str, Any] = {"padding": padding}
    if not isinstance(padding, str):
        flat = [p for pair in padding for p in pair]
        attrs = {"padding": "EXPLICIT", "explicit_paddings": flat}
    return op(
        f"{kind}Pool" if n == 2 else f"{kind}Pool3D",
        x,
        ksize=window,
        strides=steps,
        data_format=layout,
        name=name,
        **attrs,
    )


def max_pool1d(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Computes the maximum of each window. Args: input: [batch, width, channels], or "NCW"."""
    with name_scope(name, "MaxPool1d", [input]) as scope:
        return _pooled("Max", input, ksize, strides, padding, data_format, scope)


def avg_pool1d(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Computes the mean of each window. Args: input: [batch, width, channels], or "NCW"."""
    with name_scope(name, "AvgPool1D", [input]) as scope:
        return _pooled("Avg", input, ksize, strides, padding, data_format, scope)


def max_pool2d(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: Padding,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Same as max_pool, its new name."""
    with name_scope(name, "MaxPool2d", [input]) as scope:
        return _pooled("Max", input, ksize, strides, padding, data_format or "NHWC", scope)


def _by_rank(
    kind: str, x: Any, ksize: Any, strides: Any, padding: Any, layout: str | None, name: str | None
) -> Tensor:
    x = convert_to_tensor(x, name="input")
    if layout is None:
        rank = x.get_shape().ndims
        if rank is None or rank - 2 not in _LAYOUTS:
            raise ValueError(f"the input must be of rank 3, 4 or 5, got shape {x.get_shape()}")
        layout = _LAYOUTS[rank - 2][0]
    return _pooled(kind, x, ksize, strides, padding, layout, name)


def max_pool_v2(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the maximum of each window, in one to three dimensions by the input's rank.

    Raises: ValueError for another rank.
    """
    return _by_rank("Max", input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: TensorLike,  # noqa: A002 - TF's name
    ksize: Ints,
    strides: Ints,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the mean of each window, in one to three dimensions by the input's rank.

    Raises: ValueError for another rank.
    """
    return _by_rank("Avg", input, ksize, strides, padding, data_format, name)


def pool(
    input: TensorLike,  # noqa: A002 - TF's name
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Pools in one to three dimensions, with optional dilation.

    Args:
      input: [batch, spatial..., channels], or channels first by data_format.
      window_shape, strides, dilation_rate: one int per spatial dimension.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilations: new name of dilation_rate.
    Raises: ValueError for another pooling_type, or if strides and dilations are both above 1.
    """
    window = list(window_shape)
    n = len(window)
    rate = dilations if dilation_rate is None else dilation_rate
    rates = [1] * n if rate is None else list(rate)
    steps = [1] * n if strides is None else list(strides)
    if any(s > 1 for s in steps) and any(r > 1 for r in rates):
        raise ValueError(
            f"`strides` > 1 not supported in conjunction with `dilation_rate` > 1: got strides "
            f"{steps}, dilation_rate {rates}"
        )
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}")
    first = data_format is not None and data_format.startswith("NC")
    layout = _LAYOUTS[n][first]
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]):

        def small(x: Tensor, num_spatial_dims: int, padding: str) -> Tensor:
            return _pooled(pooling_type.capitalize(), x, window, steps, padding, layout, None)

        return with_space_to_batch(
            input, rates, padding, small, filter_shape=window, data_format=data_format
        )


def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """Computes the maxima of windows with random sizes.

    Args:
      value: [batch, height, width, channels].
      pooling_ratio: four floats, mean sizes of the windows; the first and last are 1.
      pseudo_random: make the sizes pseudo-random instead of random.
      overlapping: let adjacent windows share a row or column.
      deterministic, seed, seed2: seeds of the sizes.
    Returns: (pooled value, first rows of the windows, first columns of the windows).
    Source: Graham 2015.
    """
    return _fractional("FractionalMaxPool", value, pooling_ratio, pseudo_random, overlapping,
                       deterministic, seed, seed2, name)  # fmt: skip


def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """Computes the means of windows with random sizes; see fractional_max_pool."""
    return _fractional("FractionalAvgPool", value, pooling_ratio, pseudo_random, overlapping,
                       deterministic, seed, seed2, name)  # fmt: skip


def _fractional(
    op_type: str,
    value: Any,
    ratio: Any,
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
    name: str | None,
) -> Any:
    return op(
        op_type,
        value,
        pooling_ratio=[float(r) for r in ratio],
        pseudo_random=pseudo_random,
        overlapping=overlapping,
        deterministic=deterministic,
        seed=seed,
        seed2=seed2,
        name=name,
    )


def dilation2d(
    input: TensorLike,  # noqa: A002 - TF's name
    filter: TensorLike | None = None,  # noqa: A002 - TF's name
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Computes the grayscale dilation: the maximum of patch + filter.

    Args:
      input: [batch, height, width, channels].
      filter: [height, width, channels].
      strides: four ints, steps between patches.
      rates: four ints, steps between the elements of a patch.
      filters, dilations: new names of filter and rates.
    """
    return op(
        "Dilation2D",
        input,
        filters if filter is None else filter,
        strides=list(required(strides, "strides")),
        rates=list(required(dilations if rates is None else rates, "rates")),
        padding=padding,
        name=name,
    )


def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Computes the grayscale erosion: the minimum of patch - kernel; see dilation2d."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = op("ReverseV2", kernel, [0, 1])
        result = dilation2d(-convert_to_tensor(value), turned, strides, rates, padding)
        return op("Neg", result, name=scope)
