"""Gradients pass through the branch that was taken, and only through that one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

ROWS = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("outer", [True, False])
def test_nested_branches_with_variables_and_gathers(
    outer: bool, inner: bool, resource: bool
) -> None:
    p, q = hr.placeholder(hr.bool, []), hr.placeholder(hr.bool, [])
    x = hr.placeholder(hr.float32, [3])
    start = np.array([1.0, 2.0, 3.0], np.float32)
    v = hr.get_variable("v", initializer=start, use_resource=resource)
    e = hr.get_variable("e", initializer=ROWS, use_resource=resource)
    y = hr.cond(
        p,
        lambda: hr.reduce_sum(x * v),
        lambda: hr.reduce_sum(hr.square(v)) + hr.reduce_sum(hr.gather(e, [1, 1])),
    )
    z = hr.cond(p, lambda: hr.cond(q, lambda: y * 2.0, lambda: y * y), lambda: 3.0 * y)
    grads = [hr.convert_to_tensor(g) for g in hr.gradients(z, [x, v, e])]
    train = hr.train.GradientDescentOptimizer(0.5).minimize(z)
    fed = np.array([1.0, 1.0, 2.0], np.float32)
    feed = {p: outer, q: inner, x: fed}
    derivative = (2.0 if inner else 2.0 * float(fed @ start)) if outer else 3.0
    dx = derivative * start if outer else np.zeros(3)
    dv = derivative * fed if outer else derivative * 2 * start
    de = np.zeros([4, 2])
    de[1] = 0.0 if outer else 2 * derivative
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for got, expected in zip(session.run(grads, feed), (dx, dv, de), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6)
        session.run(train, feed)
        np.testing.assert_allclose(session.run(v), start - 0.5 * dv, rtol=1e-6)
        np.testing.assert_allclose(session.run(e), ROWS - 0.5 * de, rtol=1e-6)


def test_a_constant_gradient_stays_in_its_branch() -> None:
    p, x = hr.placeholder(hr.bool, []), hr.placeholder(hr.float32, [])

    @hr.custom_gradient
    def seven(value: hr.Tensor) -> Any:
        return hr.identity(value), lambda grad: hr.constant(7.0)

    y = hr.cond(p, lambda: seven(x), lambda: x * 2.0)
    (grad,) = hr.gradients(y, [x])
    with hr.Session() as session:
        assert session.run(grad, {p: True, x: 1.0}) == 7.0
        assert session.run(grad, {p: False, x: 1.0}) == 2.0


def test_a_tensor_that_no_branch_changes_has_the_gradient_of_the_result() -> None:
    p, x = hr.placeholder(hr.bool, []), hr.placeholder(hr.float32, [2])
    y = hr.cond(p, lambda: x, lambda: hr.stop_gradient(x))
    (grad,) = hr.gradients(y, [x], grad_ys=[hr.constant([3.0, 4.0])])
    with hr.Session() as session:
        assert session.run(grad, {p: True, x: [1, 1]}).tolist() == [3.0, 4.0]
        assert session.run(grad, {p: False, x: [1, 1]}).tolist() == [0.0, 0.0]


def test_layers_that_train_by_a_tensor_learn() -> None:
    training = hr.placeholder_with_default(False, [])
    x = hr.placeholder(hr.float32, [None, 4])
    h = hr.layers.batch_normalization(hr.layers.dense(x, 8), training=training)
    h = hr.layers.dropout(hr.nn.relu(h), 0.2, training=training, seed=1)
    loss = hr.reduce_mean(hr.square(hr.layers.dense(h, 1) - hr.reduce_sum(x, 1, keepdims=True)))
    updates = hr.get_collection(hr.GraphKeys.UPDATE_OPS)
    with hr.control_dependencies(updates):
        train = hr.train.AdamOptimizer(0.05).minimize(loss)
    hr.set_random_seed(1)
    data = np.random.RandomState(0).rand(64, 4).astype(np.float32)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        before = session.run(loss, {x: data})
        for _ in range(150):
            session.run(train, {x: data, training: True})
        assert session.run(loss, {x: data}) < 0.2 * before
