"""Window sizes, paddings and data formats of layers."""

from __future__ import annotations

from typing import Any


def each(value: Any, n: int, what: str) -> tuple[int, ...]:
    """Returns n ints for one int or n ints. Raises: ValueError for other values."""
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
    """Returns the padding in lower case. Raises: ValueError for an unknown padding."""
    lower = padding.lower()
    if lower not in ("valid", "same", *(["causal"] if causal else [])):
        raise ValueError(
            'The `padding` argument must be one of "valid", "same" (or "causal", only for '
            f"`Conv1D`). Received: {padding}"
        )
    return lower


def layout_of(data_format: str, n: int) -> str:
    """Converts a data_format to the op's, such as "NHWC", for n spatial dimensions.

    Raises: ValueError for an unknown data_format.
    """
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
    """Returns the output length of a convolution or pooling along one dimension."""
    if length is None:
        return None
    reach = (window - 1) * dilation + 1
    room = length if padding in ("same", "causal") else length - reach + 1
    return (room + stride - 1) // stride


def transposed_length(length: Any, window: int, padding: str, stride: int) -> Any:
    """Returns the output length of a transposed convolution; length is an int, tensor or None."""
    if length is None:
        return None
    result = length * stride
    return result + max(window - stride, 0) if padding == "valid" else result
