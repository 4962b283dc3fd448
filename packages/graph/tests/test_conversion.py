from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.builder.conversion import convert_to_tensor, register_tensor_conversion_function


def value_of(tensor):
    return tensor.op._attrs.values["value"]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, hr.int32),
        (2**40, hr.int64),
        (1.5, hr.float32),
        (True, hr.bool),
        (1j, hr.complex128),
        ("a", hr.string),
        (b"a", hr.string),
        ([1, 2.5], hr.float32),
        ([], hr.float32),
        (np.float64(1), hr.float64),
        (np.arange(3, dtype=np.uint8), hr.uint8),
        ([np.float64(1)], hr.float64),
    ],
)
def test_inferred_dtypes_equal_tensorflow(value, dtype):
    assert hr.constant(value).dtype is dtype


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, hr.int32), ("a", hr.float32), (300, hr.uint8), (True, hr.string), (1j, hr.float32),
     (object(), hr.float32), ([1, "a"], None), ([1, None], hr.float32)],
)  # fmt: skip
def test_value_outside_of_the_dtype_raises(value, dtype):
    with pytest.raises(TypeError):
        hr.constant(value, dtype)


def test_none_is_no_value():
    with pytest.raises(ValueError, match="None values not supported"):
        hr.constant(None)
    with pytest.raises(ValueError, match="Tried to convert 'x' of Square to a tensor and failed"):
        hr.square(None)


def test_ragged_rows_raise():
    with pytest.raises(ValueError, match="different lengths"):
        hr.constant([[1, 2], [3]])


def test_an_array_is_copied_and_cast():
    array = np.zeros(2)
    c = hr.constant(array, hr.int32)
    array[0] = 5
    assert c.dtype is hr.int32 and value_of(c).tolist() == [0, 0]
    d = hr.constant(array)
    array[0] = 7
    assert value_of(d).tolist() == [5, 0]


def test_constant_repeats_the_last_element_to_its_shape():
    assert value_of(hr.constant(7, shape=[2, 2])).tolist() == [[7, 7], [7, 7]]
    assert value_of(hr.constant([1, 2], shape=[4])).tolist() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match="Too many elements"):
        hr.constant([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        hr.constant([1, 2, 3, 4], shape=[2, 2], verify_shape=True)


def test_tensor_of_another_dtype_raises():
    with pytest.raises(ValueError, match="requested dtype float32 for Tensor with dtype int32"):
        convert_to_tensor(hr.constant(1), hr.float32)


def test_list_with_tensors_is_converted_to_a_pack():
    x = hr.placeholder(hr.float32, [])
    packed = convert_to_tensor([[x, 1.0], [2, x]])
    assert packed.op.type == "Pack" and packed.dtype is hr.float32 and packed.shape == [2, 2]


def test_preferred_dtype_is_used_if_the_value_fits():
    assert convert_to_tensor(1, preferred_dtype=hr.int64).dtype is hr.int64
    assert convert_to_tensor(1.5, preferred_dtype=hr.int64).dtype is hr.float32


def test_conversion_functions_can_be_registered():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    register_tensor_conversion_function(
        Celsius, lambda v, dtype=None, name=None, as_ref=False: hr.constant(v.degrees + 273.0)
    )
    assert float(value_of(convert_to_tensor(Celsius(1.0)))) == 274.0
    x = hr.placeholder(hr.float32)
    assert (x + Celsius(0.0)).op.inputs[1].op.type == "Const"


def test_fully_known_shapes_convert_and_others_raise():
    assert value_of(convert_to_tensor(hr.TensorShape([2, 3]))).tolist() == [2, 3]
    with pytest.raises(ValueError, match="partially known TensorShape"):
        convert_to_tensor(hr.TensorShape([None]))


def test_messages_and_arrays_convert_both_ways():
    proto = hr.make_tensor_proto([[1, 2]], hr.int64)
    assert hr.make_ndarray(proto).tolist() == [[1, 2]]
    assert value_of(hr.constant(proto)).dtype == np.int64
