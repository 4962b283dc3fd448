from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr


def test_frozen_graph_has_constants_for_variables(service, graph):
    x = hr.placeholder(hr.float32, [], name="x")
    v = hr.Variable(3.0, name="v")
    w = hr.Variable(5.0, name="w", use_resource=True)
    y = hr.identity(x * v + w, name="y")
    hr.constant(1.0, name="unused")
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        expected = sess.run(y, {x: 2.0})
        frozen = hr.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
    kinds = {node.name: node.op for node in frozen.node}
    assert kinds["v"] == kinds["w"] == "Const" and "unused" not in kinds
    with hr.Graph().as_default():
        x, y = hr.import_graph_def(frozen, return_elements=["x:0", "y:0"])
        with hr.Session() as sess:
            assert sess.run(y, {x: 2.0}) == expected == 11.0


def test_extract_sub_graph_rejects_unknown_names(graph):
    hr.constant(1.0, name="a")
    with pytest.raises(ValueError, match="b is not in graph"):
        hr.graph_util.extract_sub_graph(graph.as_graph_def(), ["b"])
    with pytest.raises(TypeError, match="a list of names"):
        hr.graph_util.extract_sub_graph(graph.as_graph_def(), "a")


def test_remove_training_nodes_keeps_identities_with_control_edges(graph):
    a = hr.constant(1.0, name="a")
    b = hr.identity(a, name="b")
    c = hr.identity(a, name="c")
    with hr.control_dependencies([c]):
        hr.group(b, name="d")
    hr.identity(-b, name="out")
    thin = hr.graph_util.remove_training_nodes(graph.as_graph_def(), ["out"])
    nodes = {node.name: list(node.input) for node in thin.node}
    assert nodes["Neg"] == ["b"] and "c" in nodes  # both are control inputs of d
    hr_graph = hr.Graph()
    with hr_graph.as_default():
        hr.identity(-hr.identity(hr.constant(1.0, name="a"), name="b"), name="out")
    thin = hr.graph_util.remove_training_nodes(hr_graph.as_graph_def(), ["out"])
    assert {n.name: list(n.input) for n in thin.node} == {"a": [], "Neg": ["a"], "out": ["Neg"]}


class _Values:
    """A session that returns the same value for each fetch."""

    def __init__(self, value):
        self._value = value

    def run(self, fetches):
        return [self._value for _ in fetches]


def test_rows_of_a_frozen_variable_are_gathered_from_a_constant(graph):
    table = hr.Variable(np.ones([4, 2], np.float32), use_resource=True, name="table")
    rows = hr.nn.embedding_lookup(table, hr.constant([1, 3]), name="rows")
    frozen = hr.graph_util.convert_variables_to_constants(
        _Values(np.full([4, 2], 7.0, np.float32)), graph.as_graph_def(), [rows.op.name]
    )
    with hr.Graph().as_default() as other:
        hr.import_graph_def(frozen, name="")
        types = {op.type for op in other.get_operations()}
        assert "GatherV2" in types and not {"ResourceGather", "VarHandleOp"} & types
        assert other.get_tensor_by_name(rows.name).shape.as_list() == [2, 2]


def test_a_variable_that_a_function_takes_is_not_frozen(graph):
    v = hr.Variable([1.0], use_resource=True, name="v")
    y = hr.identity(hr.function(lambda x: x * v)(hr.constant([2.0])), name="y")
    message = graph.as_graph_def()
    session = _Values(np.ones(1, np.float32))
    with pytest.raises(ValueError, match="Cannot freeze variable 'v': StatefulPartitionedCall"):
        hr.graph_util.convert_variables_to_constants(session, message, [y.op.name])
    kept = hr.graph_util.convert_variables_to_constants(
        session, message, [y.op.name], variable_names_blacklist=["v"]
    )
    assert "VarHandleOp" in [node.op for node in kept.node] and kept.library.function
