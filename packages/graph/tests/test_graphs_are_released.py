"""A graph is freed with its last user: module-level functions and registries do not own it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

import headrace.graph as hr
from headrace.graph.functions import Defun


@Defun(hr.float32)
def doubled(x):
    return x * 2.0


@Defun(hr.float32)
def quadrupled(x):
    return doubled(doubled(x))


@Defun(hr.float32, noinline=True)
def not_inlined(x):
    return doubled(x) * x


def scaled() -> None:
    x = hr.constant([1.0, 2.0])
    hr.gradients(hr.contrib.layers.scale_gradient(x, 0.5), x)


def custom() -> None:
    x = hr.constant(1.0)
    factor = x * 3.0
    hr.gradients(hr.custom_gradient(lambda t: (t * factor, lambda grad: grad * factor))(x), x)


def warned() -> None:
    x = hr.constant(1.0)

    @hr.contrib.framework.deprecated(None, "Use other.")
    @hr.contrib.framework.deprecated_args(None, "Use other.", "b")
    def function(a, b=None):
        return x + a

    function(1.0, b=2)


def with_scopes() -> None:
    x = hr.constant(1.0)

    @hr.contrib.framework.add_arg_scope
    def function(a=1.0):
        return x + a

    with hr.contrib.framework.arg_scope([function], a=3.0):
        function()


def with_gradients(function: Callable) -> Callable[[], None]:
    def build() -> None:
        v = hr.get_variable("v", initializer=2.0)
        hr.gradients(function(v), v)

    return build


@pytest.mark.parametrize(
    "build",
    [
        with_gradients(doubled), with_gradients(quadrupled), with_gradients(not_inlined),
        scaled, custom, warned, with_scopes,
    ],
    ids=["defun", "nested_defun", "attributes", "scale_gradient", "custom_gradient",
         "deprecated", "arg_scope"],
)  # fmt: skip
def test_a_graph_is_freed(build: Callable[[], None]) -> None:
    def in_a_graph() -> weakref.ref:
        graph = hr.Graph()
        with graph.as_default():
            build()
        return weakref.ref(graph)

    found = [in_a_graph() for _ in range(2)]
    gc.collect()
    assert [graph() for graph in found] == [None, None]


def test_a_function_is_called_in_a_second_graph() -> None:
    for _ in range(2):
        with hr.Graph().as_default() as graph:
            x = hr.constant(1.0)
            y = quadrupled(x)
            hr.gradients(y, x)
            assert {f.signature.name for f in graph.as_graph_def().library.function} >= {
                doubled.name,
                quadrupled.name,
            }
        gc.collect()
