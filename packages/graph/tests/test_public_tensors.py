"""is_tensor, constant values, shapes and scopes of values."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr


def test_tensors_variables_and_sparse_tensors_are_tensors():
    sparse = hr.SparseTensor([[0]], [1.0], [2])
    assert all(hr.is_tensor(t) for t in (hr.constant(1), hr.Variable(1), sparse))
    assert not any(hr.is_tensor(t) for t in (1, "x", np.zeros(2), [hr.constant(1)]))


def test_constant_value_is_known():
    assert hr.get_static_value(hr.constant([1, 2])).tolist() == [1, 2]
    assert hr.get_static_value(hr.placeholder(hr.float32)) is None


def test_sparse_tensors_are_kept_and_sparse_values_converted():
    sparse = hr.SparseTensor([[0]], [1.0], [2])
    assert hr.convert_to_tensor_or_sparse_tensor(sparse) is sparse
    value = hr.SparseTensorValue([[0]], [1.0], [2])
    assert isinstance(hr.convert_to_tensor_or_sparse_tensor(value), hr.SparseTensor)
    assert isinstance(hr.convert_to_tensor_or_sparse_tensor([1.0]), hr.Tensor)
    with pytest.raises(RuntimeError, match="Sparse dtype"):
        hr.convert_to_tensor_or_sparse_tensor(sparse, hr.int32)


def test_static_shapes_broadcast():
    assert hr.broadcast_static_shape([2, 1, 3], [4, 1]) == hr.TensorShape([2, 4, 3])
    with pytest.raises(ValueError):
        hr.broadcast_static_shape([2], [3])


def test_a_dimension_has_a_value():
    assert hr.dimension_value(hr.Dimension(3)) == hr.dimension_value(3) == 3
    assert hr.dimension_value(hr.Dimension(None)) is None


def test_op_scope_is_a_name_scope_in_the_graph_of_its_values():
    x = hr.constant(1)
    with hr.Graph().as_default(), hr.op_scope([x], None, "adding"):
        assert hr.constant(2).name == "adding/Const:0"
        assert hr.get_default_graph() is x.graph


def test_a_spec_of_a_sparse_tensor_has_shape_and_type():
    spec = hr.SparseTensorSpec([None, 3], hr.int32)
    assert spec.shape.as_list() == [None, 3] and spec.dtype == hr.int32


def test_every_type_of_hr_typing_can_annotate():
    from headrace.graph.typing import (
        Collections,
        Constraint,
        Device,
        DTypeLike,
        FeedDict,
        GraphElement,
        Initializer,
        Ints,
        Padding,
        Partitioner,
        Path,
        Regularizer,
        ShapeLike,
        SparseLike,
        SupportsArray,
        TensorLike,
        VariableLike,
    )

    types = (TensorLike, SparseLike, DTypeLike, ShapeLike, GraphElement, FeedDict, Collections,
             Device, Path, Ints, Padding, VariableLike, Initializer, Regularizer, Constraint,
             Partitioner, SupportsArray)  # fmt: skip
    assert [hr.typing.TensorLike, hr.typing.ShapeLike] == [TensorLike, ShapeLike]
    assert len(types) == len(dir(hr.typing))


def test_a_script_has_a_number_for_each_code_point():
    script = hr.strings.unicode_script(hr.placeholder(hr.int32, [None, 3]))
    assert script.op.type == "UnicodeScript"
    assert script.dtype == hr.int32 and script.shape.as_list() == [None, 3]
