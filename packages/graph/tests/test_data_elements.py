"""Elements of datasets: structures, specs and their tensors."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.data import element_nest as nest
from headrace.graph.data import element_specs as specs
from headrace.graph.data.component_specs import DatasetSpec, NestedDatasets

D = hr.data.Dataset
Pair = collections.namedtuple("Pair", ["x", "y"])


def test_lists_are_leaves_and_dicts_are_in_order_of_their_keys():
    structure = {"b": ([1, 2], Pair(3, 4)), "a": hr.SparseTensorValue(0, 1, 2)}
    assert nest.flatten(structure) == [structure["a"], [1, 2], 3, 4]
    again = nest.pack_sequence_as(structure, ["s", "l", "x", "y"])
    assert again == {"b": ("l", Pair("x", "y")), "a": "s"} and list(again) == ["b", "a"]
    counts = collections.defaultdict(int, a=1)
    assert nest.map_structure(lambda v: v + 1, counts).default_factory is int
    assert nest.map_structure_up_to((0, 0), lambda a, b: [a, b], (1, (2,)), (3, 4)) == (
        [1, 3], [(2,), 4]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "kind", "words"),
    [
        ((1,), 1, ValueError, "is a sequence, while"),
        ((1,), (1, 2), ValueError, "same number of elements"),
        ({"a": 1}, {"b": 1}, ValueError, "same set of keys"),
        ((1,), {"a": 1}, TypeError, "same sequence type"),
    ],
)
def test_structures_that_differ(one, other, kind, words):
    with pytest.raises(kind, match=f"(?s)same nested structure.*{words}"):
        nest.assert_same_structure(one, other)


@pytest.mark.parametrize(
    ("shallow", "structure", "kind", "words"),
    [
        ((0, 0), 1, TypeError, "input must also be a sequence"),
        ((0, 0), (1,), ValueError, "same sequence length"),
        ({"a": 0}, {"b": 0}, ValueError, "same keys"),
        ((0,), {"a": 0}, TypeError, "same sequence type"),
    ],
)
def test_structures_that_do_not_begin_alike(shallow, structure, kind, words):
    with pytest.raises(kind, match=words):
        nest.flatten_up_to(shallow, structure)


def test_other_errors_of_structures():
    with pytest.raises(TypeError, match="sortable keys"):
        nest.flatten({1: 0, "a": 0})
    with pytest.raises(ValueError, match="Structure had 2 elements, but flat_sequence had 1"):
        nest.pack_sequence_as((0, 0), [1])
    with pytest.raises(ValueError, match="Structure is a scalar"):
        nest.pack_sequence_as(0, [1, 2])


def test_specs_and_their_tensors():
    sparse = hr.SparseTensor([[0, 0]], [1.0], [2, 3])
    element = specs.as_element({"s": sparse, "t": (np.int64(1), ["a", "b"])})
    spec = specs.spec_of(element)
    assert spec["t"] == (hr.TensorSpec([], hr.int64), hr.TensorSpec([2], hr.string))
    assert spec["s"] == hr.SparseTensorSpec([2, 3], hr.float32)
    flat = specs.flat_structure(spec)
    assert flat["output_types"] == [hr.variant, hr.int64, hr.string]
    assert [s.ndims for s in flat["output_shapes"]] == [None, 0, 1]
    tensors = specs.to_tensors(spec, element)
    assert [t.op.type for t in tensors] == ["SerializeSparse", "Const", "Const"]
    back = specs.from_tensors(spec, tensors)
    assert back["s"].indices.shape.as_list() == [None, 2]
    assert specs.unbatched(spec["s"]).shape.as_list() == [3]
    assert specs.batched(spec, 5)["t"][1].shape.as_list() == [5, 2]
    with pytest.raises(ValueError, match="Expected 3 tensors but got 1"):
        specs.from_tensors(spec, tensors[:1])
    with pytest.raises(ValueError, match="is not convertible to a tensor with dtype"):
        specs.to_tensors(hr.TensorSpec([3], hr.int32), hr.constant([1, 2]))
    with pytest.raises(ValueError, match="rank >= 1"):
        specs.unbatched(hr.TensorSpec([], hr.int32))
    assert (
        specs.spec_of(hr.SparseTensorValue(np.zeros((0, 1)), np.zeros(0), [4])).dtype is hr.float64
    )
    assert not specs.are_compatible(spec["t"], spec["t"][0])
    assert specs.are_compatible(hr.TensorSpec([None], hr.int64), hr.TensorSpec([3], hr.int64))
    with pytest.raises(TypeError, match="Could not build a structure for output class"):
        specs.specs_from(hr.int32, hr.TensorShape([]), int)


def test_nested_datasets_are_components():
    windows = D.range(9).map(lambda x: (x, {"y": -x})).window(3)
    spec = windows.element_spec
    assert spec == (DatasetSpec(hr.TensorSpec([], hr.int64)), {"y": spec[0]})
    assert repr(windows).startswith("<DatasetV1Adapter shapes: (DatasetSpec(")
    assert windows.output_types == windows.output_classes == spec
    assert spec[0].value_type is D and hr.data.experimental.DatasetStructure is DatasetSpec
    assert DatasetSpec.from_value(D.range(2)) == spec[0] and spec[0].is_compatible_with(spec[0])
    batches = windows.batch(4)
    assert batches.element_spec[0] == DatasetSpec(hr.TensorSpec([], hr.int64), [None])
    element = batches.make_one_shot_iterator().get_next()
    assert isinstance(element[0], NestedDatasets)
    single = windows.make_one_shot_iterator().get_next()
    assert isinstance(single[0], D) and single[0].output_types is hr.int64
    again = batches.unbatch()
    assert again.element_spec == spec
    nested = D.range(3).map(lambda x: D.range(x))
    assert nested.flat_map(lambda d: d).output_types is hr.int64
    variant = hr.data.experimental.to_variant(D.range(3))
    assert (
        hr.data.experimental.from_variant(variant, spec[0]._element_spec).output_types is hr.int64
    )


def test_older_names_of_specs():
    assert hr.data.experimental.TensorStructure(hr.int32, [2]) == hr.TensorSpec([2], hr.int32)
    made = hr.data.experimental.SparseTensorStructure(hr.int32, [2])
    assert made == hr.SparseTensorSpec([2], hr.int32)
    assert hr.data.DatasetSpec is DatasetSpec
    assert hr.data.get_output_shapes(D.range(2)).as_list() == []
    assert hr.data.get_output_classes(D.range(2)) is hr.Tensor


def test_sparse_tensors_pass_through_functions():
    x = hr.SparseTensor([[0, 1], [1, 0]], [1, 2], [2, 3])
    dataset = D.from_tensor_slices(x).map(lambda row: (row, hr.sparse_tensor_to_dense(row)))
    assert dataset.output_classes == (hr.SparseTensor, hr.Tensor)
    assert dataset.batch(2).output_shapes[0].as_list() == [None, None]
    assert dataset.output_types == (hr.int32, hr.int32)
    with pytest.raises(ValueError, match="rank >= 1"):
        D.from_tensor_slices(
            hr.SparseTensor(hr.zeros([0, 0], hr.int64), hr.zeros([0]), hr.zeros([0], hr.int64))
        )
