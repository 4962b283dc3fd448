"""What hr.data rejects while the graph is built, with TensorFlow 1.15's classes and words."""

from __future__ import annotations

import pytest

import headrace.graph as hr

D = hr.data.Dataset
E = hr.data.experimental


def table():
    rows = hr.lookup.KeyValueTensorInitializer([1], [2], hr.int64, hr.int64)
    return hr.lookup.StaticHashTable(rows, 0)


def placeholder():
    return hr.placeholder(hr.int32, [], name="p")


def sparse():
    return D.from_tensors(hr.SparseTensor([[0]], hr.constant([1], hr.int64), [2]))


CASES = {
    "map returns None": (lambda: D.range(3).map(lambda x: None), TypeError,
        r"Unsupported return value from function passed to Dataset.map\(\): None."),
    "map returns an object": (lambda: D.range(3).map(lambda x: object()), TypeError,
        "Unsupported return value"),
    "filter returns a number": (lambda: D.range(3).filter(lambda x: x), ValueError,
        "`predicate` return type must be convertible to a scalar boolean tensor"),
    "filter returns a vector": (lambda: D.range(3).filter(lambda x: hr.stack([x > 1, x > 2])),
        ValueError, "scalar boolean"),
    "filter returns a pair": (lambda: D.range(3).filter(lambda x: (x > 1, x > 2)), ValueError,
        "scalar boolean"),
    "flat_map returns a tensor": (lambda: D.range(3).flat_map(lambda x: x), TypeError,
        "`map_func` must return a `Dataset` object. Got"),
    "interleave returns a tensor": (lambda: D.range(3).interleave(lambda x: x, 2), TypeError,
        "`map_func` must return a `Dataset` object. Got"),
    "zip of a list": (lambda: D.zip([D.range(3), D.range(3)]), TypeError,
        "Nested structures do not support Python lists; please use a tuple instead."),
    "zip of a number": (lambda: D.zip((D.range(3), 3)), TypeError,
        "must be a nested structure of `Dataset` objects.$"),
    "concatenation of other dtypes": (lambda: D.range(3).concatenate(D.from_tensors(1.0)),
        TypeError, "Two datasets to concatenate have different types"),
    "concatenation of other classes": (lambda: D.range(3).concatenate(sparse()), TypeError,
        "Two datasets to concatenate have different classes"),
    "slices of a scalar": (lambda: D.from_tensor_slices(3), ValueError, "insufficient rank"),
    "slices of different numbers": (lambda: D.from_tensor_slices(([1, 2], [1, 2, 3])), ValueError,
        "Dimensions 2 and 3 are not compatible"),
    "range of nothing": (lambda: D.range(), ValueError, "Invalid arguments to RangeDataset"),
    "a generator that cannot be called": (lambda: D.from_generator([1, 2], hr.int32), TypeError,
        "`generator` must be callable."),
    "shapes of another structure": (lambda: D.from_generator(iter, (hr.int32, hr.int32), [None]),
        TypeError, "shallow structure is a sequence"),
    "sparse slices of a list": (lambda: D.from_sparse_tensor_slices([[1]]), TypeError,
        "`sparse_tensor` must be a `tf.SparseTensor` object"),
    "padding to another rank": (lambda: D.range(3).padded_batch(2, [3]), ValueError,
        r"The padded shape \(3,\) is not compatible with the corresponding input component shape"),
    "padding to a smaller size": (lambda: D.from_tensors([1, 2, 3]).padded_batch(2, [2]),
        ValueError, r"The padded shape \(2,\) is not compatible"),
    "padding of another dtype": (lambda: D.range(3).padded_batch(2, [], 1.0), TypeError,
        "does not match output type"),
    "padding with a vector": (
        lambda: D.range(3).padded_batch(2, [], hr.constant([1], hr.int64)), ValueError,
        "Padding value should be a scalar"),
    "padding of sparse tensors": (lambda: sparse().padded_batch(2, [None]), TypeError,
        "Batching of padded sparse tensors is not currently supported"),
    "a padded shape that is a matrix": (
        lambda: D.from_tensors([1, 2]).padded_batch(2, hr.constant([[3]], hr.int64)), ValueError,
        "must be a 1-D tensor of tf.int64 values, but its shape was"),
    "a padded shape of int32": (
        lambda: D.from_tensors([1, 2]).padded_batch(2, hr.constant([3])), TypeError,
        "must be a 1-D tensor of tf.int64 values, but its element type was int32"),
    "apply of no dataset": (lambda: D.range(3).apply(lambda d: 3), TypeError,
        "`transformation_func` must return a Dataset. Got 3."),
    "unbatch of scalars": (lambda: D.range(3).unbatch(), ValueError, "insufficient rank"),
    "unbatch of different sizes": (lambda: D.from_tensors(([1, 2], [1, 2, 3])).unbatch(),
        ValueError, "Cannot unbatch an input whose components have different batch sizes."),
    "reduce to another dtype": (lambda: D.range(3).reduce(0, lambda s, x: x), TypeError,
        "The element types for the new state must match the initial state"),
    "reduce to another class": (lambda: D.range(3).reduce(0, lambda s, x: hr.SparseTensor(
        [[0]], [s], [1])), TypeError, "The element classes for the new state must match"),
    "an iterator of other dtypes": (
        lambda: hr.data.Iterator.from_structure(hr.int32).make_initializer(D.range(3)), TypeError,
        "Expected output types .* but got dataset with output types"),
    "an iterator of other shapes": (
        lambda: hr.data.Iterator.from_structure(hr.int64, [3]).make_initializer(D.range(3)),
        TypeError, "Expected output shapes compatible with .* but got dataset with output shapes"),
    "an iterator of another structure": (
        lambda: hr.data.Iterator.from_structure((hr.int64,)).make_initializer(D.range(3)),
        ValueError, "don't have the same nested structure"),
    "an iterator of other classes": (
        lambda: hr.data.Iterator.from_structure(hr.int64).make_initializer(sparse()), TypeError,
        "Expected output classes"),
    "no initializer": (lambda: D.range(3).make_one_shot_iterator().initializer, ValueError,
        "Iterator does not have an initializer."),
    "one shot of a placeholder": (
        lambda: D.from_tensors(placeholder()).make_one_shot_iterator(), ValueError,
        r"^Cannot capture a placeholder \(name:p, type:Placeholder\) by value.$"),
    "one shot of a variable": (lambda: D.range(3).map(lambda x: x + hr.get_variable(
        "v", [], hr.int64, use_resource=True)).make_one_shot_iterator(), ValueError,
        r"Failed to create a one-shot iterator for a dataset. .*"
        r"\(Original error: Cannot capture a stateful node \(name:v, type:VarHandleOp\)"),
    "one shot of a table": (
        lambda: D.range(3).map(table().lookup).make_one_shot_iterator(), ValueError,
        "Cannot capture a stateful node .*HashTableV2"),
    "iteration": (lambda: iter(D.range(3)), RuntimeError, "only supported inside of tf.function"),
    "the constructor": (D, TypeError, "Can't instantiate abstract class"),
    "windows without a size": (lambda: E.group_by_window(lambda x: x, lambda k, w: w), ValueError,
        "Must pass either window_size or window_size_func."),
    "keys that are vectors": (lambda: D.range(3).apply(
        E.group_by_window(lambda x: hr.stack([x, x]), lambda k, w: w, 3)), ValueError,
        "`key_func` must return a single tf.int64 scalar tensor."),
    "sizes that are vectors": (lambda: D.range(3).apply(
        E.group_by_window(lambda x: x, lambda k, w: w, window_size_func=lambda k: [k, k])),
        ValueError, "`window_size_func` must return a single tf.int64 scalar tensor."),
    "windows reduced to tensors": (lambda: D.range(3).apply(
        E.group_by_window(lambda x: x, lambda k, w: k, 3)), TypeError,
        "`reduce_func` must return a `Dataset` object."),
    "buckets without sizes": (lambda: E.bucket_by_sequence_length(hr.size, [3], [3]), ValueError,
        r"len\(bucket_batch_sizes\) must equal len\(bucket_boundaries\) \+ 1"),
    "two numbers of calls": (lambda: E.map_and_batch(lambda x: x, 3, 2, False, 2), ValueError,
        "mutually exclusive"),
    "a single element of a number": (lambda: E.get_single_element(3), TypeError,
        "`dataset` must be a `tf.data.Dataset` object."),
    "sparse batches of pairs": (
        lambda: D.range(3).enumerate().apply(E.dense_to_sparse_batch(2, [2])), TypeError,
        "requires an input whose elements have a single component"),
    "files of numbers": (lambda: hr.data.TextLineDataset(D.range(3)), TypeError,
        "must be a `tf.data.Dataset` of `tf.string` elements"),
    "files of vectors": (lambda: hr.data.TextLineDataset(D.from_tensors(["a", "b"])), TypeError,
        "must be a `tf.data.Dataset` of scalar `tf.string` elements"),
    "the structure of a number": (lambda: E.get_structure(3), TypeError,
        "`dataset_or_iterator` must be a Dataset or Iterator object"),
    "parsing without features": (lambda: E.parse_example_dataset(None), ValueError,
        "Missing: features was None."),
    "parsing of numbers": (lambda: D.range(3).apply(E.parse_example_dataset(
        {"a": hr.FixedLenFeature([], hr.int64)})), TypeError,
        "Input dataset should be a dataset of vectors of strings"),
    "a reader of queues": (lambda: E.make_batched_features_dataset(
        "x", 2, {"a": hr.FixedLenFeature([], hr.int64)}, reader=hr.TFRecordReader), TypeError,
        "The `reader` argument must return a `Dataset` object."),
    "an unknown label": (lambda: E.make_batched_features_dataset(
        "x", 2, {"a": hr.FixedLenFeature([], hr.int64)}, label_key="b"), ValueError,
        "The `label_key` provided .* must be one of the `features` keys."),
    "a window with two shifts": (lambda: hr.contrib.data.sliding_window_batch(2, 1, 1), ValueError,
        "Cannot specify both `stride` and `window_shift`"),
    "other shapes": (lambda: D.from_tensors([1, 2]).apply(
        hr.contrib.data.assert_element_shape(hr.TensorShape([3]))), ValueError,
        "are not compatible"),
    "reduction of a number": (lambda: hr.contrib.data.reduce_dataset(
        3, E.Reducer(abs, abs, abs)), TypeError, "`dataset` must be a `tf.data.Dataset` object."),
    "a capture of another graph": (lambda: of_another_graph(), ValueError,
        "defined in another function or graph"),
}  # fmt: skip


def of_another_graph():
    with hr.Graph().as_default():
        x = hr.constant(3, hr.int64)
    return D.range(3).map(lambda y: x + y)


@pytest.mark.parametrize("case", CASES)
def test_is_rejected(case):
    build, kind, words = CASES[case]
    with pytest.raises(kind, match=words):
        build()


def test_an_error_of_a_user_function_is_raised_as_it_is():
    def broken(x):
        return x / {}["nothing"]

    with pytest.raises(KeyError, match="nothing") as caught:
        D.range(3).map(broken)
    assert caught.traceback[-1].name == "broken"
