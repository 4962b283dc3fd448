"""Datasets: what their methods build, options, warnings, generators and CSV tables."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.data import (
    applied_options,
    batches,
    csv_records,
    file_lists,
    generators,
    mapping,
    order,
)
from headrace.graph.data.dataset import IntLike
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.option_sets import AutotuneAlgorithm, merged
from headrace.graph.data.sources import optional_tensor
from headrace.graph.data.user_functions import UserFunction

D = hr.data.Dataset
E = hr.data.experimental


def test_repr_has_tensorflows_form():
    assert repr(D.range(3)) == "<DatasetV1Adapter shapes: (), types: tf.int64>"
    dataset = D.from_tensor_slices({"a": [[1, 2]], "b": ["x"]})
    expected = "shapes: {a: (2,), b: ()}, types: {a: tf.int32, b: tf.string}>"
    assert repr(dataset) == f"<DatasetV1Adapter {expected}"
    assert repr(hr.data.TextLineDataset("x")).startswith("<TextLineDatasetV1 shapes: ()")
    records = hr.data.FixedLengthRecordDataset("x", 4)
    assert repr(records).startswith("<FixedLengthRecordDatasetV1 ")


def test_static_shapes_of_batches():
    dataset = D.from_tensor_slices(np.zeros((6, 2), np.float32))
    assert dataset.batch(4).output_shapes.as_list() == [None, 2]
    assert dataset.batch(4, drop_remainder=True).output_shapes.as_list() == [4, 2]
    size = hr.placeholder(hr.int64, [])
    assert dataset.batch(size, True).output_shapes.as_list() == [None, 2]
    padded = dataset.padded_batch(4, [3], drop_remainder=True)
    assert padded.output_shapes.as_list() == [4, 3]
    assert dataset.padded_batch(4, [None]).output_shapes.as_list() == [None, None]
    mapped = dataset.apply(E.map_and_batch(lambda x: x, 3, drop_remainder=True))
    assert mapped.output_shapes.as_list() == [3, 2]
    joined = dataset.concatenate(D.from_tensors([1.0, 2.0, 3.0]))
    assert joined.output_shapes.as_list() == [None]
    dropped = dataset.apply(hr.contrib.data.batch_and_drop_remainder(2))
    assert dropped.output_shapes.as_list() == [2, 2]
    kept = dataset.apply(hr.contrib.data.padded_batch_and_drop_remainder(2, [4]))
    assert kept.output_shapes.as_list() == [2, 4]
    known = dataset.batch(2).apply(hr.contrib.data.assert_element_shape(hr.TensorShape([2, None])))
    assert known.output_shapes.as_list() == [2, 2]
    slid = dataset.apply(hr.contrib.data.sliding_window_batch(3))
    assert slid.output_shapes.as_list() == [None, 2]


def test_ops_of_transformations(graph):
    dataset = D.range(9)
    dataset.map(lambda x: x, num_parallel_calls=E.AUTOTUNE)
    dataset.interleave(D.from_tensors, num_parallel_calls=2)
    dataset.apply(E.parallel_interleave(D.from_tensors, 2, sloppy=True))
    dataset.apply(hr.contrib.data.sloppy_interleave(D.from_tensors, 2))
    dataset.apply(E.shuffle_and_repeat(3))
    dataset.apply(E.enumerate_dataset(1)).apply(E.prefetch_to_device("/gpu:0"))
    dataset.batch(3).apply(E.unbatch()).cache("file").shard(2, 0)
    dataset.apply(E.map_and_batch_with_legacy_function(lambda x: x, 2, num_parallel_batches=3))
    E.get_single_element(dataset)
    types = [n.type for n in graph.get_operations()]
    for name in ("ParallelMapDataset", "ShuffleAndRepeatDataset", "UnbatchDataset", "CacheDataset",
                 "ShardDataset", "MapAndBatchDataset", "DatasetToSingleElement"):  # fmt: skip
        assert types.count(name) == 1, name
    assert types.count("ParallelInterleaveDatasetV2") == 1
    found = [n for n in graph.get_operations() if n.type == "ParallelInterleaveDataset"]
    assert [hr.get_static_value(n.inputs[3]) for n in found] == [True, True]
    assert [hr.get_static_value(t) for t in found[0].inputs[4:]] == [2, 4]


def test_readers_have_the_arguments_of_their_op_in_a_function(graph):
    hr.data.TextLineDataset(["a", "b"], "GZIP", 1024)
    hr.data.TFRecordDataset("a", num_parallel_reads=2)
    hr.data.FixedLengthRecordDataset(D.from_tensors("a"), 4, 1, 2, num_parallel_reads=E.AUTOTUNE)
    types = {n.op for f in graph.as_graph_def().library.function for n in f.node_def}
    assert {"TextLineDataset", "TFRecordDataset", "FixedLengthRecordDatasetV2"} <= types
    outer = [n.type for n in graph.get_operations()]
    assert outer.count("FlatMapDataset") == outer.count("ParallelInterleaveDataset") == 1
    assert outer.count("ParallelInterleaveDatasetV2") == 1


def test_transformations_are_functions_of_datasets(graph):
    dataset = D.range(9)
    for made in (
        order.take(order.skip(dataset, 1), 3),
        order.unchanged("TakeDataset", dataset, hr.constant(3, hr.int64)),
        mapping.filtered(dataset, lambda x: x > 3),
        batches.unbatch(batches.batch(dataset, 2, False)),
        make_dataset(dataset._variant_tensor, dataset.element_spec, [dataset]),
        applied_options.with_applied_options(dataset),
    ):
        assert type(made) is D and isinstance(made, DatasetNode)
        assert made.element_spec == dataset.element_spec
    applied = dataset.apply(E.copy_to_device("/gpu:0")).options().experimental_optimization
    assert applied.autotune is False and applied.apply_default_optimizations is False


def test_list_files(graph):
    file_lists.list_files("*.txt", False, None)
    assert [n.type for n in graph.get_operations()].count("ShuffleDataset") == 0
    dataset = D.list_files(["*.txt", "*.csv"], seed=3)
    assert dataset.output_types is hr.string
    assert "list_files_1/ShuffleDataset" in [n.name for n in graph.get_operations()]


def test_functions_capture_tensors_variables_and_tables():
    outer = hr.constant(1, hr.int64)
    v = hr.get_variable("v", [], hr.int64, use_resource=True)
    rows = hr.lookup.KeyValueTensorInitializer([1], [2], hr.int64, hr.int64)
    table = hr.lookup.StaticHashTable(rows, 0)
    dataset = D.range(3).map(lambda x: table.lookup(x) + v + outer[None][0])
    assert [t.op.type for t in dataset._functions()[0].captured_inputs] == [
        "HashTableV2", "Const", "VarHandleOp", "Const"
    ]  # fmt: skip
    assert not dataset._has_captured_ref()


def test_operators_of_captured_tensors_are_in_the_function(graph):
    outer = hr.constant([4, 5, 6])
    flags = hr.constant([True, False])
    matrix = hr.ones([2, 2])
    before = len(graph.get_operations())

    def all_operators(n):
        return outer[n], outer[:n], outer / n, 3 / outer, flags ^ (n > 1), matrix @ matrix

    D.from_tensors(hr.constant(1)).map(all_operators)
    added = [n.type for n in graph.get_operations()[before:]]
    assert not {"StridedSlice", "RealDiv", "LogicalOr", "MatMul"} & set(added)


def test_a_table_made_in_a_function_warns():
    def looked_up(x):
        table = hr.contrib.lookup.index_table_from_tensor(["a", "b"])
        return table.lookup(x)

    with pytest.warns(UserWarning, match=r"Creating resources inside a function passed to Dataset"):
        D.from_tensors("a").map(looked_up)


def test_a_seed_of_the_graph_in_a_function_warns():
    hr.set_random_seed(3)
    with pytest.warns(UserWarning, match="Seed 3 from outer graph might be getting used"):
        D.range(3).map(lambda x: hr.random_uniform([]))


def test_user_function_has_its_name_and_specs():
    def doubled(x):
        return [x * 2, {"y": x}]

    made = UserFunction(doubled, "Dataset.map()", hr.TensorSpec([], hr.int64))
    assert made.function.name.startswith("__inference_Dataset_map_doubled_")
    assert made.output_spec == (hr.TensorSpec([], hr.int64), {"y": hr.TensorSpec([], hr.int64)})
    legacy = D.range(3).map_with_legacy_function(doubled)
    assert legacy._functions()[0].function.name.startswith("Dataset_map_doubled_")


def test_reduce_weakens_the_shape_of_its_state(graph):
    result = D.range(3).reduce(hr.constant([0], hr.int64), lambda s, x: hr.concat([s, [x]], 0))
    assert result.shape.as_list() == [None]
    total = hr.contrib.data.reduce_dataset(
        D.range(3), E.Reducer(lambda key: key, lambda s, x: s + x, lambda s: s)
    )
    assert total.shape.as_list() == [] and total.dtype is hr.int64


def test_counter_and_group_by_reducer():
    assert E.Counter(1.0, 0.5, hr.float32).output_types is hr.float32
    reducer = E.Reducer(lambda k: 0.0, lambda s, x: s + 1.0, lambda s: [s, s])
    grouped = D.range(5).apply(E.group_by_reducer(lambda x: x, reducer))
    assert grouped.output_types == (hr.float32, hr.float32)
    assert (reducer.init_func(0), reducer.finalize_func(1)) == (0.0, [1, 1])
    assert reducer.reduce_func(1.0, 0) == 2.0


def test_make_initializable_iterator_of_parsed_features():
    features = {"x": hr.FixedLenFeature([2], hr.float32), "y": hr.VarLenFeature(hr.int64)}
    batches = E.make_batched_features_dataset("*.rec", 3, features, label_key="x", num_epochs=1)
    element = batches.make_initializable_iterator().get_next()
    assert list(element[0]) == ["y"] and element[1].shape.as_list() == [None, 2]
    found = hr.contrib.data.read_batch_features("*.rec", 3, features)
    assert isinstance(found["y"], hr.SparseTensor)


# ---- options ---------------------------------------------------------------------------------


def test_options_are_checked_and_merged():
    options = hr.data.Options()
    with pytest.raises(TypeError, match='Property "experimental_deterministic" must be of type'):
        options.experimental_deterministic = 3
    with pytest.raises(AttributeError, match="Cannot set the property nonsense on Options"):
        options.nonsense = 3
    options.experimental_threading.private_threadpool_size = 2
    options.experimental_optimization = E.OptimizationOptions()
    options.experimental_optimization.map_vectorization = E.MapVectorizationOptions()
    options.experimental_optimization.map_vectorization.enabled = True
    options.experimental_distribute = E.DistributeOptions()
    other = hr.data.Options()
    other.experimental_deterministic = True
    other.experimental_slack = True
    both = D.range(3).with_options(options).with_options(other).options()
    assert both.experimental_deterministic
    assert both.experimental_threading.private_threadpool_size == 2
    assert both == options.merge(other) != options
    assert "map_vectorization" in both._static_optimizations()
    assert both._static_optimization_configs()[-1] == "slack:slack_period:1"
    third = hr.data.Options()
    third.experimental_deterministic = False
    with pytest.raises(ValueError, match="Cannot merge incompatible values"):
        both.merge(third)
    with pytest.raises(TypeError, match="Incompatible options type"):
        merged(options, E.ThreadingOptions())
    joined = D.zip((D.range(2).with_options(other), D.range(3)))
    assert joined.options().experimental_slack


def test_autotune_options_are_attributes_of_the_model(graph):
    options = hr.data.Options()
    options.experimental_optimization.autotune_algorithm = AutotuneAlgorithm.GRADIENT_DESCENT
    options.experimental_optimization.autotune_cpu_budget = 3
    D.range(3).with_options(options).make_initializable_iterator()
    node = graph.get_operation_by_name("ModelDataset")
    assert (node.get_attr("algorithm"), node.get_attr("cpu_budget")) == (1, 3)


# ---- generators ------------------------------------------------------------------------------


def test_values_of_generators_are_checked():
    types, shapes = [hr.int32, hr.string], [hr.TensorShape([None]), hr.TensorShape([])]

    def checked(value):
        return generators._checked(value, (hr.int32, hr.string), types, shapes)

    number, text = checked(([1, 2], "é"))
    assert number.dtype == np.int32 and text.item() == "é".encode()
    with pytest.raises(TypeError, match="did not match the expected structure"):
        checked([1, "a"])
    with pytest.raises(TypeError, match="could not be converted to the expected type"):
        checked((["a"], "b"))
    with pytest.raises(TypeError, match="could not be converted to the expected type"):
        checked(([1], 5))
    with pytest.raises(ValueError, match="an element of shape .* where an element of shape"):
        checked((1, "a"))


def test_each_pass_over_a_generator_has_an_iterator():
    iterators = generators._Iterators(lambda n: iter(range(int(n))))
    first, second = iterators.begin(2), iterators.begin(1)
    assert [iterators.next(first), iterators.next(second), iterators.next(first)] == [0, 0, 1]
    with pytest.raises(StopIteration):
        iterators.next(second)
    iterators.end(first), iterators.end(second)
    assert not iterators._open


def test_dataset_of_a_generator_has_three_functions(graph):
    dataset = D.from_generator(lambda n: [n], (hr.int32, hr.string), ([], [2]), args=(3,))
    assert [s.as_list() for s in dataset.output_shapes] == [[], [2]]
    functions = graph.as_graph_def().library.function
    (node,) = [n for f in functions for n in f.node_def if n.op == "GeneratorDataset"]
    names = {f.signature.name for f in functions}
    for attr in ("init_func", "next_func", "finalize_func"):
        assert node.attr[attr].func.name in names
    assert optional_tensor("n", None, 3).dtype is hr.int64 and IntLike is not None


# ---- CSV -------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,c,d,e\n1,2.5,x,,9999999999\n-3,1e39,,NA,1\n")
    return path


def test_columns_of_csv_files_are_inferred(table):
    batches = E.make_csv_dataset(str(table), 2, label_name="c", na_value="NA", num_epochs=1)
    features, label = batches.output_types
    assert label is hr.string
    assert dict(features) == {"a": hr.int32, "b": hr.float64, "d": hr.string, "e": hr.int64}
    chosen = E.make_csv_dataset(
        [str(table)], 2, select_columns=["b", 0], column_defaults=[hr.int64, 0.5], shuffle=False,
        num_parallel_reads=E.AUTOTUNE,
    )  # fmt: skip
    assert dict(chosen.output_types) == {"a": hr.int64, "b": hr.float32}


def test_compressed_csv_files(tmp_path):
    with gzip.open(tmp_path / "a.csv", "wt") as file:
        file.write("x,y\n1,a\n")
    pattern = str(tmp_path / "*.csv")
    found = E.make_csv_dataset(pattern, 1, compression_type="GZIP").output_types
    assert dict(found) == {"x": hr.int32, "y": hr.string}
    with pytest.raises(ValueError, match="is not supported for probing columns"):
        E.make_csv_dataset(pattern, 1, compression_type="ZLIB")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"header": False}, "Cannot infer column names without a header line."),
        ({"column_names": ["a", "a", "b", "c", "d"]}, "Cannot have duplicate column names."),
        ({"select_columns": [7]}, "Column index 7 specified in select_columns out of valid range."),
        ({"select_columns": ["z"]}, "not a valid column index or name"),
        ({"select_columns": ["a", 0]}, "select_columns contains duplicate columns"),
        ({"label_name": "z"}, "`label_name` provided must be one of the columns."),
        ({"select_columns": ["a"], "column_defaults": [1, 2]}, "must have same length"),
        ({"column_names": ["a", "b"]}, "CSV row has different number of fields than expected"),
    ],
)
def test_columns_that_do_not_fit_are_rejected(table, options, words):
    with pytest.raises(ValueError, match=words):
        E.make_csv_dataset(str(table), 2, **options)


def test_files_that_do_not_fit_are_rejected(table, tmp_path):
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="Files have different column names in the header row."):
        E.make_csv_dataset(str(tmp_path / "*.csv"), 2)
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(ValueError, match="Empty file"):
        E.make_csv_dataset(str(tmp_path / "*.csv"), 2)
    with pytest.raises(ValueError, match="No files match"):
        E.make_csv_dataset(str(tmp_path / "*.tsv"), 2)


def test_record_defaults_of_csv_datasets(graph):
    dataset = E.CsvDataset(
        "x", [hr.int32, [""], hr.constant([0.5], hr.float64)], select_cols=[0, 2, 3]
    )
    assert dataset.output_types == (hr.int32, hr.string, hr.float64)
    node = graph.get_operation_by_name("CSVDataset")
    assert [t.shape.as_list() for t in node.inputs[8:]] == [[0], [1], [1]]
    assert csv_records.CsvDataset is E.CsvDataset
