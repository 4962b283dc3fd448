"""Programs with hr.function."""

from __future__ import annotations

import numpy as np

import headrace.graph as hr
from programs.case import Run, close, program


@program
def structured_results() -> list[Run]:
    v = hr.Variable([1.0, 2.0], use_resource=True)

    @hr.function
    def f(x, factor=2.0):
        return {"a": x * v * factor, "b": [x + 1.0], "c": None}

    x = hr.constant([5.0, 6.0])
    r = f(x)
    assert r["c"] is None
    return [
        Run(
            [r["a"], r["b"][0], *hr.gradients(r["a"], [x, v])], [[10, 24], [6, 7], [2, 4], [10, 12]]
        )
    ]


@program
def random_numbers_of_a_gradient_are_those_of_the_call() -> list[Run]:
    @hr.function
    def f(x):
        return hr.nn.dropout(x, 0.5)

    x = hr.constant(np.arange(1, 33, dtype=np.float32))
    y = f(x)
    (grad,) = hr.gradients(y, x)
    return [Run([y, grad], lambda y, grad: close(y, grad * np.arange(1, 33)))]


@program
def nested_random_numbers() -> list[Run]:
    v = hr.Variable(2.0, use_resource=True)

    @hr.function
    def inner(x):
        return hr.nn.dropout(x * v, 0.5)

    @hr.function
    def outer(x):
        return inner(x) * inner(x + 1.0)

    values = np.arange(1, 17, dtype=np.float32)
    x = hr.constant(values)
    y = outer(x)
    grads = hr.gradients(y, [x, v])

    def check(y, dx, dv):
        close(dv, np.sum(y))  # 2 y / v
        close(dx, y / (values * (values + 1)) * (2 * values + 1))

    return [Run([y, *grads], check)]


@program
def third_derivative() -> list[Run]:
    @hr.function
    def f(x):
        return x * x * x

    x = hr.constant(2.0)
    y = f(x)
    fetches = [y]
    for _ in range(3):
        fetches += hr.gradients(fetches[-1], x)
    return [Run(fetches, [8, 12, 12, 6])]


@program
def mixed_derivatives_of_a_variable() -> list[Run]:
    v = hr.Variable(3.0, use_resource=True)
    x = hr.constant(2.0)

    @hr.function
    def f(x):
        return x * x * v * v

    y = f(x)
    dx, dv = hr.gradients(y, [x, v])
    second = [*hr.gradients(dx, v), *hr.gradients(dv, v)]
    return [Run([y, dx, dv, *second], [36, 36, 24, 24, 8])]


@program
def side_effects_run_in_order() -> list[Run]:
    v = hr.Variable(1.0, use_resource=True)

    @hr.function
    def f(x):
        v.assign_add(x)
        v.assign(v * 2.0)
        return v + 0.0

    return [Run([f(3.0)], [8])]


@program
def a_call_without_results_runs() -> list[Run]:
    v = hr.Variable(1.0, use_resource=True)

    @hr.function
    def f(x):
        v.assign_add(x)

    with hr.control_dependencies([f(3.0)]):
        return [Run([v.read_value()], [4])]


@program
def rows_of_an_embedding() -> list[Run]:
    v = hr.Variable(np.ones((5, 2), np.float32), use_resource=True)

    @hr.function
    def f(rows):
        return hr.reduce_sum(hr.nn.embedding_lookup(v, rows) * 2.0)

    (grad,) = hr.gradients(f(hr.constant([1, 1, 3])), v)
    return [Run([grad.values, grad.indices], [np.full((3, 2), 2.0), [1, 1, 3]])]


@program
def a_custom_gradient_in_a_function() -> list[Run]:
    v = hr.Variable(3.0, use_resource=True)

    @hr.custom_gradient
    def times_variable(x):
        def grad(dy, variables):
            return dy * 5.0, [dy * 7.0 for _ in variables]

        return x * v, grad

    @hr.function
    def f(x):
        return times_variable(x) * 2.0

    x = hr.constant(4.0)
    y = f(x)
    return [Run([y, *hr.gradients(y, [x, v])], [24, 10, 14])]
