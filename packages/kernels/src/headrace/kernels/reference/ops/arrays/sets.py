"""Which values a tensor has, and where; diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.precision import numpy_type
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("Unique")
def unique(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, ...]:
    return _unique(attrs, x, 0)[:2]


@kernel("UniqueV2")
def unique_v2(attrs: Attrs, x: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, ...]:
    return _unique(attrs, x, _optional_axis(x, axis))[:2]


@kernel("UniqueWithCounts")
def unique_with_counts(attrs: Attrs, x: np.ndarray) -> tuple[np.ndarray, ...]:
    return _unique(attrs, x, 0)


@kernel("UniqueWithCountsV2")
def unique_with_counts_v2(attrs: Attrs, x: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, ...]:
    return _unique(attrs, x, _optional_axis(x, axis))


def _optional_axis(x: np.ndarray, axis: np.ndarray) -> int:
    if axis.size == 0 and x.ndim > 1:
        raise InvalidArgumentError(
            None, None, f"unique expects a 1D vector, x is {list(x.shape)}; name an axis"
        )
    return int(axis.item()) if axis.size else 0


def _unique(attrs: Attrs, x: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The different rows in the order in which they come, who is which, and how many of each."""
    dtype = numpy_type(attrs["out_idx"])
    rows = np.moveaxis(x, axis, 0)
    seen: dict[Any, int] = {}
    firsts: list[int] = []
    idx = np.empty(len(rows), dtype)
    for place, row in enumerate(rows):
        cells = np.asarray(row, x.dtype)
        # NaN equals nothing, itself neither
        alone = x.dtype.kind != "O" and bool(np.any(cells != cells))
        key = ("NaN", place) if alone else tuple(cells.ravel().tolist())
        if key not in seen:
            seen[key] = len(seen)
            firsts.append(place)
        idx[place] = seen[key]
    count = np.bincount(idx, minlength=len(firsts)).astype(dtype)
    return np.take(x, firsts, axis=axis) if firsts else x.copy(), idx, count


@kernel("Where")
def where(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.argwhere(x).astype(np.int64).reshape(-1, x.ndim)


@kernel("ListDiff")
def list_diff(attrs: Attrs, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = set(y.tolist())
    kept = [i for i, value in enumerate(x.tolist()) if value not in known]
    return x[kept], np.array(kept, numpy_type(attrs["out_idx"]))


@kernel("LowerBound")
def lower_bound(attrs: Attrs, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    return _bound("left", attrs, rows, values)


@kernel("UpperBound")
def upper_bound(attrs: Attrs, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    return _bound("right", attrs, rows, values)


def _bound(side: Any, attrs: Attrs, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    found = [np.searchsorted(row, v, side) for row, v in zip(rows, values, strict=True)]
    return np.array(found, numpy_type(attrs["out_type"])).reshape(values.shape)


# ---- diagonals ----


@kernel("Diag")
def diag(attrs: Attrs, diagonal: np.ndarray) -> np.ndarray:
    return np.diag(diagonal.ravel()).reshape(diagonal.shape * 2)


@kernel("DiagPart")
def diag_part(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    half = x.shape[: x.ndim // 2]
    if x.ndim % 2 or half != x.shape[x.ndim // 2 :]:
        raise ValueError(f"the first half of the shape must be the second: {list(x.shape)}")
    n = int(np.prod(half, dtype=np.int64))
    return x.reshape(n, n).diagonal().reshape(half).copy()
