from __future__ import annotations

import numpy as np

import headrace.graph as hr
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value, value_as_shape


def test_shape_arithmetic_is_known_before_a_run():
    x = hr.placeholder(hr.float32, [2, None, 4])
    shape = op("Shape", x)
    assert constant_value(shape) is None
    assert int(constant_value(shape[0])) == 2
    assert int(constant_value(shape[0] * shape[2] + 1)) == 9
    assert constant_value(shape[1]) is None
    assert int(constant_value(op("Rank", x))) == 3
    assert constant_value(op("Pack", [shape[0], 7])).tolist() == [2, 7]


def test_partially_known_vectors_give_partially_known_shapes():
    x = hr.placeholder(hr.float32, [2, None, 4])
    shape = op("Shape", x)
    assert value_as_shape(shape) == (2, None, 4)
    assert value_as_shape(shape[1:]) == (None, 4)
    assert value_as_shape(op("Pack", [shape[1], shape[2], -1])) == (None, 4, None)
    assert value_as_shape(op("ConcatV2", [shape[:1], [5]], 0)) == (2, 5)
    assert value_as_shape(hr.placeholder(hr.int32, [3])) == (None, None, None)
    assert value_as_shape(hr.placeholder(hr.int32)) is None


def test_reshape_by_a_computed_shape_has_a_static_shape():
    x = hr.placeholder(hr.float32, [None, 4, 5])
    shape = op("Shape", x)
    flat = op("Reshape", x, op("Pack", [shape[0], shape[1] * shape[2]]))
    assert flat.shape.as_list() == [None, 20]


def test_values_keep_their_type():
    assert constant_value(op("Cast", hr.constant([1, 2]), DstT=hr.float64)).dtype == np.float64
    assert constant_value(hr.constant(7) / 2).dtype == np.float64


def test_division_by_zero_and_huge_fills_are_not_evaluated():
    assert constant_value(hr.constant(1) // 0) is None
    assert constant_value(op("Fill", [100000, 100000], 1.0)) is None


def test_evaluation_stops_at_a_depth_limit():
    x = hr.constant(1)
    for _ in range(2000):
        x = x + x
    assert constant_value(x) is None


def test_shared_subexpressions_are_evaluated_once():
    x = hr.constant(1)
    for _ in range(30):
        x = x + x
    assert int(constant_value(x)) == 2**30
