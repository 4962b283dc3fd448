"""Creation of nodes: templates, attributes, scopes, shapes."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats import op_catalogue
from headrace.graph.builder import op_inputs
from headrace.graph.framework import attributes, create_op, op_template, scope
from headrace.graph.framework.node_messages import attr_values
from headrace.graph.framework.shape_query import ShapeQuery


def test_op_template_is_created_once_per_op():
    template = op_template.template_of("MatMul")
    assert template is op_template.template_of("MatMul")
    assert template.pair and template.simple and template.n_inputs == 2
    assert not op_template.template_of("ConcatV2").simple


def test_python_inputs_take_the_dtype_of_a_tensor_input():
    template = op_template.template_of("AddV2")
    tensors, known = op_inputs.convert_inputs(template, (1, hr.constant(2.0)), {})
    assert [t.dtype for t in tensors] == [hr.float32, hr.float32]
    assert known == {"T": hr.float32.as_datatype_enum}
    assert op_inputs.flatten_inputs(op_template.template_of("Pack"), [tensors]) == tuple(tensors)


def test_a_node_has_its_inputs_scope_and_shape():
    graph = hr.get_default_graph()
    x = hr.constant([[1.0]])
    attrs = x.op._attrs
    node = create_op.add_node(graph, graph._local.scope, "Const", (), attrs, "again")
    assert node.name == "again" and node.outputs[0].shape.as_list() == [1, 1]
    assert graph.get_operation_by_name("again") is node


def test_attributes_are_checked_and_round_trip_through_messages():
    signature = op_catalogue.signature("MatMul")
    flag = signature.attr("transpose_a")
    assert attributes.plain_value("MatMul", flag, True) is True
    with pytest.raises(TypeError):
        attributes.plain_value("MatMul", flag, "yes")
    message = hr.AttrValue(b=True)
    assert attributes.plain_from_message("MatMul", flag, message) is True
    assert attr_values("MatMul", signature, {"transpose_a": message})["transpose_a"] is True


@pytest.mark.parametrize("name", ["a", "a.b-c/d", "A1_"])
def test_a_name_of_an_operation_is_checked(name):
    scope.check_op_name(name)
    with pytest.raises(ValueError, match="not a valid"):
        scope.check_op_name(name + " ")


def test_scopes_are_immutable():
    outer = scope.Scope()
    inner = outer.named("a").changed(device="/cpu:0")
    assert (outer.name, inner.name, inner.device) == ("", "a", "/cpu:0")


def test_shape_functions_see_static_values():
    sizes, unknown = hr.constant([2, 3]), hr.placeholder(hr.int32, [2])
    query = ShapeQuery(((2,), (2,)), {}, 1, [sizes, unknown])
    assert not query.used_values
    assert np.array_equal(query.value(0), [2, 3]) and query.value(1) is None
    assert query.value_as_shape(0) == (2, 3) and query.used_values
