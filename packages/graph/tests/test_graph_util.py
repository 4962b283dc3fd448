from __future__ import annotations

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
    with pytest.raises(ValueError, match="'b' is not in the graph"):
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
