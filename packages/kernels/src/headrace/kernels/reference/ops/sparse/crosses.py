"""Crosses of sparse and dense features."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.memory_needs import need_memory
from headrace.kernels.reference.ops.sparse.parts import Sparse, invalid, runs_of, sparse_tensor
from headrace.kernels.reference.precision import numpy_type
from headrace.kernels.reference.registry import Attrs, kernel
from headrace.kernels.reference.string_hashes import fingerprint64, fingerprint_cat64


@kernel("SparseCross")
def sparse_cross(attrs: Attrs, *inputs: np.ndarray) -> Sparse:
    n = attrs["N"]
    indices, values, shapes = inputs[:n], inputs[n : 2 * n], inputs[2 * n : 3 * n]
    dense = inputs[3 * n :]
    sizes = [int(shape[0]) for shape in shapes] + [len(column) for column in dense]
    if not sizes:
        raise InvalidArgumentError(None, None, "there must be at least one feature column")
    batch = sizes[0]
    for place, (cells, held, shape) in enumerate(zip(indices, values, shapes, strict=True)):
        if shape.size != 2:
            raise invalid(f"shape should imply a 2D tensor, but got {shape.tolist()} at {place}")
        if len(held) != len(cells):
            raise invalid(
                f"Expected size of values to be {len(cells)} got {len(held)} at position {place}"
            )
    if any(size != batch for size in sizes):
        raise InvalidArgumentError(None, None, f"Expected batch size {batch}, got {sizes}")
    columns: list[dict[int, list[Any]]] = []
    for cells, held in zip(indices, values, strict=True):
        columns.append(_features_by_row(cells, held, batch))
    columns += [dict(enumerate(column.tolist())) for column in dense]
    # A row in which a column has no feature has no crosses.
    crossing = sorted(set.intersection(*(set(column) for column in columns)))
    count = sum(math.prod(len(column[row]) for column in columns) for row in crossing)
    need_memory(count, 200, "the crosses")
    found: dict[tuple[int, ...], Any] = {}
    longest = 0
    for row in crossing:
        crossed = [_cross(attrs, one) for one in itertools.product(*[c[row] for c in columns])]
        longest = max(longest, len(crossed))
        found.update(((row, place), value) for place, value in enumerate(crossed))
    dtype = numpy_type(attrs["out_type"])
    return sparse_tensor(found, list(found.values()), [batch, longest], dtype)


def _features_by_row(cells: np.ndarray, values: np.ndarray, batch: int) -> dict[int, list[Any]]:
    """The features of each row, read in order: what stands out of order or beyond is not seen."""
    rows: dict[int, list[Any]] = {}
    last = -1
    for row, places in runs_of(cells[:, 0].tolist()):
        if not last < row < batch:
            break
        rows[row], last = values[places].tolist(), row
    return rows


def _cross(attrs: Attrs, features: tuple[Any, ...]) -> Any:
    if not attrs["hashed_output"]:
        texts = [f if isinstance(f, bytes) else str(f).encode() for f in features]
        return b"_X_".join(texts)
    total = attrs["hash_key"]
    for feature in features:
        number = fingerprint64(feature) if isinstance(feature, bytes) else feature % 2**64
        total = fingerprint_cat64(total, number)
    return total % (attrs["num_buckets"] or 2**63 - 1)
