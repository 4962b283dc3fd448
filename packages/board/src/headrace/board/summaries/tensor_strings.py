"""The strings of a tensor."""

from __future__ import annotations

import math
from typing import Any

from headrace.formats.tensor_codec import MAX_RANK


def strings_of(tensor: Any, most: int) -> tuple[list[bytes], list[int], bool]:
    """Returns the first strings of a TensorProto, its shape, and whether there are more.

    If fewer strings are stored than the shape says, the last one is repeated. If the shape is
    inconsistent, the stored strings are returned as a list.

    Args:
      most: maximum number of strings to return.
    """
    dims = tensor.tensor_shape.dim
    # No valid tensor has more dimensions, and the product of their sizes could be huge.
    shape = [int(dim.size) for dim in dims] if len(dims) <= MAX_RANK else [-1]
    present = len(tensor.string_val)
    size = math.prod(shape)
    if not present or size < present or min(shape, default=0) < 0:
        shape, size = [present], present
    strings = list(tensor.string_val[:most])
    strings += strings[-1:] * (min(size, most) - len(strings))
    return strings, shape, size > most
