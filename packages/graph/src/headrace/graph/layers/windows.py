"""How layers say sizes of windows, paddings and the order of dimensions."""

from __future__ import annotations

from typing import Any


def each(value: Any, n: int, what: str) -> tuple[int, ...]:
    """One int for each of n dimensions. Raises: ValueError where there are others."""
    if isinstance(value, int):
        return (value,) * n
    try:
        values = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        values = ()
    if len(values) != n:
        raise ValueError(
            f"The `{what}` argument must be a tuple of {n} integers. Received: {value}"
        )
    return values


def padding_of(padding: str, causal: bool = False) -> str:
    """The padding in lower case. Raises: ValueError for one that is not known."""
    lower = padding.lower()
    if lower not in ("valid", "same", *(["causal"] if causal else [])):
        raise ValueError(
            'The `padding` argument must be one of "valid", "same" (or "causal", only for '
            f"`Conv1D`). Received: {padding}"
        )
    return lower


def layout_of(data_format: str, n: int) -> str:
    """The order of dimensions, such as "NHWC", for n spatial ones."""
    spatial = "DHW"[3 - n :]
    layouts = {"channels_last": f"N{spatial}C", "channels_first": f"NC{spatial}"}
    if data_format not in layouts:
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {data_format}"
        )
    return layouts[data_format]


def conv_length(
    length: int | None, window: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """How many windows fit in a dimension."""
    if length is None:
        return None
    reach = (window - 1) * dilation + 1
    room = length if padding in ("same", "causal") else length - reach + 1
    return (room + stride - 1) // stride


def transposed_length(length: Any, window: int, padding: str, stride: int) -> Any:
    """The length that a transposed convolution gives; of a number, a tensor or None."""
    if length is None:
        return None
    made = length * stride
    return made + max(window - stride, 0) if padding == "valid" else made
