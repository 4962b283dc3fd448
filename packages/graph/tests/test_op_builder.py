from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import NotFoundError
from headrace.graph.builder.op_builder import op


def test_types_are_inferred_and_defaults_filled_in():
    a = hr.placeholder(hr.float64, [2, 3])
    product = op("MatMul", a, a, transpose_b=True)
    assert product.dtype is hr.float64
    assert product.op.get_attr("T") == hr.float64
    assert product.op.get_attr("transpose_a") is False
    assert product.op.get_attr("transpose_b") is True


def test_python_values_take_the_dtype_of_the_other_tensor():
    x = hr.placeholder(hr.float64)
    assert op("AddV2", x, 1).op.inputs[1].dtype is hr.float64
    assert op("AddV2", 1, x).op.inputs[0].dtype is hr.float64
    assert op("AddN", [1.0, x]).op.inputs[0].dtype is hr.float64


def test_converted_constant_is_named_under_its_node():
    x = hr.placeholder(hr.float32, name="x")
    total = op("AddV2", x, 1.0, name="total")
    assert [t.name for t in total.op.inputs] == ["x:0", "total/y:0"]
    again = op("AddV2", x, 1.0, name="total")
    assert again.op.inputs[1].name == "total_1/y:0"


def test_two_dtypes_for_one_attribute_raise_with_both():
    x, y = hr.placeholder(hr.float32), hr.placeholder(hr.int32)
    with pytest.raises(
        TypeError,
        match="Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of "
        "argument 'x'",
    ):
        op("AddV2", x, y)


def test_invalid_dtype_raises_with_the_allowed_ones():
    with pytest.raises(TypeError, match="DataType string not in list of allowed values: bfloat16"):
        op("MatMul", hr.constant([["a"]]), hr.constant([["b"]]))


def test_missing_unknown_and_wrong_attributes_raise():
    x = hr.constant([1.0])
    with pytest.raises(TypeError, match="Placeholder misses attribute 'dtype'"):
        op("Placeholder")
    with pytest.raises(TypeError, match="unexpected attributes nonsense"):
        op("Identity", x, nonsense=1)
    with pytest.raises(TypeError, match="Expected bool for argument 'transpose_a'"):
        op("MatMul", x, x, transpose_a=1)
    with pytest.raises(ValueError, match="not in: 'SAME', 'VALID'"):
        op("MaxPool", hr.placeholder(hr.float32, [1, 4, 4, 1]), ksize=[1, 2, 2, 1],
           strides=[1, 2, 2, 1], padding="SOME")  # fmt: skip


def test_list_shorter_than_its_minimum_raises():
    with pytest.raises(ValueError, match="less than minimum 1"):
        op("AddN", [])


def test_unknown_op_raises_with_similar_names():
    with pytest.raises(NotFoundError, match="MatMul"):
        op("MatMull", 1, 2)


def test_results_are_tensor_list_named_tuple_or_operation():
    x = hr.constant([[1.0, 2.0]])
    assert isinstance(op("Identity", x), hr.Tensor)
    assert [t.value_index for t in op("Unpack", x, num=2, axis=1)] == [0, 1]
    values, indices = op("TopKV2", x, 1)
    assert indices.dtype is hr.int32
    assert op("TopKV2", x, 1).values.dtype is hr.float32
    assert isinstance(op("NoOp"), hr.Operation)


def test_minus_zero_and_zero_do_not_share_attributes():
    x = hr.constant([1.0])
    plus = op("LeakyRelu", x, alpha=0.0)
    minus = op("LeakyRelu", x, alpha=-0.0)
    assert str(plus.op.get_attr("alpha")) == "0.0"
    assert str(minus.op.get_attr("alpha")) == "-0.0"
    assert str(float(hr.constant(-0.0).op._attrs.values["value"])) == "-0.0"
    assert str(float(hr.constant(0.0).op._attrs.values["value"])) == "0.0"


def test_node_records_the_line_that_created_it():
    x = hr.constant(1.0)
    y = x + 1.0
    assert y.op.source_file == __file__
    assert y.op.source_line == x.op.source_line + 1
    assert y.op.traceback[0][3] == "y = x + 1.0"


def test_inputs_of_two_graphs_raise():
    x = hr.constant(1.0)
    with hr.Graph().as_default():
        y = hr.constant(1.0)
    with pytest.raises(ValueError, match="must be from the same graph"):
        op("AddV2", x, y)


def test_node_is_created_in_the_graph_of_its_inputs():
    x = hr.constant(1.0)
    with hr.Graph().as_default():
        assert op("Neg", x).graph is x.graph
        assert (x + 1.0).graph is x.graph


def test_raw_ops_require_keywords():
    product = hr.raw_ops.MatMul(a=np.eye(2, dtype=np.float32), b=[[1.0, 0.0], [0.0, 1.0]])
    assert product.shape == [2, 2]
    with pytest.raises(TypeError, match="misses inputs 'b'"):
        hr.raw_ops.MatMul(a=[[1.0]])
    with pytest.raises(TypeError, match="unexpected keyword argument 'T'"):
        hr.raw_ops.MatMul(a=[[1.0]], b=[[1.0]], T=hr.float32)
    with pytest.raises(AttributeError):
        hr.raw_ops.NoSuchOp  # noqa: B018


def test_shape_errors_name_op_and_node():
    a, b = hr.placeholder(hr.float32, [2, 3]), hr.placeholder(hr.float32, [4, 5])
    with pytest.raises(ValueError, match=r"MatMul 'layer/logits': .*\[2, 3\].*\[4, 5\]"):
        with hr.name_scope("layer"):
            op("MatMul", a, b, name="logits")


def test_shapes_that_depend_on_values_are_not_cached():
    x = hr.placeholder(hr.float32, [6])
    assert op("Reshape", x, [2, 3]).shape == [2, 3]
    assert op("Reshape", x, [3, 2]).shape == [3, 2]


def test_ops_on_a_reference_are_colocated_with_it():
    v = hr.Variable(1.0, name="v")
    assert op("AssignAdd", v, 1.0).op.colocation_groups() == [b"loc:@v"]
