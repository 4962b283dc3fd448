from __future__ import annotations

import pytest

import headrace.graph as hr


def test_elements_are_found_by_name(graph):
    x = hr.constant(1.0, name="x")
    assert graph.get_tensor_by_name("x:0") is x
    assert graph.get_operation_by_name("x") is x.op
    assert graph.as_graph_element(x) is x
    assert graph.as_graph_element("x") is x.op


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("y:0", KeyError, "does not exist in the graph"),
        ("x:1", KeyError, "exists but only has 1 outputs"),
        ("x:", ValueError, "must be of the form"),
        ("x", ValueError, "refers to an Operation, not a Tensor"),
    ],
)
def test_names_of_missing_elements_raise(graph, name, error, text):
    hr.constant(1.0, name="x")
    with pytest.raises(error, match=text):
        graph.get_tensor_by_name(name)


def test_element_of_another_graph_raises():
    x = hr.constant(1.0)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        hr.Graph().as_graph_element(x)
    with pytest.raises(TypeError, match="Can not convert a int into a Tensor or Operation"):
        x.graph.as_graph_element(3)


def test_adding_a_node_to_a_finalized_graph_raises(graph):
    graph.finalize()
    with pytest.raises(RuntimeError, match="Graph is finalized"):
        hr.constant(1.0)
    with pytest.raises(RuntimeError, match="Graph is finalized"):
        hr.add_to_collection("a", 1)


def test_collections_keep_order_and_filter_by_scope(graph):
    hr.add_to_collections(["a", "b"], 1)
    hr.add_to_collection("a", 2)
    assert hr.get_collection("a") == [1, 2] and hr.get_collection("b") == [1]
    hr.get_collection("a").append(3)
    assert hr.get_collection("a") == [1, 2]
    hr.get_collection_ref("a").append(3)
    assert hr.get_collection("a") == [1, 2, 3]
    with hr.name_scope("s"):
        c = hr.constant(1.0)
    hr.add_to_collection("named", c)
    assert graph.get_collection("named", "s/") == [c]
    assert graph.get_collection("named", "t/") == []
    graph.clear_collection("a")
    assert hr.get_collection("a") == []


def test_consumers_follow_later_nodes_and_changed_inputs():
    x = hr.constant(1.0)
    y = -x
    assert x.consumers() == [y.op]
    z = x + x
    assert x.consumers() == [y.op, z.op]
    y.op._update_input(0, z)
    assert x.consumers() == [z.op] and z.consumers() == [y.op]


def test_the_default_graph_is_replaced_and_nests():
    outer = hr.get_default_graph()
    with hr.Graph().as_default() as inner:
        assert hr.get_default_graph() is inner
        with pytest.raises(AssertionError, match="Do not use reset_default_graph"):
            hr.reset_default_graph()
    assert hr.get_default_graph() is outer


def test_seeds_come_from_graph_and_op(graph):
    assert hr.get_seed(None) == (None, None)
    assert hr.get_seed(5) == (87654321, 5)
    hr.set_random_seed(7)
    hr.constant(1.0)
    assert hr.get_seed(None) == (7, 1)
    assert hr.get_seed(5) == (7, 5)
    hr.set_random_seed(0)
    assert hr.get_seed(0) == (0, 2**31 - 1)


def test_create_op_accepts_attr_value_messages(graph):
    x = hr.constant([[1.0]])
    node = graph.create_op("MatMul", [x, x], name="m", attrs={"transpose_a": hr.AttrValue(b=True)})
    assert node.get_attr("transpose_a") is True and node.outputs[0].dtype is hr.float32
    with pytest.raises(
        TypeError, match="input 1 .b. was passed int32 incompatible with expected float"
    ):
        graph.create_op("MatMul", [x, hr.constant([[1]])])


def test_tensor_has_no_truth_value_array_or_length():
    x = hr.placeholder(hr.float32, [None])
    with pytest.raises(TypeError, match="as a Python bool"):
        bool(x < 1.0)
    with pytest.raises(TypeError, match="len is not well defined"):
        len(x)
    with pytest.raises(TypeError, match="first size is unknown"):
        iter(x)
    with pytest.raises(NotImplementedError, match="symbolic Tensor"):
        x.__array__()


def test_set_shape_merges_and_rejects_incompatible_shapes():
    x = hr.placeholder(hr.float32)
    x.set_shape([None, 3])
    x.set_shape([2, None])
    assert x.shape == [2, 3]
    with pytest.raises(ValueError, match=r"shape \[4, 3\] contradicts \[2, 3\]"):
        x.set_shape([4, 3])


def test_get_attr_returns_the_same_values_as_tensorflow():
    x = hr.placeholder(hr.float32, [None, 2])
    assert x.op.get_attr("dtype") is hr.float32
    assert x.op.get_attr("shape").as_list() == [None, 2]
    assert hr.make_ndarray(hr.constant([1, 2]).op.get_attr("value")).tolist() == [1, 2]
    with pytest.raises(ValueError, match="no attr named 'nothing'"):
        x.op.get_attr("nothing")
    assert x.op.node_def.attr["dtype"].type == 1
    assert x.op.op_def.name == "Placeholder"


def test_programs_may_set_attributes_of_tensors_and_operations():
    x = hr.constant(1.0)
    x.aliases, x.op.tag = ["first"], 3
    assert x.aliases == ["first"] and x.op.tag == 3 and x.op.outputs[0].aliases is x.aliases
