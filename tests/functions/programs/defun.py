"""Programs with Defun."""

from __future__ import annotations

import numpy as np

import headrace.graph as hr
from headrace.graph.functions import Defun
from programs.case import Run, program


@program
def defun_captures_a_tensor() -> list[Run]:
    outer = hr.constant(3.0)

    @Defun(hr.float32, hr.float32)
    def f(x, y):
        return x * y + outer, hr.sin(x)

    x, y = hr.constant(2.0), hr.constant(4.0)
    a, b = f(x, y)
    grads = hr.gradients(a + b, [x, y, outer])
    return [Run([a, b, *grads], [11, np.sin(2), 4 + np.cos(2), 2, 1])]


@program
def defun_captures_variables() -> list[Run]:
    v = hr.Variable([1.0, 2.0], use_resource=True)
    w = hr.Variable([3.0, 4.0])

    @Defun(hr.float32)
    def f(x):
        return hr.reduce_sum(x * v * w)

    x = hr.constant([5.0, 6.0])
    y = f(x)
    return [Run([y, *hr.gradients(y, [x, v])], [63, [3, 8], [15, 24]])]


@program
def defun_gets_a_variable() -> list[Run]:
    @Defun(hr.float32)
    def f(x):
        return x * hr.get_variable("w", initializer=3.0, use_resource=True)

    with hr.variable_scope("scope"):
        y = f(2.0)
    (w,) = hr.trainable_variables()
    assert w.name == "scope/w:0"
    return [Run([y, *hr.gradients(y, [w])], [6, 2])]


@program
def gradients_that_a_function_brings() -> list[Run]:
    @Defun(hr.float32, hr.float32)
    def seven(x, dy):
        return dy * 7.0

    @Defun(hr.float32, grad_func=seven)
    def f(x):
        return x * x

    @Defun(hr.float32, python_grad_func=lambda op, dy: dy * 9.0)
    def g(x):
        return x * x

    x = hr.constant(3.0)
    return [Run([f(x), *hr.gradients(f(x), x), *hr.gradients(g(x), x)], [9, 7, 9])]


@program
def second_derivatives_of_a_defun() -> list[Run]:
    @Defun(hr.float32)
    def f(x):
        return x * x * x

    x = hr.constant(2.0)
    (first,) = hr.gradients(f(x), x)
    return [Run([first, *hr.gradients(first, x)], [12, 12])]


@program
def a_captured_value_is_copied() -> list[Run]:
    outer = hr.constant(3.0) * 2.0

    @Defun(hr.float32, capture_by_value=True)
    def f(x):
        return x * outer

    assert f.captured_inputs == []
    return [Run([f(2.0)], [12])]


@program
def overloads_by_dtype() -> list[Run]:
    @Defun()
    def twice(x):
        return x + x

    return [Run([twice(hr.constant(2)), twice(hr.constant(1.5))], [4, 3])]


@program
def a_function_calls_a_function() -> list[Run]:
    @Defun(hr.float32)
    def square(x):
        return x * x

    @Defun(hr.float32)
    def f(x):
        return square(square(x)) + 1.0

    x = hr.constant(2.0)
    return [Run([f(x), *hr.gradients(f(x), x)], [17, 32])]
