"""Conditional accumulators: means and sums of gradients, stale ones dropped, takes that wait.

Modules: state/synchronisation/accumulator, state/synchronisation/waiting,
kernels/synchronisation/accumulator_kernels, kernels/synchronisation/named_objects,
kernels/synchronisation/synchronisation_kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import DeadlineExceededError, InvalidArgumentError


def dense(reference: bool, dtype: Any, shape: Any = None, reduction: str = "MEAN") -> Any:
    """An accumulator of the second generation (a resource) or the first (a reference)."""
    if not reference:
        return hr.ConditionalAccumulator(dtype, shape, reduction_type=reduction)
    handle = hr.raw_ops.ConditionalAccumulator(
        dtype=dtype, shape=hr.TensorShape(shape), reduction_type=reduction
    )

    class Reference:
        apply_grad = staticmethod(
            lambda g, local_step=0: hr.raw_ops.AccumulatorApplyGradient(
                handle=handle,
                local_step=np.int64(local_step),
                gradient=hr.convert_to_tensor(g, dtype),
            )
        )
        take_grad = staticmethod(
            lambda n: hr.raw_ops.AccumulatorTakeGradient(handle=handle, num_required=n, dtype=dtype)
        )
        num_accumulated = staticmethod(lambda: hr.raw_ops.AccumulatorNumAccumulated(handle=handle))
        set_global_step = staticmethod(
            lambda n: hr.raw_ops.AccumulatorSetGlobalStep(
                handle=handle, new_global_step=np.int64(n)
            )
        )

    return Reference


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("dtype", [hr.float16, hr.float32, hr.float64])
@pytest.mark.parametrize(("reduction", "expected"), [("MEAN", [2.5, 4.0]), ("SUM", [5.0, 8.0])])
def test_a_take_returns_the_reduced_gradients_and_begins_anew(
    reference: bool, dtype: hr.DType, reduction: str, expected: list[float]
) -> None:
    accumulator = dense(reference, dtype, [2], reduction)
    one, other = accumulator.apply_grad([1.0, 2.0]), accumulator.apply_grad([4.0, 6.0])
    take, count = accumulator.take_grad(2), accumulator.num_accumulated()
    with hr.Session() as session:
        for step in range(2):
            session.run([one, other] if step == 0 else accumulator.apply_grad([4.0, 6.0], step))
            if step == 1:
                session.run(accumulator.apply_grad([1.0, 2.0], step))
            assert session.run(count) == 2
            assert session.run(take).tolist() == expected
            assert session.run(count) == 0


@pytest.mark.parametrize("reference", [False, True])
def test_stale_gradients_are_dropped(reference: bool) -> None:
    accumulator = dense(reference, hr.float32)
    count = accumulator.num_accumulated()
    with hr.Session() as session:
        session.run(accumulator.set_global_step(5))
        session.run(accumulator.apply_grad([1.0], local_step=4))
        assert session.run(count) == 0
        session.run(accumulator.apply_grad([3.0], local_step=5))
        session.run(accumulator.apply_grad([5.0], local_step=9))
        assert session.run(accumulator.take_grad(1)).tolist() == [4.0]  # the step is 6 from now on
        session.run(accumulator.apply_grad([1.0], local_step=5))
        assert session.run(count) == 0


@pytest.mark.parametrize("reference", [False, True])
def test_a_take_waits_in_the_same_run_for_the_gradients_that_are_applied(reference: bool) -> None:
    accumulator = dense(reference, hr.float32, [1])
    applied = [accumulator.apply_grad([float(i)]) for i in range(4)]
    take = accumulator.take_grad(4)
    with hr.Session() as session:
        assert session.run([take, *applied])[0].tolist() == [1.5]


def test_a_fetched_mean_and_a_gradient_that_others_hold_do_not_change() -> None:
    accumulator = hr.ConditionalAccumulator(hr.float32, [2])
    v = hr.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    apply = accumulator.apply_grad(v.read_value())
    take = accumulator.take_grad(2)
    with hr.Session() as session:
        session.run(v.initializer)
        session.run(apply)
        session.run(apply)
        first = session.run(take)
        assert session.run(v).tolist() == [1.0, 2.0] and first.tolist() == [1.0, 2.0]
        session.run(hr.group(accumulator.apply_grad([8.0, 8.0], 1)))
        session.run(accumulator.apply_grad([8.0, 8.0], 1))
        assert session.run(take).tolist() == [8.0, 8.0] and first.tolist() == [1.0, 2.0]


def test_sparse_gradients_are_averaged_by_row() -> None:
    accumulator = hr.SparseConditionalAccumulator(hr.float32, [None, 2])
    slices = hr.IndexedSlices(
        hr.constant([[1.0, 1.0], [2.0, 2.0]]),
        hr.constant([0, 3], hr.int64),
        hr.constant([9, 2], hr.int64),
    )
    one = accumulator.apply_indexed_slices_grad(slices)
    other = accumulator.apply_grad([1, 3], [[4.0, 4.0], [6.0, 6.0]])
    empty = accumulator.apply_grad(np.zeros([0]), np.zeros([0, 2]))
    take = accumulator.take_indexed_slices_grad(3)
    with hr.Session() as session:
        for op in (one, other, empty):
            session.run(op)
        taken = session.run(take)
    assert taken.indices.tolist() == [0, 1, 3]
    assert taken.values.tolist() == [[1.0, 1.0], [4.0, 4.0], [4.0, 4.0]]
    assert taken.dense_shape.tolist() == [-1, 2]


def test_a_sparse_sum_adds_rows() -> None:
    accumulator = hr.SparseConditionalAccumulator(hr.float64, [5], reduction_type="SUM")
    with hr.Session() as session:
        session.run(accumulator.apply_grad([1, 4], [1.0, 2.0], grad_shape=[5]))
        session.run(accumulator.apply_grad([4], [3.0]))
        indices, values, shape = session.run(accumulator.take_grad(2))
    assert (indices.tolist(), values.tolist(), shape.tolist()) == ([1, 4], [1.0, 5.0], [5])


INVALID_SPARSE = [
    ([0, 9], [[1.0, 1.0], [1.0, 1.0]], None, "index of slice 1 exceeded limits of shape"),
    ([0], [1.0], None, "expected values rank at least 2, got 1"),
    ([0], [[1.0, 2.0, 3.0]], None, "expected values dim 1 to be 2, got 3"),
    ([0], [[1.0, 2.0], [1.0, 2.0]], None, "Expected 1 non-empty input values, got 2"),
    ([0], 1.0, None, "Values cannot be 0-dimensional"),
    ([[0]], [[1.0, 2.0]], None, "Input indices should be vector"),
    ([0], [[1.0, 2.0]], [5, 2], "expected shape dim 0 to be 4, got 5"),
    ([0], [[1.0, 2.0]], [4], "expected shape rank at least 2, got 1"),
]


@pytest.mark.parametrize(("indices", "values", "shape", "words"), INVALID_SPARSE)
def test_a_sparse_gradient_that_does_not_fit_is_rejected(
    indices: Any, values: Any, shape: Any, words: str
) -> None:
    accumulator = hr.SparseConditionalAccumulator(hr.float32, [4, 2])
    fed = [hr.placeholder(hr.int64), hr.placeholder(hr.float32), hr.placeholder(hr.int64)]
    apply = accumulator.apply_grad(fed[0], fed[1], None if shape is None else fed[2])
    feeds = {fed[0]: indices, fed[1]: values, **({} if shape is None else {fed[2]: shape})}
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match=words):
            session.run(apply, feeds)
        assert session.run(accumulator.num_accumulated()) == 0
        session.run(accumulator.apply_grad([1], [[1.0, 1.0]]))
        with pytest.raises(InvalidArgumentError, match="Shape mismatch|nput|dimensional"):
            session.run(apply, feeds)
        assert session.run(accumulator.num_accumulated()) == 1


def test_dense_gradients_of_another_shape_are_rejected() -> None:
    fed = hr.placeholder(hr.float32)
    declared, free = (
        hr.ConditionalAccumulator(hr.float32, [None, 2]),
        hr.ConditionalAccumulator(hr.float32),
    )
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match=r"mismatch: expected \[\?,2\], got \[3\]"):
            session.run(declared.apply_grad(fed), {fed: [1.0, 2.0, 3.0]})
        session.run(free.apply_grad([1.0, 2.0]))
        with pytest.raises(InvalidArgumentError, match=r"mismatch: expected \[2\], got \[1,2\]"):
            session.run(free.apply_grad(fed), {fed: [[1.0, 2.0]]})
        assert session.run(free.num_accumulated()) == 1
    with pytest.raises(ValueError, match="incompatible"):
        declared.apply_grad([1.0])


@pytest.mark.parametrize("required", [0, -1, -(2**31)])
def test_a_take_of_no_gradients_is_rejected(required: int) -> None:
    accumulator = hr.ConditionalAccumulator(hr.float32)
    with (
        hr.Session() as session,
        pytest.raises(InvalidArgumentError, match="Argument num_required must be positive"),
    ):
        session.run(accumulator.take_grad(required))


def test_ops_of_another_dtype_or_kind_are_rejected() -> None:
    one = hr.ConditionalAccumulator(hr.float32, shared_name="a")
    sparse = hr.SparseConditionalAccumulator(hr.float32)
    take = hr.raw_ops.ResourceAccumulatorTakeGradient(
        handle=one.accumulator_ref, num_required=1, dtype=hr.float64
    )
    of_sparse = hr.raw_ops.AccumulatorTakeGradient(
        handle=sparse.accumulator_ref, num_required=1, dtype=hr.float32
    )
    of_queue = hr.raw_ops.ResourceAccumulatorNumAccumulated(
        handle=hr.FIFOQueue(1, hr.int32).queue_ref
    )
    with hr.Session() as session:
        for op, words in (
            (take, "Signature mismatch"),
            (of_sparse, "is sparse"),
            (of_queue, "does not point at an accumulator"),
        ):
            with pytest.raises(InvalidArgumentError, match=words):
                session.run(op)


def test_a_take_that_ends_by_its_time_limit_takes_nothing() -> None:
    accumulator = hr.ConditionalAccumulator(hr.float32)
    take = accumulator.take_grad(1)
    with hr.Session() as session:
        with pytest.raises(DeadlineExceededError):
            session.run(take, options=hr.RunOptions(timeout_in_ms=20))
        session.run(accumulator.apply_grad([2.0]))
        assert session.run(take).tolist() == [2.0]


def test_sessions_share_an_accumulator_by_name() -> None:
    accumulator = hr.ConditionalAccumulator(hr.float32, shared_name="shared")
    assert isinstance(accumulator, hr.ConditionalAccumulatorBase)
    assert isinstance(hr.sparse.SparseConditionalAccumulator(hr.float32).dtype, hr.DType)
    apply, take = accumulator.apply_grad([2.0]), accumulator.take_grad(1)
    with hr.Session("local://accumulators") as one, hr.Session("local://accumulators") as other:
        one.run(apply)
        assert other.run(take).tolist() == [2.0]
        one.run(accumulator.apply_grad([2.0], 1))
        hr.Session.reset("local://accumulators")
        assert other.run(accumulator.num_accumulated()) == 0
