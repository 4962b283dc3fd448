"""Reads and writes of a variable that the graph does not order: docs/state.md.

Modules: passes/order_writes.
"""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr


def _variable(resource: bool, value: object, name: str | None = None) -> hr.Variable:
    return hr.get_variable(
        name or "v",
        initializer=np.asarray(value, np.float32),
        dtype=hr.float32,
        use_resource=resource,
    )


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("clip_first", [False, True])
def test_weight_clipping_in_one_run_with_training_keeps_the_training(
    resource: bool, clip_first: bool
) -> None:
    # WGAN: clip W to [-c, c] in the same step as the critic's update.
    w = _variable(resource, [0.5, -0.5, 0.001])
    x = hr.placeholder(hr.float32, [None, 3])
    if clip_first:
        clip = w.assign(hr.clip_by_value(w, -0.01, 0.01))
    loss = hr.reduce_mean(hr.square(hr.reduce_sum(hr.tanh(x * w), 1) - 1.0))
    train = hr.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[w])
    if not clip_first:
        clip = w.assign(hr.clip_by_value(w, -0.01, 0.01))
    rng = np.random.default_rng(0)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for _ in range(5):
            before = session.run(w)
            session.run([train, clip.op], {x: rng.normal(size=(16, 3))})
            after = session.run(w)
            # The short chain first: clipped, then moved by a gradient, which the clip would undo.
            assert not np.array_equal(after, np.clip(before, -0.01, 0.01))
            assert np.abs(after - np.clip(before, -0.01, 0.01)).max() > 1e-5


def test_a_critic_with_clipped_weights_learns() -> None:
    w = _variable(False, np.zeros(2))
    real, fake = hr.placeholder(hr.float32, [None, 2]), hr.placeholder(hr.float32, [None, 2])
    score = [hr.reduce_mean(hr.reduce_sum(values * w, 1)) for values in (real, fake)]
    train = hr.train.RMSPropOptimizer(5e-3).minimize(score[1] - score[0], var_list=[w])
    clip = w.assign(hr.clip_by_value(w, -0.01, 0.01))
    rng = np.random.default_rng(0)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for _ in range(20):
            session.run(
                [train, clip],
                {real: rng.normal(2.0, 0.1, (32, 2)), fake: rng.normal(-2.0, 0.1, (32, 2))},
            )
        assert (session.run(w) > 0.005).all()


def test_a_fetched_reference_is_read_at_the_end_of_the_step() -> None:
    w = _variable(False, 1.0)
    up = w.assign_add(1.0)
    long = hr.constant(1.0)
    for _ in range(30):
        long = hr.tanh(hr.random_uniform([]) * 0.0 + long)
    late = w.assign_add(long * 0.0 + 10.0)
    with hr.Session() as session:
        session.run(w.initializer)
        assert session.run([w, up])[0] == 2.0
        assert session.run([up, w])[1] == 3.0
        assert session.run([w, up.op])[0] == 4.0
        assert session.run([w, late.op, w]) == [14.0, None, 14.0]
        assert session.run([up.op, w, late.op])[1] == 25.0
        assert session.run(w) == 25.0


def test_a_fetched_reference_is_read_behind_writes_that_follow_a_condition() -> None:
    w = _variable(False, 1.0)
    training = hr.placeholder(hr.bool, [])
    rate = hr.cond(training, lambda: hr.constant(5.0), lambda: hr.constant(1.0))
    up = w.assign_add(rate)
    inside = hr.cond(training, lambda: w.assign_add(100.0), lambda: hr.constant(0.0))
    with hr.Session() as session:
        session.run(w.initializer)
        assert session.run([up.op, w], {training: True})[1] == 6.0
        assert session.run([w, up.op], {training: False})[0] == 7.0
        # A write that may not run is not waited for: the fetch has a value either way.
        session.run([w, inside], {training: False})
        session.run([w, inside], {training: True})
        assert session.run(w) == 107.0


def test_a_fetched_reference_is_read_behind_a_write_that_waits_for_a_queue() -> None:
    w = _variable(False, 1.0)
    queue = hr.FIFOQueue(5, [hr.float32], shapes=[[]])
    put = queue.enqueue(4.0)
    up = w.assign_add(queue.dequeue())
    with hr.Session() as session:
        session.run([w.initializer, put])
        assert session.run([w, up.op])[0] == 5.0


def test_a_counter_and_its_update_agree() -> None:
    counter = hr.Variable(0, dtype=hr.int64, trainable=False)
    step = counter.assign_add(1)
    with hr.Session() as session:
        session.run(counter.initializer)
        for n in range(1, 6):
            assert session.run([counter, step]) == [n, n]


@pytest.mark.parametrize("resource", [False, True])
def test_a_moving_average_reads_the_complete_value_before_or_after_training(
    resource: bool,
) -> None:
    v = _variable(resource, np.ones(1000))
    average = hr.train.ExponentialMovingAverage(0.5)
    train = v.assign_add(np.ones(1000, np.float32))
    keep = average.apply([v])
    shadow = average.average(v)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        expected, value = 1.0, 1.0
        for _ in range(5):
            session.run([train.op, keep])
            # The moving average's read comes before the write.
            expected = 0.5 * expected + 0.5 * value
            value += 1.0
            found = session.run(shadow)
            assert (found == np.float32(expected)).all()


def test_reads_that_a_write_does_not_wait_for_by_the_graph_come_first() -> None:
    for resource in (False, True):
        v = _variable(resource, 1.0, f"v{resource}")
        square = hr.identity(v) * hr.identity(v)
        set_ = v.assign(5.0)
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            assert session.run([set_.op, square])[1] == 1.0
            assert session.run([set_.op, square])[1] == 25.0


def test_the_order_of_the_graph_is_kept() -> None:
    v = _variable(False, 1.0)
    with hr.control_dependencies([v.assign_add(1.0).op]):
        doubled = v.assign(v.read_value() * 2.0)
    with hr.control_dependencies([doubled.op]):
        last = v.assign_sub(1.0)
    with hr.Session() as session:
        session.run(v.initializer)
        assert session.run([last, v])[1] == 3.0


def test_a_partial_run_does_not_wait_for_writes_that_later_feeds_bring() -> None:
    v = _variable(False, 1.0)
    fed = hr.placeholder(hr.float32, [])
    up = v.assign_add(fed)
    other = hr.placeholder(hr.float32, [])
    with hr.Session() as session:
        session.run(v.initializer)
        run = session.partial_run_setup([v, up, other + 0.0], [fed, other])
        assert session.partial_run(run, v) == 1.0
        assert session.partial_run(run, up, {fed: 2.0}) == 3.0
