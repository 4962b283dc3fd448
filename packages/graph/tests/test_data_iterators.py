"""Iterators of datasets: their nodes, structures and handles."""

from __future__ import annotations

import types
import warnings

import pytest

import headrace.graph as hr
from headrace.graph.data.iterator import GLOBAL_ITERATORS

D = hr.data.Dataset


def pairs():
    return D.from_tensor_slices({"a": [1, 2], "b": ([0.5, 1.5],)})


def test_get_next_has_the_structure_and_shapes_of_an_element():
    for make in (hr.data.make_one_shot_iterator, hr.data.make_initializable_iterator):
        iterator = make(pairs().batch(2))
        element = iterator.get_next("next")
        assert element["a"].name.startswith("next") and element["a"].dtype is hr.int32
        assert element["b"][0].shape.as_list() == [None]
        assert iterator.output_types == {"a": hr.int32, "b": (hr.float32,)}
        assert iterator.output_shapes["a"].as_list() == [None]
        assert iterator.output_classes == {"a": hr.Tensor, "b": (hr.Tensor,)}
        assert iterator.element_spec["a"] == hr.TensorSpec([None], hr.int32)
        assert hr.data.get_output_types(iterator) == iterator.output_types


def test_initializer_is_placed_with_the_iterator(graph):
    iterator = pairs().make_initializable_iterator(shared_name="shared")
    resource = graph.get_operation_by_name("IteratorV2")
    assert resource.get_attr("shared_name") == b"shared"
    assert iterator.initializer.type == "MakeIterator"
    assert iterator.initializer.colocation_groups() == [b"loc:@IteratorV2"]
    assert graph.get_collection(GLOBAL_ITERATORS) == [resource.outputs[0]]


def test_reinitialisable_iterator(graph):
    iterator = hr.data.Iterator.from_structure(hr.int64, [], shared_name="s")
    assert graph.get_operation_by_name("IteratorV2").device == "/device:CPU:0"
    begins = [iterator.make_initializer(D.range(3)), iterator.make_initializer(D.range(5), "b")]
    assert [b.name for b in begins] == ["make_initializer", "b"]
    assert [b.inputs[1] for b in begins] == [iterator._iterator_resource] * 2
    assert iterator.get_next().shape.as_list() == []
    with hr.device("/cpu:1"):
        hr.data.Iterator.from_structure((hr.int64, hr.string))
    assert graph.get_operation_by_name("IteratorV2_1").device == "/device:CPU:1"


def test_feedable_iterator(graph):
    handle = hr.placeholder(hr.string, [])
    made = pairs().make_one_shot_iterator()
    iterator = hr.data.Iterator.from_string_handle(
        handle, made.output_types, made.output_shapes, made.output_classes
    )
    assert iterator.get_next()["b"][0].shape.as_list() == []
    resource = graph.get_operation_by_name("IteratorFromStringHandleV2")
    assert resource.inputs[0] is handle
    assert made.string_handle() is made.string_handle()
    assert made.string_handle("named").op.name == "named"
    sparse = hr.data.Iterator.from_string_handle(handle, hr.int64, [None, 3], hr.SparseTensor)
    element = sparse.get_next()
    assert isinstance(element, hr.SparseTensor) and element.indices.shape.as_list() == [None, 2]


def test_many_calls_of_get_next_warn():
    iterator = D.range(3).make_one_shot_iterator()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(32):
            iterator.get_next()
    with pytest.warns(UserWarning, match="An unusually high number of `Iterator.get_next"):
        iterator.get_next()


def test_constructor_needs_a_structure():
    resource = D.range(3).make_one_shot_iterator()._iterator_resource
    with pytest.raises(ValueError, match="all of `output_types`, `output_shapes`"):
        hr.data.Iterator(resource, None, hr.int64, None, hr.Tensor)


def test_one_shot_iterator_has_the_pipeline_in_a_function(graph):
    D.range(3).map(lambda x: x + 1).batch(2).make_one_shot_iterator()
    (node,) = [n for n in graph.get_operations() if n.type == "OneShotIterator"]
    library = {f.signature.name: f for f in graph.as_graph_def().library.function}
    factory = library[node.get_attr("dataset_factory").name]
    types = [n.op for n in factory.node_def]
    assert types[-2:] == ["OptimizeDataset", "ModelDataset"] and "RangeDataset" in types
    (mapped,) = [n for n in factory.node_def if n.op == "MapDataset"]
    assert mapped.attr["f"].func.name in library


def test_captured_constants_are_copied_into_a_one_shot_iterator(graph):
    outer = hr.constant([3, 4], hr.int64)
    D.range(3).map(lambda x: x + outer).make_one_shot_iterator()
    (function,) = [
        f for f in graph.as_graph_def().library.function if "_make_dataset" in f.signature.name
    ]
    assert not function.signature.input_arg
    assert "Const" in [n.op for n in function.node_def]


def test_datasets_of_another_graph_are_logged(caplog):
    with hr.Graph().as_default():
        dataset = D.range(3)
    with caplog.at_level("WARNING", logger="headrace"):
        with pytest.raises(ValueError, match="graph"):
            dataset.make_initializable_iterator()
    assert "is different from the graph" in caplog.text


def test_state_of_an_iterator_is_saved(graph):
    iterator = D.range(3).make_initializable_iterator()
    saveable = hr.data.experimental.make_saveable_from_iterator(iterator)
    assert saveable.name == iterator._iterator_resource.name
    assert saveable.specs[0].name == "IteratorV2:0-state"
    hr.train.Saver([saveable])
    types = [n.type for n in graph.get_operations()]
    assert types.count("SerializeIterator") == types.count("DeserializeIterator") == 1


def test_hook_saves_all_iterators(graph, tmp_path):
    iterators = [D.range(3).make_initializable_iterator() for _ in range(2)]
    hr.train.create_global_step()
    config = types.SimpleNamespace(
        num_worker_replicas=2, task_type="worker", task_id=1, save_checkpoints_secs=None,
        save_checkpoints_steps=5,
    )  # fmt: skip
    estimator = types.SimpleNamespace(_config=config, model_dir=str(tmp_path))
    hook = hr.data.experimental.CheckpointInputPipelineHook(estimator)
    hook.begin()
    saved = [n for n in graph.get_operations() if n.type == "SerializeIterator"]
    assert [n.inputs[0] for n in saved] == [i._iterator_resource for i in iterators]
    assert hook._latest_filename == "checkpoint_input_worker_1"


def test_collection_of_iterators_survives_a_meta_graph(graph):
    D.range(3).make_initializable_iterator()
    message = hr.train.export_meta_graph(graph=graph)
    with hr.Graph().as_default() as other:
        hr.train.import_meta_graph(message)
        (found,) = other.get_collection(GLOBAL_ITERATORS)
        assert "IteratorV2" in str(found)


def test_optional(graph):
    iterator = pairs().make_one_shot_iterator()
    found = hr.data.experimental.get_next_as_optional(iterator)
    assert found.value_structure == iterator.element_spec
    assert found.has_value().dtype is hr.bool
    assert found.get_value()["a"].shape.as_list() == []
    made = hr.data.experimental.Optional.from_value((1, [2.0]))
    assert made.get_value()[1].shape.as_list() == [1]
    empty = hr.data.experimental.Optional.none_from_structure(made.value_structure)
    assert empty.has_value().op.inputs[0].op.type == "OptionalNone"
    spec = hr.OptionalSpec.from_value(made)
    assert spec == hr.data.experimental.OptionalStructure(made.value_structure)
    assert spec.value_type is hr.data.experimental.Optional
    dataset = D.range(3).map(lambda x: hr.data.experimental.Optional.from_value(x))
    assert isinstance(dataset.element_spec, hr.OptionalSpec)
    assert dataset.output_types == dataset.element_spec == dataset.output_classes
    nested = dataset.map(lambda o: o.get_value())
    assert nested.output_types is hr.int64
