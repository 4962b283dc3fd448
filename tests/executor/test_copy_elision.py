"""Ops that would copy their input unchanged make a view of it, with the same results.

Modules: plan/copy_elision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

VALUE = np.random.RandomState(0).randn(3, 1, 4).astype(np.float32)
COPIES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Sum": (lambda x: hr.reduce_sum(x, []), lambda a: a),
    "Mean": (lambda x: hr.reduce_mean(x, [1], keepdims=True), lambda a: a),
    "Max": (lambda x: hr.reduce_max(x, 1), lambda a: a[:, 0]),
    "Transpose": (lambda x: hr.transpose(x, [0, 2, 1]), lambda a: a.transpose(0, 2, 1)),
    "Cast": (lambda x: hr.raw_ops.Cast(x=x, DstT=hr.float32), lambda a: a),
    "Pad": (lambda x: hr.pad(x, [[0, 0]] * 3), lambda a: a),
    "Tile": (lambda x: hr.tile(x, [1, 1, 1]), lambda a: a),
    "BroadcastTo": (lambda x: hr.broadcast_to(x, [1, 3, 1, 4]), lambda a: a[None]),
    "Slice": (lambda x: hr.slice(x, [0, 0, 0], [3, 1, 4]), lambda a: a),
    "StridedSlice": (lambda x: x[:, 0], lambda a: a[:, 0]),
    "Pack": (lambda x: hr.stack([x], 2), lambda a: a[:, :, None]),
}
WORK: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Sum": (lambda x: hr.reduce_sum(x, 0), lambda a: a.sum(0)),
    "Transpose": (lambda x: hr.transpose(x, [2, 1, 0]), lambda a: a.transpose(2, 1, 0)),
    "Cast": (lambda x: hr.cast(x, hr.float64), lambda a: a.astype(np.float64)),
    "Pad": (
        lambda x: hr.pad(x, [[0, 0], [1, 0], [0, 0]]),
        lambda a: np.pad(a, [(0, 0), (1, 0), (0, 0)]),
    ),
    "Tile": (lambda x: hr.tile(x, [1, 2, 1]), lambda a: np.tile(a, [1, 2, 1])),
    "StridedSlice": (lambda x: x[::-1], lambda a: a[::-1]),
    "Pack": (lambda x: hr.stack([x, x], 2), lambda a: np.stack([a, a], 2)),
}


def _run(op: str, make: Any, copies: bool) -> Any:
    x = hr.placeholder(hr.float32, [None, None, None])
    y = make(x)
    after = hr.tanh(y)
    inside = hr.tanh(make(x * 1.0))
    fed = VALUE.copy()
    with hr.Session() as session:
        got, behind = session.run([y, after], {x: fed})
        fed[:] = 0.0
        alone = session.run(y, {x: VALUE})
        within = session.run(inside, {x: VALUE})
        # Of a value that lies in the step's own memory a view costs nothing at run time.
        assert (f" {op} (" in session.explain(inside, [x])) is not copies
    return got, alone, behind, within


@pytest.mark.parametrize(("copies", "op"), [(True, o) for o in COPIES] + [(False, o) for o in WORK])
@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_a_copy_that_changes_nothing_is_a_view_and_any_other_is_made(copies: bool, op: str) -> None:
    make, want = (COPIES if copies else WORK)[op]
    got, alone, behind, within = _run(op, make, copies)
    for one in (got, alone):
        assert one.dtype == want(VALUE).dtype
        np.testing.assert_allclose(one, want(VALUE), rtol=1e-6)
    for one in (behind, within):
        np.testing.assert_allclose(one, np.tanh(want(VALUE)), rtol=1e-5)


def test_run_time_values_decide_in_each_run() -> None:
    x = hr.placeholder(hr.float32, [None, None])
    order = hr.placeholder(hr.int32, [2])
    y = hr.transpose(x, order)
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    with hr.Session() as session:
        for axes in ([0, 1], [1, 0], [0, 1], [1, 0]):
            np.testing.assert_array_equal(
                session.run(y, {x: value, order: axes}), value.transpose(axes)
            )


@pytest.mark.parametrize("where", ["fed", "in a branch"])
def test_a_slice_that_begins_outside_is_rejected_also_where_it_would_be_a_view(where: str) -> None:
    x = hr.placeholder(hr.float32, [None, None])
    at: Any = hr.placeholder(hr.int32, []) if where == "fed" else hr.constant(2)

    def last() -> Any:
        return [x[at], hr.slice(x, hr.stack([at, 0]), [1, 3])]

    found = last() if where == "fed" else hr.cond(hr.size(x) > 0, last, lambda: [x[0], x])
    feeds = {at: 1} if where == "fed" else {}
    with hr.Session() as session:
        for one in found:
            with pytest.raises(hr.errors.InvalidArgumentError):
                session.run(one, {x: np.ones((1, 3), np.float32), **feeds})
            with pytest.raises(hr.errors.InvalidArgumentError):
                session.run(one * 2.0, {x: np.ones((1, 3), np.float32), **feeds})


def test_an_update_of_a_variable_leaves_a_view_of_its_old_value() -> None:
    for resource in (False, True):
        v = hr.get_variable(f"v{resource:d}", initializer=VALUE, use_resource=resource)
        view = hr.reduce_sum(v.read_value(), [])
        with hr.control_dependencies([view]):
            update = v.assign(VALUE * 0.0)
        with hr.Session() as session:
            session.run(v.initializer)
            np.testing.assert_array_equal(session.run([view, update.op])[0], VALUE)
