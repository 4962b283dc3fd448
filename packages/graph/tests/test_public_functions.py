"""Introspection of public functions: name, module, parameters, types."""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.graph as hr
from headrace.graph.api.namespace import find
from headrace.graph.api.public_names import PUBLIC

# Parameters of type Any: structures, forwarded arguments, unittest's arguments.
# The limit must only be lowered: annotate new parameters, and lower it for each annotated one.
MOST_ANY_PERCENT = 7.0


def functions() -> dict[str, Any]:
    """Returns the public functions and classes of this package by name, except messages."""
    found = {name: find(name) for name in PUBLIC}
    return {
        name: value
        for name, value in found.items()
        if (inspect.isroutine(value) or inspect.isclass(value))
        and not hasattr(value, "DESCRIPTOR")
        and value.__module__.startswith("headrace.graph.")
    }


FUNCTIONS = functions()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_have_their_public_names(name: str) -> None:
    value = FUNCTIONS[name]
    found: Any = importlib.import_module(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part)
    assert found is value
    assert value.__name__ == value.__qualname__.rpartition(".")[2]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_have_docstrings_and_signatures(name: str) -> None:
    value = FUNCTIONS[name]
    assert inspect.getdoc(value)
    if not (inspect.isclass(value) and issubclass(value, BaseException)):
        assert inspect.signature(value) is not None


def test_functions_made_by_a_factory_show_their_own_parameters() -> None:
    assert hr.math.logical_not.__name__ == "logical_not"
    assert list(inspect.signature(hr.layers.conv2d).parameters)[:3] == [
        "inputs",
        "filters",
        "kernel_size",
    ]
    assert list(inspect.signature(hr.Variable).parameters)[:2] == ["initial_value", "trainable"]
    assert pickle.loads(pickle.dumps(hr.reduce_sum)) is hr.reduce_sum


@pytest.mark.parametrize(
    ("op_type", "names"),
    [
        ("MatMul", ["a", "b", "transpose_a", "transpose_b", "grad_a", "grad_b"]),
        ("Qr", ["input", "full_matrices"]),
        ("ConcatV2", ["values", "axis"]),
        ("Placeholder", ["dtype", "shape"]),
        ("Cast", ["x", "DstT", "Truncate"]),
    ],
)
def test_a_raw_op_takes_inputs_and_attributes_by_keyword(op_type: str, names: list[str]) -> None:
    function = getattr(hr.raw_ops, op_type)
    parameters = inspect.signature(function).parameters
    assert list(parameters) == [*names, "name"]
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert function.__name__ == op_type
    assert getattr(importlib.import_module(function.__module__), op_type) is function


def test_the_error_of_an_unknown_raw_op_names_a_module_that_can_be_imported() -> None:
    with pytest.raises(AttributeError, match=r"^hr\.raw_ops \(module '([\w.]+)'\)") as caught:
        hr.raw_ops.MatMull  # noqa: B018
    module = str(caught.value).split("'")[1]
    assert importlib.import_module(module) is hr.raw_ops


def annotated(value: Any) -> Iterator[tuple[str, inspect.Parameter]]:
    """Yields the parameters of a function, or of the public methods of a class."""
    members = vars(value).items() if inspect.isclass(value) else [("", value)]
    for name, member in members:
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if not inspect.isfunction(function):
            continue
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name not in ("self", "cls"):
                yield f"{function.__qualname__}({parameter.name})", parameter


def test_few_public_parameters_are_typed_any() -> None:
    unique = {id(value): value for value in FUNCTIONS.values()}.values()
    found = [pair for value in unique for pair in annotated(value)]
    loose = [where for where, p in found if p.annotation in (inspect.Parameter.empty, "Any")]
    percent = 100 * len(loose) / len(found)
    assert percent <= MOST_ANY_PERCENT, f"{len(loose)} of {len(found)}: {' '.join(loose)}"
