"""custom_gradient: errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def test_a_function_with_variables_needs_a_gradient_that_takes_them():
    v = hr.get_variable("v", [], use_resource=True)
    result = hr.custom_gradient(lambda a: (a * v.read_value(), lambda up: up))
    with pytest.raises(TypeError, match="must take a keyword argument `variables`.*v:0"):
        result(hr.constant(1.0))


def test_custom_gradient_rejects_reference_variables():
    v = hr.get_variable("v", [])
    result = hr.custom_gradient(lambda a: (a * v, lambda up, variables=None: (up, [up])))
    with pytest.raises(TypeError, match="must be resource variables, v:0 is not"):
        result(hr.constant(1.0))


def test_keyword_arguments_and_wrong_numbers_of_gradients_raise():
    result = hr.custom_gradient(lambda a, b: (a + b, lambda up: up))
    with pytest.raises(ValueError, match=r"without keyword arguments, got \['b'\]"):
        result(hr.constant(1.0), b=1.0)
    x = hr.constant(1.0)
    with pytest.raises(ValueError, match="returned 1 gradients for 2 arguments"):
        hr.gradients(result(x, x), x)
