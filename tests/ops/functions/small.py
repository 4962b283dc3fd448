"""Small functions: orders, repetitions, special functions, gradients of the user's own."""

from __future__ import annotations

import numpy as np

_X = np.random.default_rng(8).normal(size=(3, 4)).astype(np.float32)


def _both(m, y, *xs):
    return [y, *m.gradients(m.reduce_sum(m.square(y)), list(xs))]


def orders(m):
    x = m.constant(_X)
    numbers = m.constant([[3, -(2**31), 2**31 - 1], [0, 7, 7]])
    bytes_ = m.constant([3, 255, 0], m.uint8)
    return [
        *_both(m, m.sort(x), x),
        m.sort(x, 0, "DESCENDING"),
        m.sort(numbers),
        m.sort(bytes_),
        m.argsort(x, 0),
        m.argsort(numbers, direction="DESCENDING"),
        m.unravel_index([5, 22], [3, 4, 2]),
    ]


def repetitions(m):
    x = m.constant(_X)
    return [
        *_both(m, m.repeat(x, 2), x),
        m.repeat(x, [1, 0, 3], axis=0),
        m.repeat(x, 2, axis=1),
        m.repeat(["a", "b"], [2, 1]),
    ]


def special(m):
    x, p = m.constant(_X), m.constant(np.abs(_X) + 0.1)
    slices = m.IndexedSlices(x, m.constant([0, 2, 1]), m.constant([3, 4]))
    return [
        *_both(m, m.lbeta(p), p),
        *_both(m, m.math.polyval([2.0, -1.0, 0.5], x), x),
        *_both(m, m.log_sigmoid(x), x),
        *_both(m, m.math.cumulative_logsumexp(x, 1), x),
        m.math.reciprocal_no_nan([0.0, 2.0]),
        m.math.erfcinv(m.constant([0.3, 1.0, 1.6])),
        m.scalar_mul(2.0, x),
        m.scalar_mul(2.0, slices).values,
        m.floor_div([7, -7], [2, 2]),
        m.to_complex64(x),
        m.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5),
    ]


def drawn(m):
    seed = [3, 5]
    logits = m.constant([[0.0, 1.0, -1.0]])
    return [
        m.random.stateless_uniform([4], seed),
        m.random.stateless_uniform([4], seed, -2.0, 3.0, m.float64),
        m.random.stateless_uniform([4], seed, 0, 10, m.int32),
        m.random.stateless_uniform([4], seed, None, None, m.int64),
        m.random.stateless_normal([4], seed, 1.0, 0.5),
        m.random.stateless_truncated_normal([4], seed),
        m.random.stateless_multinomial(logits, 6, seed),
        m.random.stateless_categorical(logits, 6, seed),
    ]


def own_gradients(m):
    x, y = m.constant(_X), m.constant(_X[::-1].copy())

    @m.custom_gradient
    def clipped(a, b):
        def grad(up, other):
            return m.clip_by_value(up, -0.5, 0.5) * b, other * 3.0

        return [a * b, a - b], grad

    result = clipped(x, y)
    loss = m.reduce_sum(m.square(result[0])) + m.reduce_sum(result[1])
    straight = m.grad_pass_through(m.round)(x)
    return [*result, *m.gradients(loss, [x, y]), *_both(m, straight, x)]


def own_gradients_of_variables(m):
    with m.variable_scope("own"):
        v = m.get_variable("v", initializer=np.float32([1.0, 2.0]), use_resource=True)

    @m.custom_gradient
    def scaled(a):
        def grad(up, variables=None):
            return up * 10.0, [up * 7.0 for _ in variables]

        return a * v.read_value(), grad

    x = m.constant([3.0, 4.0])
    with m.control_dependencies([v.initializer]):
        y = scaled(x)
        return [y, *m.gradients(m.reduce_sum(y), [x, v])]


def overridden(m):
    x = m.constant([2.0])
    name = f"Twice{id(x)}"

    @m.RegisterGradient(name)
    def twice(_, grad):
        return 2.0 * grad

    with m.get_default_graph().gradient_override_map({"Identity": name}):
        y = m.identity(x)
    return m.gradients(y, x)


PROGRAMS = {
    f.__name__: f
    for f in (
        orders, repetitions, special, drawn, own_gradients, own_gradients_of_variables, overridden
    )
}  # fmt: skip
