"""What makes three arrays a sparse tensor, checked and worded as TensorFlow does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError

Sparse = tuple[np.ndarray, np.ndarray, np.ndarray]


def invalid(text: str) -> InvalidArgumentError:
    """The error of an input that does not fit."""
    return InvalidArgumentError(None, None, text)


def cells_of(indices: np.ndarray) -> list[tuple[int, ...]]:
    """The rows of indices as tuples."""
    return [tuple(row) for row in indices.tolist()]


def sparse_tensor(
    cells: Iterable[tuple[int, ...]], values: list[Any], shape: Any, dtype: Any
) -> Sparse:
    """indices, values and shape of given cells."""
    dims = np.asarray(shape, np.int64)
    held = np.empty(len(values), dtype)
    held[:] = values
    return np.array(list(cells), np.int64).reshape(len(values), dims.size), held, dims


def check_sizes(indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> None:
    """Rejects indices, values and a shape whose sizes do not belong together."""
    if len(indices) != len(values):
        raise invalid(
            "indices and values rows (indexing dimension) must match. "
            f"(indices = {len(indices)}, values = {len(values)})"
        )
    if indices.shape[1] != shape.size:
        raise invalid(f"Index rank ({indices.shape[1]}) and shape rank ({shape.size}) do not match")


def check_inside(indices: np.ndarray, shape: np.ndarray) -> None:
    """Rejects a row that lies outside of the shape."""
    wrong = np.flatnonzero(((indices < 0) | (indices >= shape)).any(axis=-1))
    if wrong.size:
        row = indices[wrong[0]].tolist()
        raise invalid(
            f"Sparse index tuple indices[{wrong[0]}, :] = {row} is out of bounds: need "
            f"0 <= index < {shape.tolist()}"
        )


def check_order(indices: np.ndarray) -> None:
    """Rejects rows that do not rise."""
    cells = cells_of(indices)
    for place in range(1, len(cells)):
        if cells[place] <= cells[place - 1]:
            what = (
                "repeated"
                if cells[place] == cells[place - 1]
                else "out of order. Many sparse ops require sorted indices"
            )
            raise invalid(f"indices[{place}] = {list(cells[place])} is {what}")


def runs_of(keys: list[Any]) -> list[tuple[Any, slice]]:
    """Each key with the stretch of places in which it stands; one that comes again is a new run."""
    runs: list[tuple[Any, slice]] = []
    start = 0
    for place in range(1, len(keys) + 1):
        if place == len(keys) or keys[place] != keys[start]:
            runs.append((keys[start], slice(start, place)))
            start = place
    return runs
