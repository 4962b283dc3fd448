"""Loops and branches in functions, and functions in loops and branches."""

from __future__ import annotations

import numpy as np

import headrace.graph as hr
from headrace.graph.functions import Defun, For, If
from programs.case import Run, X, close, program


@program
def a_random_loop_in_a_function() -> list[Run]:
    @hr.function
    def f(x, n):
        return hr.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, a * x * hr.random_uniform([], 0.9, 1.1)),
            [0, hr.constant(1.0)],
        )[1]

    x = hr.constant(2.0)
    y = f(x, hr.constant(3))
    (first,) = hr.gradients(y, x)
    (second,) = hr.gradients(first, x)

    def check(y, first, second):
        close(first, 3 * y / 2)
        close(second, 6 * y / 4)

    return [Run([y, first, second], check)]


@program
def a_branch_in_a_function() -> list[Run]:
    @hr.function
    def f(x):
        return hr.cond(x > 1.0, lambda: x * x, lambda: x * 3.0)

    x = hr.placeholder(hr.float32, [])
    y = f(x)
    fetches = [y, *hr.gradients(y, x)]
    return [Run(fetches, [4, 4], {x: 2.0}), Run(fetches, [1.5, 3], {x: 0.5})]


@program
def random_numbers_in_branches_of_a_function() -> list[Run]:
    def product(x):
        n = hr.constant(2)
        return hr.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, a * x * hr.random_uniform([], 0.9, 1.1)),
            [0, hr.constant(1.0)],
        )[1]

    @hr.function
    def f(x):
        inner = lambda: hr.cond(x > 2.0, lambda: product(x), lambda: x * hr.random_uniform([]))  # noqa: E731
        return hr.cond(x > 1.0, inner, lambda: x * 3.0)

    x = hr.placeholder(hr.float32, [])
    y = f(x)
    (first,) = hr.gradients(y, x)
    (second,) = hr.gradients(first, x)

    def times(power):
        def check(x, y, first, second):
            close(first, power * y / x)
            close(second, power * (power - 1) * y / x**2)

        return check

    fetches = [x, y, first, second]
    return [
        Run(fetches, times(2), {x: 3.0}),
        Run(fetches, times(1), {x: 1.5}),
        Run(fetches, [0.5, 1.5, 3.0, 0.0], {x: 0.5}),
    ]


@program
def loops_of_one_name_in_both_branches() -> list[Run]:
    def power(n):
        @Defun(hr.float32)
        def f(x):
            return hr.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * x), [0, x])[1]

        return f

    x = hr.placeholder(hr.float32, [])
    (y,) = If(x > 1.0, [x], power(1), power(2))
    fetches = [y, *hr.gradients(y, x)]
    return [Run(fetches, [4, 4], {x: 2.0}), Run(fetches, [0.125, 0.75], {x: 0.5})]


@program
def a_loop_in_a_call_in_a_call() -> list[Run]:
    @Defun(hr.float32)
    def inner(x):
        return hr.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]

    @Defun(hr.float32)
    def outer(x):
        return inner(x) * 2.0

    x = hr.constant(1.5)
    y = outer(x)
    (first,) = hr.gradients(y, x)
    return [Run([y, first, *hr.gradients(first, x)], [2 * 1.5**4, 8 * 1.5**3, 24 * 1.5**2])]


@program
def a_for_in_a_for() -> list[Run]:
    @Defun(hr.int32, hr.float32)
    def inner(i, a):
        return a * a

    @Defun(hr.int32, hr.float32)
    def outer(i, a):
        return For(0, 2, 1, [a], inner)[0]

    x = hr.constant(1.1)
    (y,) = For(0, 2, 1, [x], outer)
    return [Run([y, *hr.gradients(y, x)], [1.1**16, 16 * 1.1**15])]


@program
def a_call_waits_for_effects_in_loops_and_branches() -> list[Run]:
    v = hr.Variable(1.0, use_resource=True)

    @hr.function
    def change(x):
        def body(i):
            add = hr.cond(x > 0.0, lambda: v.assign_add(x), lambda: v.assign_sub(x))
            with hr.control_dependencies([add]):
                return hr.while_loop(lambda j: j < 1, lambda j: j + 1, [0]) + i

        return hr.while_loop(lambda i: i < 3, body, [0])

    def after(x):
        def body(i):
            with hr.control_dependencies([change(x).op]):
                return i + 1

        loop = hr.while_loop(lambda i: i < 2, body, [0])
        with hr.control_dependencies([loop]):
            return v.read_value()

    return [Run([after(hr.constant(-1.0))], [7])]


@program
def a_call_in_a_loop() -> list[Run]:
    @hr.function
    def f(x):
        return x * x

    x = hr.constant(1.5)
    y = hr.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, f(a)), [0, x])[1]
    return [Run([y, *hr.gradients(y, x)], [1.5**8, 8 * 1.5**7])]


@program
def a_random_call_in_a_branch() -> list[Run]:
    @hr.function
    def f(x):
        return hr.nn.dropout(x, 0.5)

    pred, x = hr.placeholder(hr.bool, []), hr.constant(np.ones(16, np.float32))
    y = hr.cond(pred, lambda: f(x), lambda: x * 2.0)
    fetches = [y, *hr.gradients(y, x)]
    return [
        Run(fetches, lambda y, grad: close(y, grad), {pred: True}),
        Run(fetches, lambda y, grad: close(grad, np.full(16, 2.0)), {pred: False}),
    ]


@program
def a_random_call_in_a_loop() -> list[Run]:
    @hr.function
    def f(x):
        return x * hr.random_uniform([], 0.9, 1.1)

    x = hr.constant(2.0)
    y = hr.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, f(a) * x), [0, hr.constant(1.0)])[1]
    return [Run([y, *hr.gradients(y, x)], lambda y, grad: close(grad, 3 * y / 2))]


@program
def random_loops_in_nested_functions() -> list[Run]:
    @hr.function
    def inner(a, x):
        def step(j, b):
            return j + 1, b * x * hr.random_uniform([], 0.9, 1.1)

        return hr.while_loop(lambda j, b: j < 2, step, [0, a])[1]

    @hr.function
    def outer(x):
        return hr.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, inner(a, x)), [0, hr.constant(1.0)]
        )[1]

    x = hr.constant(1.5)
    y = outer(x)
    (first,) = hr.gradients(y, x)

    def check(y, first, second):
        close([first, second], [6 * y / 1.5, 30 * y / 1.5**2])

    return [Run([y, first, *hr.gradients(first, x)], check)]


@program
def an_optimizer_in_a_function() -> list[Run]:
    v = hr.Variable([2.0], use_resource=True)
    optimizer = hr.train.MomentumOptimizer(0.1, 0.9)

    @hr.function
    def step(x):
        loss = hr.reduce_sum(hr.square(v * x))
        optimizer.minimize(loss)
        return loss

    with hr.control_dependencies([step(3.0)]):
        return [Run([v.read_value()], [[2 - 0.1 * 36]])]


@program
def layers_in_a_function() -> list[Run]:
    @hr.function
    def network(x, training):
        h = hr.layers.dense(x, 8, activation=hr.nn.relu, name="first")
        h = hr.layers.batch_normalization(h, training=training, name="norm")
        h = hr.layers.dropout(h, 0.3, training=training)
        return hr.layers.dense(h, 1, name="last")

    x = hr.constant(np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32))
    loss = hr.reduce_mean(hr.square(network(x, True)))
    grads = hr.gradients(loss, hr.trainable_variables())
    assert len(grads) == 6 and None not in grads

    def check(*values):
        assert all(np.isfinite(value).all() for value in values)

    return [Run([loss, *grads], check)]


@program
def a_convolution_in_a_defun() -> list[Run]:
    weights = hr.Variable(np.linspace(-1, 1, 36).reshape(3, 3, 1, 4).astype(np.float32))
    x = hr.constant(np.cos(np.arange(128)).reshape(2, 8, 8, 1).astype(np.float32))

    def pooled(x):
        y = hr.nn.conv2d(x, weights, [1, 1, 1, 1], "SAME")
        return hr.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")

    f = Defun(hr.float32)(pooled)
    found, expected = (hr.gradients(y, [x, weights.value()]) for y in (f(x), pooled(x)))

    def check(*values):
        close(values[0], values[2])
        close(values[1], values[3])

    return [Run([*found, *expected], check)]


@program
def sparse_arguments_and_results() -> list[Run]:
    @hr.function
    def f(s):
        return hr.sparse.reduce_sum(s) * 2.0, s

    total, again = f(hr.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2]))
    return [Run([total, again.values], [6, [1, 2]])]


@program
def a_list_of_tensors_leaves_a_function() -> list[Run]:
    @hr.function
    def f(x):
        start = hr.raw_ops.EmptyTensorList(
            element_shape=[2], max_num_elements=-1, element_dtype=hr.float32
        )
        return hr.raw_ops.TensorListPushBack(input_handle=start, tensor=x * 3.0)

    x = hr.constant([1.0, 2.0])
    y = hr.raw_ops.TensorListStack(input_handle=f(x), element_shape=[2], element_dtype=hr.float32)
    return [Run([y, *hr.gradients(y, x)], [[[3, 6]], [3, 3]])]


@program
def gradients_of_some_results() -> list[Run]:
    @hr.function
    def f(x, y):
        return x * 2.0, x * 3.0, hr.cast(y, hr.int32)

    x, y = hr.constant(1.0), hr.constant(2.0)
    a, b, _ = f(x, y)
    only = hr.gradients(b, [x, y])
    assert only[1] is None
    return [Run([only[0], *hr.gradients([a, b], x, grad_ys=[2.0, 3.0])], [3, 13])]


@program
def a_recurrent_network_in_a_function() -> list[Run]:
    cell = hr.nn.rnn_cell.GRUCell(3)

    @hr.function
    def network(x):
        return hr.nn.dynamic_rnn(cell, x, dtype=hr.float32)[0]

    x = hr.constant(np.linspace(-1, 1, 16).reshape(2, 4, 2).astype(np.float32))
    y = network(x)
    weights = hr.trainable_variables()
    with hr.variable_scope("", reuse=True):
        expected = hr.nn.dynamic_rnn(cell, x, dtype=hr.float32)[0]
    assert hr.trainable_variables() == weights
    found = [y, *hr.gradients(y, [x, *weights])]
    other = [expected, *hr.gradients(expected, [x, *weights])]

    def check(*values):
        for value, same in zip(values[: len(found)], values[len(found) :], strict=True):
            close(value, same)

    return [Run([*found, *other], check)]


@program
def a_map_in_a_function() -> list[Run]:
    @hr.function
    def f(x):
        return hr.map_fn(lambda row: row * row, x)

    x = hr.constant(X)
    y = f(x)
    (first,) = hr.gradients(y, x)
    return [Run([y, first, *hr.gradients(first, x)], [X * X, 2 * X, np.full(3, 2.0)])]
