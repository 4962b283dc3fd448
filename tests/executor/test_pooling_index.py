"""MaxPool keeps the position of each maximum for gradients in the same step.

Modules: plan/window_index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.builder.op_builder import op

KSIZE, STRIDES = [1, 3, 3, 1], [1, 2, 2, 1]
FORWARD, BACKWARD = "_MaxPoolWithWindowIndex (cpu)", "_MaxPoolGradWithWindowIndex (cpu)"


def _pool(x: hr.Tensor) -> hr.Tensor:
    return hr.nn.max_pool(x, KSIZE, STRIDES, "SAME")


def _gradient(x: hr.Tensor, y: hr.Tensor, dy: hr.Tensor, **other: Any) -> hr.Tensor:
    attrs = {"ksize": KSIZE, "strides": STRIDES, "padding": "SAME", **other}
    return op("MaxPoolGrad", x, y, dy, **attrs)


def _ties(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).randint(0, 4, shape).astype(np.float32)


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_a_gradient_reads_the_index_of_its_pool() -> None:
    x = hr.placeholder(hr.float32, [None, None, 10, 16])
    y = _pool(x)
    dy = hr.placeholder(hr.float32, None)
    (dx,) = hr.gradients(y, x, dy)
    with hr.Session() as session:
        for batch, rows in ((2, 9), (5, 12), (2, 9), (1, 3)):
            feeds = {x: _ties(batch, rows, 10, 16)}
            pooled = session.run(y, feeds)
            feeds[dy] = np.random.RandomState(1).randn(*pooled.shape).astype(np.float32)
            # Where the pool's output is fed, its gradient finds the maxima itself.
            apart = session.run(dx, {**feeds, y: pooled})
            np.testing.assert_array_equal(session.run(dx, feeds), apart)
            both = session.run([dx, y], feeds)
            np.testing.assert_array_equal(both[0], apart)
            np.testing.assert_array_equal(both[1], pooled)
        for fetches in (dx, [dx, y]):
            explained = session.explain(fetches, [x, dy])
            assert f"1  {FORWARD}" in explained
            assert f"1  {BACKWARD}" in explained
        assert "1  MaxPoolGrad (cpu)" in session.explain(dx, [x, dy, y])
        assert FORWARD not in session.explain(y, [x])


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_several_gradients_behind_identities_share_one_index() -> None:
    x = hr.placeholder(hr.float32, [2, 9, 10, 16])
    y = _pool(hr.identity(x))
    dy = hr.placeholder(hr.float32, [2, 5, 5, 16])
    grads = [
        _gradient(x, hr.identity(y), dy),
        _gradient(hr.reshape(x, [2, 9, 10, 16]), y, dy * 2.0),
    ]
    feeds = {x: _ties(2, 9, 10, 16), dy: _ties(2, 5, 5, 16)}
    with hr.Session() as session:
        pooled = session.run(y, feeds)
        together = session.run(grads, feeds)
        apart = session.run(grads, {**feeds, y: pooled})
        explained = session.explain(grads, [x, dy])
    assert f"1  {FORWARD}" in explained
    assert f"2  {BACKWARD}" in explained
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one, other)


OTHERS = {
    "window": {"ksize": [1, 2, 3, 1]},
    "input": {},
    "output": {},
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_gradient_of_another_pool_finds_its_maxima_itself(what: str) -> None:
    x = hr.placeholder(hr.float32, [2, 9, 10, 16])
    y = _pool(x)
    dy = hr.placeholder(hr.float32, [2, 5, 5, 16])
    dx = _gradient(
        x + 1.0 if what == "input" else x, y + 1.0 if what == "output" else y, dy, **OTHERS[what]
    )
    feeds = {x: _ties(2, 9, 10, 16), dy: _ties(2, 5, 5, 16)}
    with hr.Session() as session:
        got = session.run([dx, y], feeds)
        assert BACKWARD not in session.explain([dx, y], [x, dy])
        np.testing.assert_array_equal(got[0], session.run(dx, {**feeds, y: got[1]}))


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_a_pool_in_a_loop_keeps_its_index_for_a_gradient_in_the_loop() -> None:
    x = hr.placeholder(hr.float32, [2, 9, 10, 16])

    def body(i: hr.Tensor, value: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        y = _pool(value)
        return i + 1, _gradient(value, y, y * 0.5)

    _, last = hr.while_loop(lambda i, _: i < 4, body, [hr.constant(0), x])
    y = _pool(x)
    once = _gradient(x, y, y * 0.5)
    with hr.Session() as session:
        want = start = _ties(2, 9, 10, 16)
        for _ in range(4):
            want = session.run(once, {x: want, y: session.run(y, {x: want})})
        np.testing.assert_array_equal(session.run(last, {x: start}), want)
        assert BACKWARD in session.explain(last, [x])


def test_a_partial_run_that_stops_between_pool_and_gradient_gives_the_same() -> None:
    x = hr.placeholder(hr.float32, [2, 9, 10, 16])
    dy = hr.placeholder(hr.float32, [2, 5, 5, 16])
    y = _pool(x)
    (dx,) = hr.gradients(y, x, dy)
    feeds = {x: _ties(2, 9, 10, 16), dy: _ties(2, 5, 5, 16)}
    with hr.Session() as session:
        want = session.run([y, dx], feeds)
        for _ in range(2):
            handle = session.partial_run_setup([y, dx], [x, dy])
            got = [session.partial_run(handle, y, {x: feeds[x]})]
            got.append(session.partial_run(handle, dx, {dy: feeds[dy]}))
            for one, other in zip(got, want, strict=True):
                np.testing.assert_array_equal(one, other)
