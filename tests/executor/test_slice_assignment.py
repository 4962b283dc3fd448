"""variable[...].assign(value) writes one slice of a variable of either kind."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)

KINDS = pytest.mark.parametrize("use_resource", [False, True])


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as graph:
        yield graph


def variable(value: object, use_resource: bool) -> hr.Variable:
    return hr.get_variable("v", initializer=value, use_resource=use_resource)


@KINDS
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "S"])
def test_slices_are_written_as_numpy_writes_them(use_resource: bool, dtype: str) -> None:
    first = np.arange(60).reshape(3, 4, 5).astype(dtype)
    v = variable(first.astype(object) if dtype == "S" else first, use_resource)
    expected = first.copy()
    slices = [
        np.s_[1:], np.s_[0], np.s_[-1, 2], np.s_[2, 3, 4], np.s_[::2, ::-2], np.s_[..., 1:4:2],
        np.s_[:, None, 1], np.s_[1:1], np.s_[...],
    ]  # fmt: skip
    with hr.Session() as session:
        session.run(v.initializer)
        for i, where in enumerate(slices):
            value = np.full(expected[where].shape, i).astype(dtype)
            expected[where] = value
            given = value.astype(object) if dtype == "S" else value
            found = session.run(v[where].assign(given))
            np.testing.assert_array_equal(found.astype(expected.dtype), expected)


@KINDS
def test_bounds_may_be_fed_and_the_value_may_be_the_variable_itself(use_resource: bool) -> None:
    v = variable(np.arange(5.0), use_resource)
    n = hr.placeholder(hr.int32)
    moved = v[n:].assign(v[: 5 - n])
    with hr.Session() as session:
        session.run(v.initializer)
        assert session.run(moved, {n: 1}).tolist() == [0, 0, 1, 2, 3]
        assert session.run(moved, {n: 3}).tolist() == [0, 0, 1, 0, 0]


@KINDS
def test_a_kept_result_does_not_change(use_resource: bool) -> None:
    v = variable(np.zeros(1000), use_resource)
    update = v[0].assign(7.0)
    with hr.Session() as session:
        session.run(v.initializer)
        before = session.run(v)
        session.run(update)
        assert before[0] == 0 and session.run(v)[0] == 7


@KINDS
def test_a_value_that_does_not_fit_leaves_the_variable_alone(use_resource: bool) -> None:
    v = variable(np.zeros([2, 3]), use_resource)
    value = hr.placeholder(hr.float64)
    update = v[:, 1:].assign(value)
    with hr.Session() as session:
        with pytest.raises(FailedPreconditionError, match="uninitialized"):
            session.run(update, {value: np.ones([2, 2])})
        session.run(v.initializer)
        for shape in [3], [2, 3], [3, 2], [1, 2, 2, 2]:
            with pytest.raises(InvalidArgumentError, match="slice is"):
                session.run(update, {value: np.ones(shape)})
        assert not session.run(v).any()
        assert session.run(update, {value: 4.0}).sum() == 16  # a scalar is broadcast


@KINDS
@pytest.mark.parametrize(
    ("begin", "end"), [([0], [1, 1]), ([0, 0], [1]), (0, 1), ([[0]], [[1]]), ([0] * 100, [1] * 100)]
)
def test_bounds_of_different_or_excessive_lengths_are_rejected(
    use_resource: bool, begin: list[int], end: list[int]
) -> None:
    v = variable(np.zeros(4, np.float32), use_resource)
    fed = [hr.placeholder(hr.int32) for _ in range(3)]
    bounds = dict(zip(("begin", "end", "strides"), fed))
    if use_resource:
        update = hr.raw_ops.ResourceStridedSliceAssign(ref=v.handle, value=[1.0], **bounds)
    else:
        update = hr.raw_ops.StridedSliceAssign(ref=v._ref(), value=[1.0], **bounds)
    with hr.Session() as session:
        session.run(v.initializer)
        with pytest.raises((InvalidArgumentError, UnimplementedError), match="1D equal|indices"):
            session.run(update, dict(zip(fed, (begin, end, np.ones_like(begin)))))
        assert session.run(v).tolist() == [0.0] * 4


def test_the_dtype_of_a_variable_is_checked() -> None:
    v = variable(np.zeros(3), True)
    wrong = hr.raw_ops.ResourceStridedSliceAssign(
        ref=v.handle, begin=[0], end=[1], strides=[1], value=np.ones(1, np.float32)
    )
    with hr.Session() as session:
        session.run(v.initializer)
        with pytest.raises(InvalidArgumentError, match="wrong dtype"):
            session.run(wrong)


def test_only_variables_are_assigned() -> None:
    with pytest.raises(ValueError, match="only supported for variables"):
        hr.constant([1, 2])[0].assign(3)
    v = variable(np.zeros(3), False)
    sliced = hr.strided_slice(v, [0], [2], var=v, name="part")
    assert sliced.assign([1.0, 2.0]).op.name == "part_assign"
