"""Checks of linear operators fail the run of wrong matrices; empty batches give empty results."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr

linalg = hr.linalg
_GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize(
    ("check", "wrong", "says"),
    [
        ("assert_non_singular", [[1.0, 2.0], [2.0, 4.0]], "Singular matrix"),
        ("assert_self_adjoint", [[1.0, 2.0], [0.0, 1.0]], "not equal to its adjoint"),
        ("assert_positive_definite", [[1.0, 2.0], [2.0, 1.0]], "not positive definite"),
    ],
)
def test_a_check_fails_the_run_of_a_wrong_matrix(check, wrong, says) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        matrix = hr.placeholder(hr.float64, [2, 2])
        operation = getattr(linalg.LinearOperatorFullMatrix(matrix), check)()
        session.run(operation, {matrix: _GOOD})
        with pytest.raises(hr.errors.InvalidArgumentError, match=says):
            session.run(operation, {matrix: wrong})


def test_unknown_and_empty_batches() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        matrix, right = hr.placeholder(hr.float64), hr.placeholder(hr.float64)
        matrix.set_shape([None, None, None])
        right.set_shape([None, None, None])
        full = linalg.LinearOperatorFullMatrix(matrix)
        block = linalg.LinearOperatorBlockDiag([full, linalg.LinearOperatorKronecker([full, full])])
        fetches = [full.solve(right), full.determinant(), block.to_dense(), full.matmul(right)]
        for batch in (0, 1, 4):
            feeds = {matrix: np.stack([_GOOD] * batch) if batch else np.zeros((0, 2, 2)),
                     right: np.ones((batch, 2, 3))}  # fmt: skip
            found = session.run(fetches, feeds)
            shapes = [(batch, 2, 3), (batch,), (batch, 6, 6), (batch, 2, 3)]
            assert [f.shape for f in found] == shapes
            if batch:
                np.testing.assert_allclose(found[2][0, 2:, 2:], np.kron(_GOOD, _GOOD))


def test_zeros_do_not_look_at_what_they_multiply() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.constant([[np.nan, np.inf], [1.0, 2.0], [3.0, 4.0]])
        square, wide = (
            linalg.LinearOperatorZeros(3),
            linalg.LinearOperatorZeros(
                2, 3, batch_shape=[2], is_square=False, is_self_adjoint=False
            ),
        )
        assert not session.run(square.matmul(x)).any()
        assert session.run(wide.matmul(x)).tolist() == np.zeros([2, 2, 2]).tolist()
        assert not session.run(square.matvec(x[:, 0])).any()


@pytest.mark.parametrize("kind", ["Identity", "ScaledIdentity", "Zeros"])
def test_proper_shapes_are_checked_when_they_are_computed(kind) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        size, x = hr.placeholder(hr.int32, []), hr.placeholder(hr.float32, [None, 1])
        more = [2.0] if kind == "ScaledIdentity" else []
        operator = getattr(linalg, f"LinearOperator{kind}")(size, *more, assert_proper_shapes=True)
        product = operator.matmul(x)
        assert session.run(product, {size: 2, x: [[1.0], [1.0]]}).shape == (2, 1)
        with pytest.raises(hr.errors.InvalidArgumentError, match="Dimensions are not compatible"):
            session.run(product, {size: 2, x: [[1.0]] * 3})
        with pytest.raises(hr.errors.InvalidArgumentError, match="must be non-negative"):
            session.run(operator.shape_tensor(), {size: -2})
