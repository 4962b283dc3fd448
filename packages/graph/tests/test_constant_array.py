"""Arrays of constants have TensorFlow 1.x's dtype, and are copies."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.builder.constant_array import make_array


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, hr.int32), (2**40, hr.int64), (1.0, hr.float32), (1j, hr.complex128), ("a", hr.string),
     (True, hr.bool), (np.float64(1), hr.float64), ([], hr.float32)],
)  # fmt: skip
def test_dtype_is_inferred(value, dtype):
    assert make_array(value)[1] == dtype.as_datatype_enum


def test_an_array_is_copied_and_cannot_be_written():
    mine = np.zeros(2, np.float32)
    array, _ = make_array(mine)
    mine[0] = 1
    assert array.tolist() == [0, 0] and not array.flags.writeable


def test_last_element_is_repeated_to_the_shape():
    assert make_array([1, 2], shape=[2, 2])[0].tolist() == [[1, 2], [2, 2]]
    with pytest.raises(TypeError):
        make_array([1, 2], shape=[2, 2], verify_shape=True)
    with pytest.raises(ValueError, match="Too many elements"):
        make_array([1, 2, 3], shape=[2])


@pytest.mark.parametrize(
    "value",
    [np.float32(-0.0), np.float64(-2), np.float16(-0.5), np.int32(-7), np.int64(2**40),
     np.uint8(200), np.int8(-3), np.uint32(2**31), np.uint64(2**63), np.bool_(True),
     np.complex64(1 + 2j), np.array([[4.5]], np.float32)],
)  # fmt: skip
def test_one_element_is_in_the_list_of_its_dtype(value):
    message = hr.constant(value).op.get_attr("value")
    assert not message.tensor_content
    again = hr.make_ndarray(message)
    assert again.dtype == value.dtype and again.shape == value.shape
    assert again.tobytes() == np.asarray(value).tobytes()


def test_programs_find_a_number_in_its_list():
    node = hr.constant(1.5).op.node_def
    assert list(node.attr["value"].tensor.float_val) == [1.5]
    assert hr.constant([1.0, 2.0]).op.node_def.attr["value"].tensor.tensor_content
