"""Segments, scatters, partitions."""

from __future__ import annotations

import numpy as np

_X = np.random.default_rng(6).normal(size=(6, 4)).astype(np.float32)
_IDS = [0, 0, 1, 3, 3, 3]
_MIXED = [3, 0, -1, 3, 1, 0]


def _both(m, y, x):
    return [y, *m.gradients(m.reduce_sum(m.square(y)), x)]


def segments(m):
    x = m.constant(_X)
    kinds = (m.segment_sum, m.segment_mean, m.segment_max, m.segment_min, m.segment_prod)
    return [t for f in kinds for t in _both(m, f(x, _IDS), x)]


def unsorted(m):
    x = m.constant(_X)
    kinds = (m.unsorted_segment_sum, m.unsorted_segment_prod, m.unsorted_segment_sqrt_n,
             m.math.unsorted_segment_mean)  # fmt: skip
    result = [t for f in kinds for t in _both(m, f(x, _MIXED, 4), x)]
    some = [2, 0, -1, 2, 1, 0]
    kinds = (m.unsorted_segment_max, m.unsorted_segment_min)
    return result + [t for f in kinds for t in _both(m, f(x, some, 3), x)]


def picked(m):
    x = m.constant(_X)
    result = []
    for f in (m.sparse_segment_sum, m.sparse_segment_mean, m.sparse.segment_sqrt_n):
        result += _both(m, f(x, [5, 0, 0, 3], [0, 0, 1, 3]), x)
        result += _both(m, f(x, [5, 0, 0, 3], [0, 0, 1, 3], num_segments=6), x)
    return result


def scatters(m):
    x, u = m.constant(_X), m.constant(_X[:2] + 10)
    where = [[4], [1]]
    result = []
    for f in (m.tensor_scatter_update, m.tensor_scatter_add, m.tensor_scatter_sub,
              m.tensor_scatter_nd_max, m.tensor_scatter_nd_min):  # fmt: skip
        result += _both(m, f(x, where, u), [x, u])
    result += _both(m, m.scatter_nd(where, u, [7, 4]), u)
    return result


def rows_of_batches(m):
    v = m.Variable(_X.reshape(2, 3, 4), name="v")
    with m.control_dependencies([v.initializer]):
        return [m.batch_scatter_update(v, [[2, 0], [1, 2]], _X[:4].reshape(2, 2, 4))]


def partitions(m):
    x = m.constant(_X)
    parts = m.dynamic_partition(x, [2, 0, 2, 1, 0, 0], 4)
    numbers = m.dynamic_partition(m.range(6), [2, 0, 2, 1, 0, 0], 4)
    whole = m.reshape(m.dynamic_stitch(numbers, [m.square(p) for p in parts]), [6, 4])
    return [*parts, *_both(m, whole, x)]


def coordinates_of_a_batch(m):
    x = m.constant(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    rows = m.constant([[[2], [0]], [[1], [1]]])
    cells = m.constant([[[2, 3], [0, 1]], [[1, 0], [1, 2]]], m.int64)
    found = [m.gather_nd(x, rows, batch_dims=1), m.gather_nd(x, cells, batch_dims=1)]
    found.append(m.gather_nd(x, m.constant([[[3], [0], [1]]] * 2), batch_dims=2))
    return [t for y in found for t in _both(m, y, x)]


def coordinates_of_a_resource(m):
    v = m.Variable(_X, name="v", use_resource=True)
    y = m.gather_nd(v, [[1, 2], [5, 0]])
    m.add_to_collection("before", v.initializer)
    grads = m.gradients(m.reduce_sum(m.square(y)), v)
    return [y, m.gather_nd(v, [[3], [3]]), *grads]


PROGRAMS = {
    f.__name__: f
    for f in (
        coordinates_of_a_batch,
        coordinates_of_a_resource,
        segments,
        unsorted,
        picked,
        scatters,
        rows_of_batches,
        partitions,
    )
}
