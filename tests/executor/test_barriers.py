"""Barriers: tuples that are complete once each component of their key has arrived.

Modules: state/synchronisation/barrier, kernels/synchronisation/barrier_kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from headrace.graph.ops.synchronisation.barriers import Barrier

FIRST = -(2**63)


@pytest.fixture
def barrier() -> Barrier:
    return Barrier([hr.float32, hr.string], [[], [1]], name="b")


def sizes(session: hr.Session, barrier: Barrier) -> list[int]:
    return [int(session.run(t)) for t in (barrier.ready_size(), barrier.incomplete_size())]


def test_tuples_are_taken_by_the_age_of_their_keys(barrier: Barrier) -> None:
    with hr.Session() as session:
        session.run(barrier.insert_many(0, ["a"], [1.0]))
        session.run(barrier.insert_many(0, ["b", "c"], [2.0, 3.0]))
        assert sizes(session, barrier) == [0, 3]
        session.run(barrier.insert_many(1, ["c", "b"], [["z"], ["y"]]))
        session.run(barrier.insert_many(1, ["a"], [["x"]]))
        assert sizes(session, barrier) == [3, 0]
        indices, keys, values = session.run(barrier.take_many(3))
    assert indices.tolist() == [FIRST, FIRST + 1, FIRST + 1]
    assert keys.tolist() == [b"a", b"c", b"b"]
    assert values[0].tolist() == [1.0, 3.0, 2.0]
    assert values[1].tolist() == [[b"x"], [b"z"], [b"y"]]


def test_a_take_waits_in_the_same_run_for_its_components(barrier: Barrier) -> None:
    take = barrier.take_many(2)
    inserts = [
        barrier.insert_many(0, ["a", "b"], [1.0, 2.0]),
        barrier.insert_many(1, ["b", "a"], [["y"], ["x"]]),
    ]
    with hr.Session() as session:
        _, keys, values = session.run([take, *inserts])[0]
        assert dict(zip(keys.tolist(), values[0].tolist())) == {b"a": 1.0, b"b": 2.0}
        assert sizes(session, barrier) == [0, 0]


def test_the_shapes_of_a_take_are_known(barrier: Barrier) -> None:
    taken = barrier.take_many(4)
    assert [t.shape.as_list() for t in (taken.indices, taken.keys, *taken.values)] == [
        [4], [4], [4], [4, 1],
    ]  # fmt: skip
    assert barrier.take_many(4, allow_small_batch=True).keys.shape.as_list() == [None]


def test_a_closed_barrier_completes_its_keys_and_takes_no_new_ones(barrier: Barrier) -> None:
    with hr.Session() as session:
        session.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
        session.run(barrier.close())
        with pytest.raises(CancelledError, match="attempted to insert a brand new key: c"):
            session.run(barrier.insert_many(0, ["c"], [3.0]))
        with pytest.raises(OutOfRangeError, match=r"\(requested 3, total size 2\)"):
            session.run(barrier.take_many(3))
        session.run(barrier.insert_many(1, ["a"], [["x"]]))
        assert session.run(barrier.take_many(9, allow_small_batch=True)).keys.tolist() == [b"a"]
        with pytest.raises(OutOfRangeError, match="is closed and has insufficient elements"):
            session.run(barrier.take_many(1, allow_small_batch=True))
        with pytest.raises(CancelledError, match="Barrier 'b' is already closed"):
            session.run(barrier.close())
        session.run(barrier.close(cancel_pending_enqueues=True))
        assert sizes(session, barrier) == [0, 0]
        with pytest.raises(CancelledError, match="Pending enqueues cancelled: 1"):
            session.run(barrier.insert_many(1, ["b"], [["y"]]))


INVALID: list[tuple[Any, ...]] = [
    (0, ["a", "a"], [1.0, 2.0], "Key a already has a value for component 0 in barrier b"),
    (2, ["a"], [1.0], "component ID is out of range 2 > num_components"),
    (-1, ["a"], [1.0], "component ID is out of range"),
    (1, ["a"], [1.0], "Signature mismatch"),
    (0, ["a"], [[1.0]], r"Expected \[1\], got \[1,1\]"),
    (0, ["a", "b"], [1.0], "one value for each key"),
    (0, [["a"]], [1.0], "one value for each key|must be rank 1|must have rank|rank"),
    (0, ["a"], np.zeros([1, 0], np.float32), "Tensors with no elements are not supported"),
]


@pytest.mark.parametrize(("component", "keys", "values", "words"), INVALID)
def test_components_that_do_not_fit_are_rejected(
    barrier: Barrier, component: int, keys: Any, values: Any, words: str
) -> None:
    fed, given = hr.placeholder(hr.string), hr.placeholder(hr.float32)
    insert = barrier.insert_many(component, fed, given)
    with hr.Session() as session, pytest.raises(InvalidArgumentError, match=words):
        session.run(insert, {fed: keys, given: values})


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"shapes": []}, "All of the component shapes must be specified"),
        ({"capacity": 3}, "Barrier only accepts capacity=-1"),
        ({"shapes": [[2]]}, r"has component shapes \[\[\]\] but requested .* were \[\[2\]\]"),
        ({"component_types": [hr.int32]}, r"has component types \[float\] but requested"),
    ],
)
def test_a_barrier_that_is_declared_otherwise_is_rejected(attrs: Any, words: str) -> None:
    known = {"component_types": [hr.float32], "shapes": [[]], "shared_name": "s"}
    first, other = hr.raw_ops.Barrier(**known), hr.raw_ops.Barrier(**{**known, **attrs})
    with hr.Session() as session:
        session.run(hr.raw_ops.BarrierReadySize(handle=first))
        with pytest.raises(InvalidArgumentError, match=words):
            session.run(hr.raw_ops.BarrierReadySize(handle=other))


def test_takes_of_other_types_or_numbers_are_rejected(barrier: Barrier) -> None:
    def take(types: Any, n: Any = 1, **attrs: Any) -> Any:
        return hr.raw_ops.BarrierTakeMany(
            handle=barrier.barrier_ref, num_elements=n, component_types=types, **attrs
        )

    n = hr.placeholder(hr.int32)
    both = [hr.float32, hr.string]
    with hr.Session() as session:
        for op, feeds, words in (
            (take([hr.float32]), {}, "Signature mismatch"),
            (take([hr.float64, hr.string]), {}, "Signature mismatch"),
            (take(both, n), {n: -1}, "must not be negative"),
            (take(both, n), {n: [1]}, "scalar"),
            (take(both, timeout_ms=5), {}, "Timeout not supported yet"),
        ):
            with pytest.raises(InvalidArgumentError, match=words):
                session.run(op.keys, feeds)


def test_invalid_barriers_are_rejected_when_they_are_built() -> None:
    with pytest.raises(ValueError, match="Empty tensors are not supported"):
        Barrier([hr.float32], [[0]])
    with pytest.raises(ValueError, match="fully defined"):
        Barrier([hr.float32], [[None]])
