"""Lookup of operations and tensors by name."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.framework.element_names import element_by_name
from headrace.graph.framework.import_scope import prepend_name_scope, strip_name_scope


def test_an_index_makes_a_tensor_of_an_operation():
    x = hr.constant(1, name="x")
    names = {"x": x.op}
    assert element_by_name(names, "x", True, True) is x.op
    assert element_by_name(names, "x:0", True, True) is x


@pytest.mark.parametrize(
    ("name", "tensor", "operation", "error"),
    [("y", True, True, KeyError), ("y:0", True, True, KeyError), ("x:1", True, True, KeyError),
     ("x:0", False, True, ValueError), ("x", True, False, ValueError),
     ("x:y", True, True, ValueError)],
)  # fmt: skip
def test_invalid_names_raise(name, tensor, operation, error):
    with pytest.raises(error):
        element_by_name({"x": hr.constant(1).op}, name, tensor, operation)


@pytest.mark.parametrize("name", ["a/b", "^a/b", "loc:@a/b"])
def test_name_scopes_are_removed_and_added(name):
    short = strip_name_scope(name, "a")
    assert short == name.replace("a/b", "b")
    assert prepend_name_scope(short, "a/") == name
