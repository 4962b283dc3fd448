"""Conversion of lists with tensors to Pack nodes."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.builder.packing import pack_sequence


def test_packed_numbers_take_the_dtype_of_the_tensors():
    packed = hr.convert_to_tensor([[hr.constant(1.5), 2], [3, 4]])
    assert packed.op.type == "Pack" and packed.dtype == hr.float32
    assert packed.shape.as_list() == [2, 2]


def test_given_dtype_takes_precedence():
    packed = pack_sequence([hr.constant(1, hr.int64), 2], hr.int64, "both")
    assert packed.name == "both:0" and packed.dtype == hr.int64
    with pytest.raises(ValueError):
        pack_sequence([hr.constant(1.0)], hr.int64, "both")


def test_a_list_without_tensors_is_a_constant():
    assert hr.convert_to_tensor([1, 2]).op.type == "Const"
