from __future__ import annotations

import pytest

from headrace.graph.framework.tensor_shape import Dimension, TensorShape, as_dims, unknown_shape


def test_as_dims_accepts_lists_ints_dimensions_messages_and_none():
    assert as_dims([2, None, Dimension(3)]) == (2, None, 3)
    assert as_dims(4) == (4,)
    assert as_dims(None) is None
    assert as_dims(TensorShape([None, 2]).as_proto()) == (None, 2)
    assert as_dims(TensorShape(None).as_proto()) is None


@pytest.mark.parametrize("wrong", [[-1], [1.5], "abc", ["2"]])
def test_invalid_shapes_raise(wrong):
    with pytest.raises((TypeError, ValueError)):
        TensorShape(wrong)


def test_merge_fills_unknown_sizes_and_rejects_incompatible_shapes():
    assert TensorShape([None, 3]).merge_with([2, None]).as_list() == [2, 3]
    assert TensorShape(None).merge_with([2]).as_list() == [2]
    with pytest.raises(ValueError, match=r"Shapes \(2, 3\) and \(2, 4\) are not compatible"):
        TensorShape([2, 3]).merge_with([2, 4])


def test_dimension_arithmetic_equals_int_arithmetic_unless_unknown():
    assert (Dimension(3) * 2).value == 6
    assert (7 // Dimension(2)).value == 3
    assert (Dimension(None) + 1).value is None
    assert (Dimension(None) == 3) is None
    assert list(range(Dimension(2))) == [0, 1]
    with pytest.raises(TypeError, match="use // instead"):
        Dimension(4) / 2


def test_a_shape_is_sliced_joined_and_counted():
    shape = TensorShape([2, None, 4])
    assert shape[0] == 2 and shape[-1].value == 4
    assert shape[1:].as_list() == [None, 4]
    assert (shape + [5]).as_list() == [2, None, 4, 5]
    assert shape.num_elements() is None and TensorShape([2, 3]).num_elements() == 6
    assert shape.ndims == 3 and len(shape) == 3
    assert unknown_shape()[1:3].as_list() == [None, None]


def test_an_unknown_rank_has_no_list_and_no_length():
    with pytest.raises(ValueError, match="as_list"):
        TensorShape(None).as_list()
    with pytest.raises(ValueError):
        len(TensorShape(None))
    assert not TensorShape(None) and TensorShape([])


def test_ranks_are_checked():
    assert TensorShape(None).with_rank(2).as_list() == [None, None]
    with pytest.raises(ValueError, match="must have rank 1"):
        TensorShape([1, 2]).with_rank(1)
    with pytest.raises(ValueError, match="at least"):
        TensorShape([1]).with_rank_at_least(2)


def test_shapes_compare_with_lists():
    assert TensorShape([1, 2]) == [1, 2]
    assert TensorShape([1, None]) != [1, 2]
    assert str(TensorShape([1, None])) == "(1, ?)" and str(TensorShape([3])) == "(3,)"


def test_a_dimension_is_a_whole_number():
    assert TensorShape([2.0, 3]) == [2, 3]
    for value in (1.5, float("nan"), float("inf"), "a"):
        with pytest.raises(ValueError, match="dimension"):
            TensorShape([value])
    with pytest.raises(TypeError, match="must be integer or None"):
        TensorShape([1j])
