"""arg_scope sets defaults of decorated functions."""

from __future__ import annotations

import inspect
import threading

import pytest

import headrace.graph as hr

framework = hr.contrib.framework


@framework.add_arg_scope
def first(a, b=1, c=2):
    """The arguments."""
    return a, b, c


@framework.add_arg_scope
def second(a, b=10):
    return a, b


def test_defaults_of_nested_scopes_are_joined() -> None:
    with framework.arg_scope([first, second], b=3):
        with framework.arg_scope([first], c=4):
            assert first(0) == (0, 3, 4) and second(0) == (0, 3)
            assert first(0, b=5) == (0, 5, 4)
        assert first(0) == (0, 3, 2)
    assert first(0) == (0, 1, 2) and second(0) == (0, 10)


def test_a_scope_is_entered_again() -> None:
    with framework.arg_scope([first], b=3) as scope:
        pass
    with framework.arg_scope([first], c=7), framework.arg_scope(scope):
        assert first(0) == (0, 3, 2)
        assert framework.current_arg_scope() == scope


def test_a_scope_is_left_after_an_error_and_is_its_threads() -> None:
    found = []
    with pytest.raises(RuntimeError), framework.arg_scope([first], b=3):
        thread = threading.Thread(target=lambda: found.append(first(0)))
        thread.start()
        thread.join()
        raise RuntimeError
    assert found == [(0, 1, 2)] and first(0) == (0, 1, 2)


def test_a_decorated_function_keeps_its_signature() -> None:
    assert list(inspect.signature(first).parameters) == ["a", "b", "c"]
    assert first.__doc__ == "The arguments." and first.__name__ == "first"
    assert framework.has_arg_scope(first) and not framework.has_arg_scope(print)
    assert framework.arg_scoped_arguments(first) == ("b", "c")


def test_what_is_not_decorated_is_rejected() -> None:
    with pytest.raises(ValueError, match="print is not decorated with @add_arg_scope"):
        with framework.arg_scope([print], end=""):
            pass
    with pytest.raises(ValueError, match="kwargs must be empty"):
        with framework.arg_scope({}, b=1):
            pass
    with pytest.raises(TypeError, match="must either be a list/tuple or reused scope"):
        with framework.arg_scope(first, b=1):
            pass
    with pytest.raises(ValueError, match="not decorated"):
        framework.arg_scoped_arguments(print)


def test_layers_take_the_defaults() -> None:
    layers = hr.contrib.layers
    x = hr.placeholder(hr.float32, [None, 4, 4, 2])
    with layers_scope(layers):
        y = layers.conv2d(x, 3, [3, 3])
    assert y.op.type == "Elu"
    assert len(hr.get_collection(hr.GraphKeys.REGULARIZATION_LOSSES)) == 1


def layers_scope(layers):
    return framework.arg_scope(
        [layers.conv2d, layers.fully_connected],
        activation_fn=hr.nn.elu,
        weights_regularizer=layers.l2_regularizer(0.5),
    )


def test_functions_of_one_name_have_their_own_defaults() -> None:
    def made(start):
        @framework.add_arg_scope
        def function(a=0):
            return start + a

        return function

    one, other = made(1), made(10)
    with framework.arg_scope([one], a=5):
        assert (one(), other()) == (6, 10)
