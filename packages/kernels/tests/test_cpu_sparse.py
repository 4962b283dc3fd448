"""Sparse tensors, sequences and assertions against NumPy and known results."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import NUMBERS, assert_near, sample

from headrace.formats.errors import InvalidArgumentError

KINDS = ["bool", "float16", "float32", "float64", "complex128", object]
INDICES = np.int64([[0, 1], [0, 3], [2, 0], [2, 3]])
SHAPE = np.int64([4, 5])


def dense(values, indices=INDICES, shape=SHAPE, blank=0):
    x = np.full(shape, blank, dtype=values.dtype)
    for row, value in zip(indices, values, strict=True):
        x[tuple(row)] = value
    return x


def same(actual, expected):
    assert actual.shape == np.shape(expected)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_sparse_to_dense(dtype, index):
    values, blank = sample((4,), dtype), sample((), dtype, 9)
    i, shape = INDICES.astype(index), SHAPE.astype(index)
    same(run_kernel("SparseToDense", i, shape, values, blank), dense(values, blank=blank[()]))
    one = np.full(4, values[0], dtype=values.dtype)
    same(run_kernel("SparseToDense", i, shape, one[0:1].reshape(()), blank),
         dense(one, blank=blank[()]))  # fmt: skip
    vector = run_kernel("SparseToDense", i[:2, 1], shape[1:], values[:2], blank)
    same(vector, dense(values[:2], INDICES[:2, 1:], SHAPE[1:], blank[()]))


def test_sparse_to_dense_rejects_disorder():
    cases = [([[0, 1], [0, 1]], "is repeated"), ([[1, 1], [0, 1]], "is out of order"),
             ([[0, 1], [0, 9]], "out of bounds")]  # fmt: skip
    for i, text in cases:
        with pytest.raises(InvalidArgumentError, match=text):
            run_kernel("SparseToDense", np.int64(i), SHAPE, np.ones(2, "f"), np.float32(0))
    run_kernel("SparseToDense", np.int64([[1, 1], [0, 1]]), SHAPE, np.ones(2, "f"), np.float32(0),
               validate_indices=False)  # fmt: skip


def test_sparse_reshape():
    i, shape = run_kernel("SparseReshape", INDICES, SHAPE, np.int64([2, -1]))
    same(shape, [2, 10])
    same(i, np.stack(np.unravel_index(INDICES @ [5, 1], (2, 10)), -1))
    with pytest.raises(InvalidArgumentError, match="20 elements do not fit"):
        run_kernel("SparseReshape", INDICES, SHAPE, np.int64([3, -1]))


@pytest.mark.parametrize("dtype", KINDS)
def test_sparse_reorder_and_concat(dtype):
    values = sample((4,), dtype)
    mixed = [3, 0, 2, 1]
    i, v = run_kernel("SparseReorder", INDICES[mixed], values[mixed], SHAPE)
    same(i, INDICES)
    same(v, values)
    for axis in (0, 1, -1):
        i, v, shape = run_kernel("SparseConcat", [INDICES, INDICES], [values, values],
                                 [SHAPE, SHAPE], concat_dim=axis)  # fmt: skip
        whole = dense(values, blank=b"" if dtype is object else 0)
        expected = np.concatenate([whole, whole], axis)
        same(shape, expected.shape)
        assert i.tolist() == sorted(i.tolist())
        same(dense(v, i, shape, blank=b"" if dtype is object else 0), expected)


@pytest.mark.parametrize("dtype", KINDS)
def test_fill_empty_rows(dtype):
    values, blank = sample((4,), dtype), sample((), dtype, 9)
    i, v, empty, back = run_kernel("SparseFillEmptyRows", INDICES, values, SHAPE, blank)
    same(i, [[0, 1], [0, 3], [1, 0], [2, 0], [2, 3], [3, 0]])
    same(v, np.array([*values[:2], blank[()], *values[2:], blank[()]], dtype=values.dtype))
    same(empty, [False, True, False, True])
    same(back, [0, 1, 3, 4])
    if dtype in ("float32", "float64"):
        grad = sample((6,), dtype, 1)
        dv, rest = run_kernel("SparseFillEmptyRowsGrad", back, grad)
        same(dv, grad[back])
        assert_near(rest, grad[2] + grad[5])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sparse_reductions_and_products(dtype):
    values = sample((4,), dtype, low=1)
    x = dense(values)
    for axes in ([0], [1], [0, 1], [-1], []):
        for keep in (False, True):
            got = run_kernel("SparseReduceSum", INDICES, values, SHAPE, np.int32(axes),
                             keep_dims=keep)  # fmt: skip
            expected = x.astype("f") if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
            assert_near(got, expected.sum(tuple(axes), keepdims=keep).astype(x.dtype))
    if np.dtype(dtype).kind != "c" and np.dtype(dtype).kind != "V":
        got = run_kernel("SparseReduceMax", INDICES, values, SHAPE, np.int32([1]))
        assert_near(got, x.max(1))
    b = sample((5, 3), dtype, 2)
    wide = np.float64 if x.dtype.kind not in "iuc" else x.dtype
    conj = lambda m: np.conj(m.T)  # noqa: E731
    args = INDICES, values, SHAPE
    expected = (x.astype(wide) @ b.astype(wide)).astype(x.dtype)
    assert_near(run_kernel("SparseTensorDenseMatMul", *args, b), expected, 2)
    got = run_kernel("SparseTensorDenseMatMul", *args, conj(b).copy(), adjoint_b=True)
    assert_near(got, expected, 2)
    c = sample((4, 3), dtype, 3)
    expected = (conj(x).astype(wide) @ c.astype(wide)).astype(x.dtype)
    assert_near(run_kernel("SparseTensorDenseMatMul", *args, c, adjoint_a=True), expected, 2)


LOGITS = np.float32(
    [[[0.548, -0.921, -1.836, -1.934], [1.253, 1.651, 0.427, 0.918]],
     [[0.174, 1.74, 1.263, -1.989], [1.43, -1.866, 0.919, -1.297]],
     [[1.453, 0.166, -0.801, -0.309], [-1.887, -1.503, 0.682, 0.589]],
     [[0.462, -0.465, 1.989, 1.923], [0.742, 0.602, 0.754, -0.444]],
     [[-1.46, 0.886, 0.101, -0.759], [-0.057, 1.558, 1.736, -0.569]],
     [[0.286, -0.713, 0.377, -0.648], [-0.434, 1.561, -1.091, 0.493]]]
)  # fmt: skip
LABELS = np.int64([[0, 0], [0, 1], [0, 2], [1, 0]]), np.int32([1, 1, 2, 0])
LENGTHS = np.int32([6, 4])


@pytest.mark.parametrize(
    ("merge", "losses", "row"),
    [
        (True, [5.6577959, 4.0618373], [0.644007, -0.406271, 0.067607, -0.305343]),
        (False, [6.8711367, 5.0687671], [0.644007, -0.066594, 0.030986, -0.6084]),
    ],
)
def test_ctc_loss_has_the_values_that_tensorflow_has(merge, losses, row):
    loss, gradient = run_kernel("CTCLoss", LOGITS, *LABELS, LENGTHS, ctc_merge_repeated=merge)
    np.testing.assert_allclose(loss, losses, rtol=1e-5)
    np.testing.assert_allclose(gradient[2, 0], row, atol=2e-6)
    np.testing.assert_array_equal(gradient[4:, 1], 0)


def test_ctc_gradient_is_the_slope_of_the_loss():
    x = LOGITS.astype(np.float64)
    _, gradient = run_kernel("CTCLoss", x, *LABELS, LENGTHS)
    for at in [(0, 0, 1), (3, 0, 2), (2, 1, 3), (5, 1, 0)]:
        step = np.zeros_like(x)
        step[at] = 1e-5
        up = run_kernel("CTCLoss", x + step, *LABELS, LENGTHS)[0].sum()
        down = run_kernel("CTCLoss", x - step, *LABELS, LENGTHS)[0].sum()
        assert abs((up - down) / 2e-5 - gradient[at]) < 1e-8


def test_ctc_loss_rejects_labels_that_need_more_time():
    with pytest.raises(InvalidArgumentError, match=r"required: 4, available: 3\) in batch 0"):
        run_kernel("CTCLoss", LOGITS, *LABELS, np.int32([3, 4]))
    loss, gradient = run_kernel("CTCLoss", LOGITS, *LABELS, np.int32([3, 4]),
                                ignore_longer_outputs_than_inputs=True)  # fmt: skip
    assert loss[0] == 0
    assert not gradient[:, 0].any()


def test_greedy_decoder():
    indices, values, shape, score = run_kernel("CTCGreedyDecoder", LOGITS, LENGTHS,
                                               merge_repeated=True)  # fmt: skip
    same(indices, [[0, i] for i in range(6)] + [[1, i] for i in range(3)])
    same(values, [0, 1, 0, 2, 1, 2, 1, 0, 2])
    same(shape, [2, 6])
    np.testing.assert_allclose(score, [[-6.993], [-4.517]], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "int64", object])
def test_edit_distance(dtype):
    h = np.int64([[0, 0], [0, 1], [1, 0]]), sample((4,), dtype)[[1, 2, 3]], np.int64([2, 2])
    values = sample((4,), dtype)
    values[:] = [b"a", b"b", b"c", b"d"] if dtype is object else [1, 2, 3, 4]
    h = h[0], values[[0, 1, 2]], h[2]
    t = np.int64([[0, 0], [1, 0], [1, 1]]), values[[0, 2, 3]], np.int64([3, 2])
    same(run_kernel("EditDistance", *h, *t), np.float32([1, 0.5, 0]))
    same(run_kernel("EditDistance", *h, *t, normalize=False), np.float32([1, 1, 0]))


def test_assert_prints_the_first_elements_of_its_data():
    data = [np.int32([[1, 2], [3, 4]]), b"x", np.array([b"a", b"b"], object), np.float32(1.5)]
    run_kernel("Assert", np.bool_(True), data)
    with pytest.raises(InvalidArgumentError) as error:
        run_kernel("Assert", np.bool_(False), data)
    assert str(error.value).startswith("assertion failed: [[1 2][3...]...] [x] [a b] [1.5]")
