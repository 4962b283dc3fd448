"""Values put at indices: into new tensors, into copies, into parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.arrays.arrays import zeros
from headrace.kernels.reference.ops.gather import check_indices
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("ScatterNd")
def scatter_nd(
    attrs: Attrs, indices: np.ndarray, updates: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    blank = zeros(tuple(shape.tolist()), updates.dtype)
    return _scattered(np.add, blank, indices, updates)


@kernel("TensorScatterAdd", "ScatterNdNonAliasingAdd")
def tensor_scatter_add(
    attrs: Attrs, tensor: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    return _scattered(np.add, tensor, indices, updates)


@kernel("TensorScatterSub")
def tensor_scatter_sub(
    attrs: Attrs, tensor: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    return _scattered(np.subtract, tensor, indices, updates)


@kernel("TensorScatterMax")
def tensor_scatter_max(
    attrs: Attrs, tensor: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    return _scattered(np.maximum, tensor, indices, updates)


@kernel("TensorScatterMin")
def tensor_scatter_min(
    attrs: Attrs, tensor: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    return _scattered(np.minimum, tensor, indices, updates)


@kernel("TensorScatterUpdate")
def tensor_scatter_update(
    attrs: Attrs, tensor: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    return _scattered(None, tensor, indices, updates)


def _scattered(
    how: Any, tensor: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    """tensor with `how` (None: overwrite, the last one wins) applied at each row of indices."""
    depth = indices.shape[-1]
    for column in range(depth):
        check_indices(indices[..., column], tensor.shape[column])
    result = wide(tensor).copy()
    places = tuple(np.moveaxis(indices, -1, 0)) if depth else (np.zeros(indices.shape[:-1], int),)
    target = result if depth else result[np.newaxis]
    if how is None:
        target[places] = updates
    else:
        how.at(target, places, np.broadcast_to(wide(updates), target[places].shape))
    return result.astype(tensor.dtype)


@kernel("DynamicPartition")
def dynamic_partition(attrs: Attrs, data: np.ndarray, partitions: np.ndarray) -> list[np.ndarray]:
    count = attrs["num_partitions"]
    check_indices(partitions, count, "partitions")
    if data.shape[: partitions.ndim] != partitions.shape:
        raise ValueError(
            f"data's shape {list(data.shape)} must start with partitions' {list(partitions.shape)}"
        )
    return [data[partitions == p] for p in range(count)]


@kernel("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    n = attrs["N"]
    indices, data = inputs[:n], inputs[n:]
    inner = data[0].shape[indices[0].ndim :]
    rows = 1 + max((int(i.max()) for i in indices if i.size), default=-1)
    merged = zeros((rows,) + inner, data[0].dtype)
    for where, values in zip(indices, data, strict=True):
        if values.shape != where.shape + inner:
            raise InvalidArgumentError(
                None,
                None,
                f"data {list(values.shape)} must be indices' shape {list(where.shape)} followed by "
                f"{list(inner)}",
            )
        check_indices(where, rows)
        merged[where.ravel()] = values.reshape((-1,) + inner)
    return merged
