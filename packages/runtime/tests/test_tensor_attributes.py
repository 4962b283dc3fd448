"""Tensor attributes, in every form of a TensorProto.

Modules: memory/tensor_proto, graph/attributes, memory/dtype_names.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.formats import tensor_codec
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.runtime.graph.session_graph import SessionGraph

FIELDS = {
    "float32": (1, "float_val"), "float64": (2, "double_val"), "int32": (3, "int_val"),
    "uint8": (4, "int_val"), "int16": (5, "int_val"), "int8": (6, "int_val"),
    "int64": (9, "int64_val"), "bool": (10, "bool_val"), "uint16": (17, "int_val"),
    "uint32": (22, "uint32_val"), "uint64": (23, "uint64_val"),
}  # fmt: skip


def read(tensor):
    message = GraphDef()
    node = message.node.add(name="c", op="Const")
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)
    session = SessionGraph()
    session.extend(message.SerializeToString())
    return session.tensor_attribute("c", "value")


def proto(dtype, dims, **values):
    tensor = GraphDef().node.add().attr["value"].tensor
    tensor.dtype = dtype
    for dim in dims:
        tensor.tensor_shape.dim.add(size=dim)
    for field, items in values.items():
        if field == "tensor_content":
            tensor.tensor_content = items
        else:
            getattr(tensor, field).extend(items)
    tensor.tensor_shape.SetInParent()
    return tensor


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("given_values", [1, 2, 6])
def test_the_last_value_is_repeated(name, given_values):
    number, field = FIELDS[name]
    values = np.array([0, 1, 1, 0, 1, 1]).astype(name)
    dtype, dims, data = read(proto(number, [2, 3], **{field: values[:given_values].tolist()}))
    expected = values.copy()
    expected[given_values:] = values[given_values - 1]
    assert (dtype, dims) == (number, (2, 3))
    np.testing.assert_array_equal(np.frombuffer(data, name), expected)


@pytest.mark.parametrize("name", FIELDS)
def test_no_value_at_all_means_zeros(name):
    assert not any(read(proto(FIELDS[name][0], [3]))[2])


@pytest.mark.parametrize("offset", range(9))
def test_content_is_read_wherever_it_lies(offset):
    values = np.arange(5, dtype=np.float64)
    tensor = proto(2, [5], tensor_content=values.tobytes())
    message = GraphDef()
    message.node.add(name="n" * (1 + offset), op="NoOp")
    node = message.node.add(name="c", op="Const")
    node.attr["dtype"].type = 2
    node.attr["value"].tensor.CopyFrom(tensor)
    session = SessionGraph()
    session.extend(message.SerializeToString())
    np.testing.assert_array_equal(
        np.frombuffer(session.tensor_attribute("c", "value")[2], np.float64), values
    )


def test_complex_half_and_strings_are_read():
    assert np.frombuffer(read(proto(8, [2], scomplex_val=[1, 2]))[2], np.complex64).tolist() == [
        1 + 2j, 1 + 2j,
    ]  # fmt: skip
    assert np.frombuffer(read(proto(18, [1], dcomplex_val=[3, 4]))[2], complex)[0] == 3 + 4j
    assert np.frombuffer(read(proto(19, [2], half_val=[15360]))[2], np.float16).tolist() == [1, 1]
    assert read(proto(7, [3], string_val=[b"a", b"bc"]))[2] == [b"a", b"bc", b"bc"]
    assert read(proto(7, [2], tensor_content=b"\x01\x02abc"))[2] == [b"a", b"bc"]
    assert read(proto(7, [2]))[2] == [b"", b""]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([*FIELDS, "complex64", "complex128", "float16"]),
    st.lists(st.integers(0, 4), max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_tensors_of_the_codec_round_trip(name, shape, seed):
    values = np.random.default_rng(seed).integers(0, 2, shape).astype(name)
    _, dims, data = read(tensor_codec.make_tensor_proto(values))
    assert dims == tuple(shape)
    np.testing.assert_array_equal(np.frombuffer(data, name).reshape(shape), values)


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (proto(1, [2], float_val=[1, 2, 3]), "its shape has 2 elements, 3 values are given"),
        (proto(8, [1], scomplex_val=[1]), "its values are malformed"),
        (proto(7, [2], tensor_content=b"\x09\x02abc"), "its content is not a list of strings"),
    ],
)
def test_values_that_do_not_fit_are_rejected(tensor, text):
    with pytest.raises(InvalidArgumentError) as caught:
        read(tensor)
    assert caught.value.message == f"Const 'c': attribute 'value': {text}"
    assert caught.value.node_name == "c"
