"""LinearOperator: hints, static shapes and rejected arguments."""

from __future__ import annotations

import pytest

import headrace.graph as hr

linalg = hr.linalg


def test_hints_follow_from_each_other() -> None:
    matrix = hr.eye(3)
    operator = linalg.LinearOperatorFullMatrix(matrix, is_positive_definite=True)
    assert operator.is_non_singular and operator.is_square
    assert operator.is_self_adjoint is None and operator.name == "LinearOperatorFullMatrix"
    assert operator.graph_parents == [matrix] and operator.dtype == hr.float32
    for hints, says in (
        ({"is_positive_definite": True, "is_non_singular": False}, "always non-singular"),
        ({"is_non_singular": True, "is_square": False}, "non-singular matrix is always square"),
        ({"is_self_adjoint": True, "is_square": False}, "self-adjoint matrix is always square"),
    ):
        with pytest.raises(ValueError, match=says):
            linalg.LinearOperatorFullMatrix(matrix, **hints)
    wide = linalg.LinearOperatorFullMatrix(hr.zeros([2, 3]), is_square=True)
    with pytest.raises(ValueError, match="is_square=True conflicted with static shape"):
        wide.is_square  # noqa: B018


def test_shapes_are_static_where_they_are_known() -> None:
    unknown = hr.placeholder(hr.float32, [None, 3, None])
    operator = linalg.LinearOperatorFullMatrix(unknown)
    assert operator.shape.as_list() == [None, 3, None] and operator.tensor_rank == 3
    assert operator.range_dimension.value == 3 and operator.domain_dimension.value is None
    assert operator.batch_shape.as_list() == [None] and operator.is_square is None
    for t in (operator.shape_tensor(), operator.batch_shape_tensor()):
        assert t.dtype == hr.int32 and t.shape.ndims == 1
    for t in (operator.tensor_rank_tensor(), operator.domain_dimension_tensor(),
              operator.range_dimension_tensor()):  # fmt: skip
        assert t.shape.ndims == 0
    assert operator.H.shape.as_list() == [None, None, 3]
    assert operator.adjoint().operator is operator and operator.H.H is operator
    diag = linalg.LinearOperatorDiag(hr.ones([2, 3]))
    assert diag.diag.shape.as_list() == [2, 3] and diag.is_self_adjoint and diag.H is diag
    assert (diag @ diag).shape.as_list() == [2, 3, 3]
    assert linalg.LinearOperatorKronecker([diag, diag]).shape.as_list() == [2, 9, 9]
    block = linalg.LinearOperatorBlockDiag([diag, linalg.LinearOperatorIdentity(2)])
    assert block.shape.as_list() == [2, 5, 5] and len(block.operators) == 2
    assert linalg.LinearOperatorCirculant3D(hr.ones([2, 3, 4])).shape.as_list() == [24, 24]
    circulant = linalg.LinearOperatorCirculant2D(hr.ones([5, 3, 4]))
    assert circulant.block_shape.as_list() == [3, 4] and circulant.block_depth == 2
    assert circulant.spectrum.shape.as_list() == [5, 3, 4]
    scaled = linalg.LinearOperatorScaledIdentity(3, hr.ones([4]))
    assert scaled.shape.as_list() == [4, 3, 3] and scaled.multiplier.shape.as_list() == [4]
    toeplitz = linalg.LinearOperatorToeplitz(hr.ones([3]), hr.ones([2, 3]))
    assert toeplitz.shape.as_list() == [2, 3, 3] and toeplitz.col.shape != toeplitz.row.shape
    house = linalg.LinearOperatorHouseholder(hr.ones([2, 3]))
    assert house.reflection_axis.shape.as_list() == [2, 3] and not house.is_positive_definite
    update = linalg.LinearOperatorLowRankUpdate(diag, hr.ones([3, 1]))
    assert update.base_operator is diag and update.diag_update is None
    assert update.u is update.v and update.is_diag_update_positive
    inverse = diag.inverse()
    assert isinstance(inverse, linalg.LinearOperatorDiag)
    full = linalg.LinearOperatorFullMatrix(hr.eye(3))
    assert isinstance(full.inverse(), linalg.LinearOperatorInversion)
    assert full.inverse().inverse() is full


def test_checks_are_operations() -> None:
    operator = linalg.LinearOperatorFullMatrix(2.0 * hr.eye(3), is_self_adjoint=True)
    for check in (operator.assert_non_singular(), operator.assert_self_adjoint(),
                  operator.assert_positive_definite()):  # fmt: skip
        assert isinstance(check, hr.Operation)


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (TypeError, "must have dtype", lambda: linalg.LinearOperatorFullMatrix([[1, 2]])),
        (ValueError, "at least 2 dim", lambda: linalg.LinearOperatorFullMatrix([1.0])),
        (ValueError, "at least 1 dim", lambda: linalg.LinearOperatorDiag(1.0)),
        (ValueError, "always self adjoint",
         lambda: linalg.LinearOperatorDiag([1.0], is_self_adjoint=False)),
        (ValueError, "must be non-negative", lambda: linalg.LinearOperatorIdentity(-1)),
        (TypeError, "must be integer", lambda: linalg.LinearOperatorIdentity(1.5)),
        (ValueError, "always square", lambda: linalg.LinearOperatorIdentity(2, is_square=False)),
        (ValueError, "always singular",
         lambda: linalg.LinearOperatorZeros(2, is_non_singular=True)),
        (ValueError, "Only square lower triangular",
         lambda: linalg.LinearOperatorLowerTriangular(hr.eye(2), is_square=False)),
        (ValueError, "non-empty list", lambda: linalg.LinearOperatorComposition([])),
        (ValueError, "Operators are incompatible", lambda: linalg.LinearOperatorComposition(
            [linalg.LinearOperatorIdentity(2), linalg.LinearOperatorIdentity(3)])),
        (TypeError, "same dtype", lambda: linalg.LinearOperatorKronecker(
            [linalg.LinearOperatorIdentity(2), linalg.LinearOperatorIdentity(2, dtype="float64")])),
        (ValueError, "contrary to the hint", lambda: linalg.LinearOperatorComposition(
            [linalg.LinearOperatorIdentity(2)], is_non_singular=False)),
        (ValueError, "is not square", lambda: linalg.LinearOperatorBlockDiag(
            [linalg.LinearOperatorFullMatrix(hr.zeros([2, 3]))])),
        (ValueError, "must have is_non_singular", lambda: linalg.LinearOperatorInversion(
            linalg.LinearOperatorZeros(2))),
        (ValueError, "contradicts", lambda: linalg.LinearOperatorAdjoint(
            linalg.LinearOperatorIdentity(2), is_self_adjoint=False)),
        (ValueError, "rows of u", lambda: linalg.LinearOperatorLowRankUpdate(
            linalg.LinearOperatorIdentity(2), hr.ones([3, 1]))),
        (ValueError, "not positive definite",
         lambda: linalg.LinearOperatorHouseholder([1.0], is_positive_definite=True)),
        (ValueError, "Expected square matrix",
         lambda: linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0])),
        (ValueError, "Dimensions 2 and 3 are not compatible",
         lambda: linalg.LinearOperatorIdentity(2).matmul(hr.ones([3, 1]))),
        (TypeError, "expected float32",
         lambda: linalg.LinearOperatorIdentity(2).matmul(hr.ones([2, 1], hr.float64))),
        (NotImplementedError, "expected to be singular",
         lambda: linalg.LinearOperatorZeros(2).solve(hr.ones([2, 1]))),
        (NotImplementedError, "expected to not be square",
         lambda: linalg.LinearOperatorFullMatrix(hr.zeros([2, 3])).determinant()),
        (ValueError, "Cannot take the Cholesky decomposition",
         lambda: linalg.LinearOperatorFullMatrix(hr.eye(2)).cholesky()),
        (ValueError, "singular matrix", lambda: linalg.LinearOperatorZeros(2).inverse()),
        (ValueError, "Operators are incompatible. Expected `x`",
         lambda: linalg.LinearOperatorIdentity(2) @ linalg.LinearOperatorIdentity(3)),
        (NotImplementedError, "_shape is not implemented",
         lambda: linalg.LinearOperator(hr.float32).shape),
    ],
)  # fmt: skip
def test_wrong_arguments_are_rejected(error, says, call) -> None:
    with pytest.raises(error, match=says):
        call()


def test_zeros_must_be_square_if_they_say_so() -> None:
    with pytest.raises(ValueError, match="initialized as is_square=True, but got"):
        linalg.LinearOperatorZeros(2, 3)
    wide = linalg.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False)
    assert wide.matmul(hr.zeros([4, 3, 5])).shape.as_list() == [4, 2, 5]
    assert wide.matmul(hr.zeros([4, 2, 5]), adjoint=True).shape.as_list() == [4, 3, 5]
    assert wide.matmul(hr.zeros([5, 3]), adjoint_arg=True).shape.as_list() == [2, 5]
    batch = linalg.LinearOperatorZeros(2, batch_shape=[3])
    assert batch.matmul(hr.zeros([2, 5])).shape.as_list() == [3, 2, 5]
    for shape, error in (([-1], ValueError), ([[1]], ValueError), ([1.0], TypeError)):
        with pytest.raises(error, match="Argument batch_shape"):
            linalg.LinearOperatorIdentity(2, batch_shape=shape)
