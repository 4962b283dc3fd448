"""Sparse tensors: sums, products, reductions, and entries put elsewhere; sets."""

from __future__ import annotations

import numpy as np

_CELLS = [[0, 1], [1, 0], [1, 3], [3, 2]]
_VALUES = np.array([1.5, -2.0, 0.5, 4.0], np.float32)
_DENSE = np.random.default_rng(5).normal(size=(4, 5)).astype(np.float32)
_ids = [[3, 1, 4], [1, 5, 9]]


def _a(m):
    return m.SparseTensor(_CELLS, m.constant(_VALUES), [4, 5])


def _b(m):
    return m.SparseTensor([[0, 0], [1, 3], [2, 4]], m.constant([1.0, 2.0, 3.0]), [4, 5])


def _parts(x):
    return [x.indices, x.values, x.dense_shape]


def _dense(m, x):
    return [m.sparse.to_dense(x)]


def _grad(m, y, xs):
    return [y, *m.gradients(m.reduce_sum(m.square(y)), xs)]


def products(m):
    a, right, left = _a(m), m.constant(_DENSE[:3].T.copy()), m.constant(_DENSE[:, :3].T.copy())
    return [
        *_grad(m, m.sparse_tensor_dense_matmul(a, right), [a.values, right]),
        *_grad(m, m.sparse.matmul(a, left, True, True), [a.values, left]),
        m.sparse.sparse_dense_matmul(left, a),
        m.sparse.sparse_dense_matmul(right, a, True, True),
        m.sparse_matmul(_DENSE, _DENSE, transpose_b=True),
    ]


def sums(m):
    a, b, dense = _a(m), _b(m), m.constant(_DENSE)
    total = m.sparse_add(a, b)
    dense_total = m.sparse_add(a, dense)
    return [
        *_parts(total),
        *m.gradients(m.reduce_sum(m.square(total.values)), [a.values, b.values]),
        *_grad(m, dense_total, [a.values, dense]),
        m.sparse.add(dense, a),
        *_parts(m.sparse.add(a, b, threshold=1.0)),
        *_parts(m.sparse.maximum(a, b)),
        *_parts(m.sparse_minimum(a, b)),
        *_parts(a * dense),
        *_parts(a / dense),
        *_parts(m.sparse.softmax(a)),
    ]


def reductions(m):
    a = _a(m)
    return [
        m.sparse_reduce_sum(a),
        m.sparse_reduce_sum(a, 1),
        m.sparse.reduce_sum(a, [0], keepdims=True),
        *m.gradients(m.reduce_sum(m.square(m.sparse_reduce_sum(a, 0))), a.values),
        m.sparse_reduce_max(a, 1),
        *_parts(m.sparse.reduce_sum_sparse(a, 1)),
        *_parts(m.sparse.reduce_max_sparse(a, 0, keepdims=True)),
    ]


def to_dense(m):
    a = _a(m)
    words = m.SparseTensor(_CELLS, m.constant(["a", "b", "c", "d"]), [4, 4])
    ids = m.SparseTensor([[0, 0], [0, 1], [2, 0]], m.constant([3, 0, 3]), [3, 2])
    return [
        *_grad(m, m.sparse.to_dense(a), [a.values]),
        m.sparse_tensor_to_dense(words),
        m.sparse.to_dense(words, default_value="-"),
        m.sparse_to_dense([1, 3], [5], [2.0, 3.0], -1.0),
        m.sparse_to_dense(2, [5], 7),
        m.sparse_to_indicator(ids, 5),
        *_parts(m.sparse.from_dense(m.constant([[0, 1], [2, 0]]))),
        *_parts(m.sparse.eye(2, 3)),
        *_parts(m.sparse_merge(ids, m.SparseTensor(ids.indices, [0.5, 1.5, 2.5], [3, 2]), 6)),
    ]


def layout(m):
    a, b = _a(m), _b(m)
    mixed = m.SparseTensor([[3, 2], [0, 1]], m.constant([1.0, 2.0]), [4, 5])
    filled, empty = m.sparse.fill_empty_rows(a, -1.0)
    joined = m.sparse.concat(1, [a, b])
    return [
        *_parts(m.sparse_reorder(mixed)),
        *_parts(m.sparse_reshape(a, [2, -1])),
        *_parts(m.sparse_reshape(a, [5, 4])),
        *_parts(m.sparse.transpose(a)),
        *_parts(m.sparse.transpose(a, [1, 0])),
        *_parts(m.sparse.expand_dims(a)),
        *_parts(m.sparse.expand_dims(a, 1)),
        *_parts(joined),
        *_parts(m.sparse.concat(0, [a, b])),
        *_parts(m.sparse_slice(a, [1, 0], [2, 9])),
        *_parts(m.sparse_retain(a, [True, False, False, True])),
        *_parts(m.sparse_reset_shape(a)),
        *_parts(m.sparse_reset_shape(a, [7, 6])),
        *_parts(filled),
        empty,
        *[t for part in m.sparse_split(sp_input=a, num_split=2, axis=1) for t in _parts(part)],
    ]


def wider(m):
    a = m.SparseTensor([[0, 1]], m.constant([1.0]), [2, 2])
    b = m.SparseTensor([[2, 1]], m.constant([2.0]), [3, 4])
    return _parts(m.sparse_concat(1, [a, b], expand_nonconcat_dim=True))


def bytes_(m):
    a = _a(m)
    rows = m.serialize_many_sparse(a)
    return _parts(m.deserialize_many_sparse(rows, m.float32, rank=1))


def slices(m):
    x = m.IndexedSlices(m.constant(_DENSE), m.constant([3, 1, 0, 5]), m.constant([6, 5]))
    left = m.sparse_mask(x, [1, 5])
    return [left.values, left.indices]


def sets(m):
    one, two = m.constant([[1, 2, 3], [4, 4, 5]]), m.constant([[3, 9], [5, 1]])
    sparse = m.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 7, 4], [2, 2])
    return [
        *_parts(m.sets.intersection(one, two)),
        *_parts(m.sets.set_union(one, two)),
        *_parts(m.sets.difference(one, two)),
        *_parts(m.sets.difference(one, two, aminusb=False)),
        *_parts(m.sets.union(one, sparse)),
        *_parts(m.sets.difference(sparse, one)),
        m.sets.size(sparse),
    ]


def distance(m):
    one = m.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2])
    two = m.SparseTensor([[0, 0], [1, 0], [1, 1]], ["b", "c", "d"], [2, 2])
    return [m.edit_distance(one, two), m.edit_distance(one, two, normalize=False)]


def crosses(m):
    one = m.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "b", "c"], [2, 2])
    return [*_parts(m.sparse.cross([one, m.constant([["x"], ["y"]])])),
            *_parts(m.sparse.cross_hashed([one, m.constant([[3], [4]])], 100))]  # fmt: skip


PROGRAMS = {
    f.__name__: f
    for f in (
        products, sums, reductions, to_dense, layout, wider, bytes_, slices, sets, distance, crosses
    )
}  # fmt: skip
