"""Delta encoding of index columns, which makes them compress better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# Each number is sent as its difference to the previous number of the column.
STEPS = ("parent", "first_child", "child", "edge_src", "meta_group", "meta_src")
# Each number is sent as its difference to the other column (before delta encoding).
OFFSETS = {"edge_dst": "edge_src", "meta_dst": "meta_src"}


def packed(
    header: Mapping[str, Any], columns: Mapping[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Returns the header and the encoded columns; the header lists the encodings."""
    out = dict(columns)
    for name in STEPS:
        out[name] = np.diff(columns[name], prepend=columns[name].dtype.type(0))
    for name, other in OFFSETS.items():
        out[name] = columns[name] - columns[other]
    return {**header, "steps": list(STEPS), "offsets": OFFSETS}, out


def unpacked(header: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the decoded columns."""
    out = dict(columns)
    for name in header["steps"]:
        out[name] = np.cumsum(columns[name], dtype=columns[name].dtype)
    for name, other in header["offsets"].items():
        out[name] = columns[name] + out[other]
    return out
