"""Programs with If, Case, While and For."""

from __future__ import annotations

import numpy as np

import headrace.graph as hr
from headrace.graph.functions import Case, Defun, For, If, While
from programs.case import Run, close, program


@program
def gradient_of_if_is_that_of_the_branch() -> list[Run]:
    v = hr.Variable(2.0, use_resource=True)

    @Defun(hr.float32, hr.resource)
    def scaled(x, handle):
        value = hr.raw_ops.ReadVariableOp(resource=handle, dtype=hr.float32)
        return value * x * hr.random_uniform([2], 1, 2)

    @Defun(hr.float32, hr.resource)
    def squared(x, handle):
        return x * x

    pred, x = hr.placeholder(hr.bool, []), hr.constant([3.0, 4.0])
    (y,) = If(pred, [x, v.handle], scaled, squared)
    fetches = [y, *hr.gradients(y, [x, v])]

    def check(y, dx, dv):
        close(dx, y / [3, 4])
        close(dv, np.sum(y) / 2)

    return [
        Run(fetches, check, {pred: True}),
        Run(fetches, [[9, 16], [6, 8], 0], {pred: False}),
    ]


@program
def gradient_of_case() -> list[Run]:
    @Defun(hr.float32)
    def squared(x):
        return x * x

    @Defun(hr.float32)
    def sine(x):
        return hr.sin(x)

    @Defun(hr.float32)
    def one(x):
        return hr.constant(1.0)

    index, x = hr.placeholder(hr.int32, []), hr.constant(3.0)
    (y,) = Case(index, [x], [squared, sine, one])
    (first,) = hr.gradients(y, x)
    fetches = [y, first, *hr.gradients(first, x)]
    return [
        Run(fetches, [9, 6, 2], {index: 0}),
        Run(fetches, [np.sin(3), np.cos(3), -np.sin(3)], {index: 1}),
        Run(fetches, [1, 0, 0], {index: 2}),
    ]


def _counts_to_3(*types):
    @Defun(hr.int32, *types)
    def less(i, *rest):
        return i < 3

    return less


@program
def gradients_of_while() -> list[Run]:
    @Defun(hr.int32, hr.float32, hr.float32)
    def step(i, a, x):
        return i + 1, a * x, x

    x = hr.constant(2.0)
    inputs = [hr.constant(0), hr.constant(1.0), x]
    y = While(inputs, _counts_to_3(hr.float32, hr.float32), step)[1]
    (first,) = hr.gradients(y, x)
    return [Run([y, first, *hr.gradients(first, x)], [8, 12, 12])]


@program
def a_random_while_in_a_branch() -> list[Run]:
    @Defun(hr.int32, hr.float32, hr.float32)
    def step(i, a, x):
        return i + 1, a * x * hr.random_uniform([], 0.9, 1.1), x

    less = _counts_to_3(hr.float32, hr.float32)

    @Defun(hr.float32)
    def looped(x):
        return While([hr.constant(0), hr.constant(1.0), x], less, step)[1]

    @Defun(hr.float32)
    def scaled(x):
        return x * 5.0

    pred, x = hr.placeholder(hr.bool, []), hr.constant(2.0)
    (y,) = If(pred, [x], looped, scaled)
    fetches = [y, *hr.gradients(y, x)]
    return [
        Run(fetches, lambda y, grad: close(grad, 3 * y / 2), {pred: True}),
        Run(fetches, [10, 5], {pred: False}),
    ]


@program
def while_captures_a_tensor() -> list[Run]:
    factor = hr.constant(2.0)

    @Defun(hr.int32, hr.float32)
    def step(i, a):
        return i + 1, a * factor

    y = While([hr.constant(0), hr.constant(1.0)], _counts_to_3(hr.float32), step)[1]
    return [Run([y, *hr.gradients(y, factor)], [8, 12])]


@program
def random_numbers_in_while() -> list[Run]:
    @Defun(hr.int32, hr.float32, hr.float32)
    def step(i, a, x):
        return i + 1, a * x * hr.random_uniform([], 0.9, 1.1), x

    x = hr.constant(2.0)
    inputs = [hr.constant(0), hr.constant(1.0), x]
    y = While(inputs, _counts_to_3(hr.float32, hr.float32), step)[1]
    (grad,) = hr.gradients(y, x)
    return [Run([y, grad], lambda y, grad: close(grad, 3 * y / 2))]


def _for(rewritten: bool) -> list[Run]:
    @Defun(hr.int32, hr.float32, hr.float32)
    def step(i, a, x):
        return a * x + hr.cast(i, hr.float32), x

    x = hr.constant(2.0)
    y = For(0, 3, 1, [hr.constant(1.0), x], step, rewrite_with_while=rewritten)[0]
    return [Run([y, *hr.gradients(y, x)], [12, 13])]


@program
def gradient_of_for() -> list[Run]:
    return _for(False)


@program
def gradient_of_for_by_while() -> list[Run]:
    return _for(True)


@program
def for_counts_down() -> list[Run]:
    @Defun(hr.int32, hr.int32)
    def step(i, a):
        return a * 10 + i

    down = For(5, 0, -2, [hr.constant(0)], step)[0]
    rewritten = For(5, 0, -2, [hr.constant(0)], step, rewrite_with_while=True)[0]
    nothing = For(5, 0, 2, [hr.constant(7)], step, rewrite_with_while=True)[0]
    return [Run([down, rewritten, nothing], [531, 531, 7])]


@program
def for_in_a_branch_and_behind_an_operation() -> list[Run]:
    @Defun(hr.int32, hr.int32)
    def step(i, a):
        return a * 10 + i

    def counted():
        return For(1, 4, 1, [hr.constant(0)], step)[0]

    pred = hr.placeholder(hr.bool, [])
    chosen = hr.cond(pred, counted, lambda: hr.constant(5))
    with hr.control_dependencies([hr.constant(1).op]):
        behind = counted()
    return [
        Run([chosen, behind], [123, 123], {pred: True}),
        Run([chosen, behind], [5, 123], {pred: False}),
    ]
