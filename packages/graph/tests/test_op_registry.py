from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.formats import op_catalogue, services
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import op_registry


def test_a_gradient_is_registered_once():
    hr.RegisterGradient("TestOnce")(lambda op, grad: grad)
    with pytest.raises(KeyError, match="gradient of TestOnce is already registered"):
        hr.RegisterGradient("TestOnce")(lambda op, grad: grad)
    with pytest.raises(KeyError, match="TestOnce"):
        hr.NotDifferentiable("TestOnce")


def test_op_without_gradient_raises_or_gives_the_declared_reason():
    with pytest.raises(LookupError, match="No gradient defined for op type TestNothing"):
        op_registry.gradient_function("TestNothing")
    op_registry.no_gradient("TestDeadEnd", "its output is an index")
    assert op_registry.gradient_function("TestDeadEnd") is None
    assert op_registry.no_gradient_reason("TestDeadEnd") == "its output is an index"


def test_gradients_are_found_in_the_family_of_the_op():
    assert op_registry.gradient_function("ReadVariableOp") is not None
    assert op_registry.gradient_function("VarHandleOp") is None


def test_installed_library_registers_op_shape_and_gradient(monkeypatch):
    from headrace.formats.proto.op_pb2 import OpDef, OpList

    new = OpDef(name="TestDouble")
    new.input_arg.add(name="x", type=1)
    new.output_arg.add(name="y", type=1)

    def offer():
        @op_registry.shape_rule("TestDouble")
        def shapes(query):
            return [query.inputs[0][:-1] + (2 * query.inputs[0][-1],)]

        @op_registry.gradient("TestDouble")
        def gradient(operation, grad):
            return 2.0 * grad

    offers = {services.OPS: OpList(op=[new]).SerializeToString(), services.GRAPH_OPS: offer}
    monkeypatch.setattr(services, "service_names", lambda group: ["test"])
    monkeypatch.setattr(services, "find_service", lambda group, name: offers[group])
    monkeypatch.setattr(op_catalogue, "_foreign_read", False)
    monkeypatch.setattr(op_registry, "_custom_ops_loaded", False)
    monkeypatch.setattr(op_catalogue, "_foreign", {})
    y = op("TestDouble", [1.0, 2.0])
    assert y.dtype is hr.float32 and y.shape == [4]
    assert op_registry.gradient_function("TestDouble") is not None


def test_gradient_not_implemented_raises_with_the_reason():
    op_registry.gradient_not_implemented("TestLater", "loops come later")
    with pytest.raises(LookupError, match="op type TestLater: loops come later"):
        op_registry.gradient_function("TestLater")
    assert op_registry.no_gradient_reason("TestLater") == "loops come later"
