"""Linear algebra: static shapes and errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def _matrix(*shape):
    return hr.placeholder("float64", shape)


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (lambda: hr.linalg.svd(_matrix(None, 5, 3)), [[None, 3], [None, 5, 3], [None, 3, 3]]),
        (lambda: [hr.svd(_matrix(5, 3), compute_uv=False)], [[3]]),
        (lambda: hr.qr(_matrix(5, 3)), [[5, 3], [3, 3]]),
        (lambda: hr.linalg.eigh(_matrix(2, 4, 4)), [[2, 4], [2, 4, 4]]),
        (lambda: [hr.linalg.logdet(_matrix(2, 4, 4))], [[2]]),
        (lambda: [hr.linalg.norm(_matrix(2, 4, 3), axis=[1, 2])], [[2]]),
        (lambda: [hr.norm(_matrix(2, 4, 3), keepdims=True)], [[1, 1, 1]]),
        (lambda: [hr.linalg.pinv(_matrix(2, 4, 3))], [[2, 3, 4]]),
        (lambda: [hr.linalg.diag(_matrix(2, 3), k=1)], [[2, 4, 4]]),
        (lambda: [hr.signal.rfft(hr.placeholder("float32", [2, 8]))], [[2, 5]]),
    ],
)
def test_the_shapes_are_known(make, shapes):
    assert [t.shape.as_list() for t in make()] == shapes


def _gradient(make):
    x = _matrix(5, 3)
    return hr.gradients(list(make(x)), [x])


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: hr.norm(_matrix(3), ord="most"), ValueError, "supported vector norm"),
        (lambda: hr.norm(_matrix(3, 3), 3, axis=[0, 1]), ValueError, "supported matrix norm"),
        (lambda: hr.norm(_matrix(3, 3), axis=[0, 0]), ValueError, "2 unique integers"),
        (
            lambda: hr.linalg.tridiagonal_solve(_matrix(3, 4), _matrix(4), "rows"),
            ValueError,
            "diagonals_format",
        ),
        (
            lambda: _gradient(lambda x: hr.qr(x, full_matrices=True)),
            NotImplementedError,
            "nothing decides",
        ),
        (
            lambda: _gradient(lambda x: hr.svd(x, full_matrices=True)),
            NotImplementedError,
            "nothing decides",
        ),
        (
            lambda: _gradient(lambda x: [hr.matrix_solve_ls(x, _matrix(5, 1), fast=False)]),
            ValueError,
            "fast=False",
        ),
    ],
)
def test_invalid_arguments_raise(make, error, says):
    with pytest.raises(error, match=says):
        make()
