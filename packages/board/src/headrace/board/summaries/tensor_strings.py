"""The strings of a tensor, as far as a page can use them."""

from __future__ import annotations

import math
from typing import Any

from headrace.formats.tensor_codec import MAX_RANK


def strings_of(tensor: Any, most: int) -> tuple[list[bytes], list[int], bool]:
    """Returns the first strings of a TensorProto, its shape, and whether there are more.

    A missing tail repeats the last string. Where the shape disagrees with what is there, it is
    taken for a list of what is there.

    Args:
      most: how many strings to return.
    """
    dims = tensor.tensor_shape.dim
    # No program made a tensor of more: its size would be a product without end.
    shape = [int(dim.size) for dim in dims] if len(dims) <= MAX_RANK else [-1]
    present = len(tensor.string_val)
    size = math.prod(shape)
    if not present or size < present or min(shape, default=0) < 0:
        shape, size = [present], present
    strings = list(tensor.string_val[:most])
    strings += strings[-1:] * (min(size, most) - len(strings))
    return strings, shape, size > most
