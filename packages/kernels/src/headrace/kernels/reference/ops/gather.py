"""Elements and slices by their indices."""

from __future__ import annotations

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("Gather")
def gather(attrs: Attrs, params: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return gather_v2({"batch_dims": 0}, params, indices, np.array(0))


@kernel("GatherV2")
def gather_v2(
    attrs: Attrs, params: np.ndarray, indices: np.ndarray, axis: np.ndarray
) -> np.ndarray:
    along = int(axis) % params.ndim
    batch = attrs["batch_dims"] + (indices.ndim if attrs["batch_dims"] < 0 else 0)
    shape = params.shape[:along] + indices.shape[batch:] + params.shape[along + 1 :]
    if 0 in shape:
        return np.empty(shape, params.dtype)
    check_indices(indices, params.shape[along])
    if batch == 0:
        return np.take(params, indices, axis=along)
    if params.shape[:batch] != indices.shape[:batch]:
        raise ValueError(
            f"batch sizes differ: params is {list(params.shape)}, indices is {list(indices.shape)}"
        )
    rows = params.reshape((-1,) + params.shape[batch:])
    places = indices.reshape((-1,) + indices.shape[batch:])
    outer = indices.shape[:batch]
    taken = [np.take(r, i, axis=along - batch) for r, i in zip(rows, places, strict=True)]
    return np.array(taken, params.dtype).reshape(outer + shape[batch:])


@kernel("GatherNd")
def gather_nd(attrs: Attrs, params: np.ndarray, indices: np.ndarray) -> np.ndarray:
    depth = indices.shape[-1]
    if params.size == 0 and np.prod(indices.shape[:-1]):
        raise InvalidArgumentError(
            None,
            None,
            "Requested more than 0 entries, but params is empty.  Params shape: "
            f"{list(params.shape)}",
        )
    for column in range(depth):
        check_indices(indices[..., column], params.shape[column])
    if params.size == 0:
        return np.empty(indices.shape[:-1] + params.shape[depth:], params.dtype)
    if depth == 0:  # all of params, for each
        return np.broadcast_to(params, indices.shape[:-1] + params.shape).copy()
    return np.array(params[tuple(np.moveaxis(indices, -1, 0))], params.dtype)


def check_indices(indices: np.ndarray, size: int, name: str = "indices") -> None:
    """Rejects an index that is not in 0 <= index < size.

    Raises: InvalidArgumentError naming the first one.
    """
    wrong = np.flatnonzero((indices < 0) | (indices >= size))
    if wrong.size:
        place = [int(i) for i in np.unravel_index(wrong[0], indices.shape)]
        raise InvalidArgumentError(
            None,
            None,
            f"{name}{place} = {indices.ravel()[wrong[0]]} is not in [0, {size})",
        )


@kernel("GatherTree")
def gather_tree(
    attrs: Attrs, ids: np.ndarray, parents: np.ndarray, lengths: np.ndarray, end: np.ndarray
) -> np.ndarray:
    if ids.shape != parents.shape or ids.shape[1:2] != lengths.shape:
        raise InvalidArgumentError(
            None,
            None,
            f"step_ids is {list(ids.shape)}, parent_ids {list(parents.shape)}, "
            f"max_sequence_lengths {list(lengths.shape)}",
        )
    beams = np.full_like(ids, end)
    for row, beam in np.ndindex(ids.shape[1:]):
        at = beam
        for step in reversed(range(min(len(ids), int(lengths[row])))):
            if not 0 <= at < ids.shape[2]:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Saw invalid parent id {at} at (batch, time, beam) == ({row}, {step}, {beam})",
                )
            beams[step, row, beam] = ids[step, row, at]
            at = parents[step, row, at]
    ended = np.cumsum(beams == end, axis=0) > 0
    return np.where(ended, end, beams)
