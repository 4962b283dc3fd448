from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr


def built(tensor):
    return tensor.op.type, tensor.op.name


def test_operators_create_the_ops_and_names_of_tensorflow():
    x = hr.placeholder(hr.float32, [2], name="x")
    assert built(x + 1) == ("AddV2", "add")
    assert built(1 - x) == ("Sub", "sub")
    assert built(x * x) == ("Mul", "mul")
    assert built(x / 2) == ("RealDiv", "truediv")
    assert built(x // 2) == ("FloorDiv", "floordiv")
    assert built(x % 2) == ("FloorMod", "mod")
    assert built(2**x) == ("Pow", "pow")
    assert built(-x) == ("Neg", "Neg")
    assert built(abs(x)) == ("Abs", "Abs")
    assert built(x < 1) == ("Less", "Less")
    assert built(x >= 1) == ("GreaterEqual", "GreaterEqual")
    b = x < 1
    assert built(b & True)[0] == "LogicalAnd" and built(~b)[0] == "LogicalNot"
    assert built(b ^ b) == ("LogicalAnd", "xor")


def test_equality_is_identity():
    x = hr.constant(1.0)
    assert x == x and (x == hr.constant(1.0)) is False
    assert {x: 1}[x] == 1


def test_array_operators_defer_to_the_tensor():
    x = hr.placeholder(hr.float32, [2])
    y = np.ones(2, np.float32) + x
    assert isinstance(y, hr.Tensor) and y.op.inputs[1] is x


def test_integers_divide_as_floats():
    x = hr.placeholder(hr.int32, [2])
    assert (x / 2).dtype is hr.float64
    assert (hr.placeholder(hr.int16) / 2).dtype is hr.float32
    with pytest.raises(TypeError):
        x / 0.5


def test_plus_concatenates_strings():
    assert (hr.constant("a") + "b").op.type == "Add"


def test_matmul_of_higher_rank_is_batched():
    m, b = hr.placeholder(hr.float32, [2, 2]), hr.placeholder(hr.float32, [3, 2, 2])
    assert (m @ m).op.type == "MatMul" and (b @ b).op.type == "BatchMatMulV2"


@pytest.mark.parametrize(
    "key",
    [0, -1, slice(1, None), slice(None, None, -1), (Ellipsis, 1), (slice(0, 2), None, 1),
     (0, slice(1, 3), Ellipsis), None],
)  # fmt: skip
def test_slices_have_the_shape_that_numpy_gives(key):
    x = hr.constant(np.zeros([4, 5, 6], np.float32))
    assert x[key].shape.as_list() == list(np.zeros([4, 5, 6])[key].shape)


def test_slices_by_tensors_and_wrong_indices():
    x = hr.placeholder(hr.float32, [4, 5])
    i = hr.placeholder(hr.int32, [])
    assert x[i].op.inputs[1].op.type == "Pack"
    with pytest.raises(TypeError, match="valid indices"):
        x[1.5]
    with pytest.raises(ValueError, match="Multiple ellipses"):
        x[..., ...]


def test_iteration_unstacks_rows():
    rows = list(hr.placeholder(hr.float32, [2, 3]))
    assert [r.shape.as_list() for r in rows] == [[3], [3]]
