"""Pipelines that TensorFlow and Headrace build; `m` is the module of either."""

from __future__ import annotations

import collections

import numpy as np

Pair = collections.namedtuple("Pair", ["first", "second"])


def tensors(m):
    return m.data.Dataset.from_tensors((1, {"b": [1.0, 2.0], "a": "x"}))


def slices(m):
    values = {"a": np.arange(6).reshape(3, 2), "b": (["x", "y", "z"], [0.5, 1.5, 2.5])}
    return m.data.Dataset.from_tensor_slices(values)


def named_tuples(m):
    pairs = m.data.Dataset.from_tensor_slices(Pair([1, 2, 3], [[1.0], [2.0], [3.0]]))
    return pairs.map(lambda p: Pair(p.first + 1, p.second * 2.0)).batch(2)


def sparse_slices(m):
    x = m.SparseTensor([[0, 1], [2, 0], [2, 2]], [1.0, 2.0, 3.0], [3, 4])
    dataset = m.data.Dataset.from_tensor_slices({"x": x, "i": [0, 1, 2]})
    return dataset.map(lambda d: (d["x"], d["i"])).batch(2)


def rows_of_sparse(m):
    x = m.SparseTensor([[0, 1], [2, 0], [2, 2]], [1.0, 2.0, 3.0], [3, 4])
    return m.data.Dataset.from_sparse_tensor_slices(x)


def ranges(m):
    ds = m.data.Dataset
    return ds.range(2, 20, 3).concatenate(ds.range(3)).skip(1).take(6).repeat(2)


def numbered(m):
    return m.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(5).prefetch(2)


def zipped(m):
    ds = m.data.Dataset
    return ds.zip({"a": ds.range(4), "b": (ds.range(10, 14), ds.range(7).shard(2, 1))})


def filtered(m):
    return m.data.Dataset.range(10).filter(lambda x: m.equal(x % 3, 0)).map(lambda x: (x, x * x))


def mapped_in_parallel(m):
    outer = m.constant([10, 20], m.int64)
    return m.data.Dataset.range(7).map(lambda x: x + outer, num_parallel_calls=3).cache()


def legacy_functions(m):
    outer = m.constant(3, m.int64)
    dataset = m.data.Dataset.range(7).map_with_legacy_function(lambda x: x * outer)
    return dataset.filter_with_legacy_function(lambda x: x > outer)


def padded(m):
    dataset = m.data.Dataset.range(1, 8).map(lambda n: (m.fill([n], n), m.as_string(n)))
    return dataset.padded_batch(3, ([None], []), padding_values=(m.constant(-1, m.int64), "?"))


def padded_to_sizes(m):
    dataset = m.data.Dataset.range(1, 4).map(lambda n: {"x": m.fill([n, 2], n)})
    return dataset.padded_batch(2, {"x": [5, None]}, drop_remainder=True)


def nested(m):
    dataset = m.data.Dataset.range(1, 4)
    return dataset.flat_map(lambda n: m.data.Dataset.range(n).map(lambda k: k + 10 * n))


def interleaved(m):
    dataset = m.data.Dataset.range(1, 6)
    return dataset.interleave(
        lambda n: m.data.Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2
    )


def interleaved_in_parallel(m):
    dataset = m.data.Dataset.range(1, 6)
    return dataset.interleave(
        lambda n: m.data.Dataset.from_tensors(n).repeat(n), 3, 1, num_parallel_calls=2
    )


def windows(m):
    dataset = m.data.Dataset.range(9).map(lambda x: (x, 2 * x)).window(4, 3, 2)
    return dataset.flat_map(lambda a, b: m.data.Dataset.zip((a.batch(4), b.batch(4))))


def unbatched(m):
    x = m.SparseTensor([[0, 1], [1, 0], [3, 2]], [1.0, 2.0, 3.0], [4, 3])
    dataset = m.data.Dataset.from_tensor_slices((np.arange(8).reshape(4, 2), x)).batch(3)
    return dataset.unbatch()


def in_buckets(m):
    dataset = m.data.Dataset.range(1, 12).map(lambda n: (m.fill([n % 6], n), n))
    bucket = m.data.experimental.bucket_by_sequence_length(
        lambda x, n: m.size(x), [3, 5], [2, 3, 2]
    )
    return dataset.apply(bucket)


def in_buckets_to_their_bound(m):
    dataset = m.data.Dataset.range(1, 12).map(lambda n: m.fill([n % 5], n))
    bucket = m.data.experimental.bucket_by_sequence_length(
        m.size, [3, 5], [2, 3, 2], pad_to_bucket_boundary=True
    )
    return dataset.apply(bucket)


def in_windows_of_a_key(m):
    grouped = m.data.experimental.group_by_window(
        lambda x: x % 3, lambda key, window: window.batch(4), window_size_func=lambda key: key + 1
    )
    return m.data.Dataset.range(14).apply(grouped)


def reduced_by_key(m):
    reducer = m.data.experimental.Reducer(
        lambda key: (m.constant(0, m.int64), key),
        lambda state, x: (state[0] + x, state[1]),
        lambda total, key: (key, total),
    )
    grouped = m.data.experimental.group_by_reducer(lambda x: (7 - x) % 3, reducer)
    return m.data.Dataset.range(10).apply(grouped)


def mapped_batches(m):
    apply = m.data.experimental.map_and_batch(lambda x: (x, -x), 3, num_parallel_calls=2)
    return m.data.Dataset.range(8).apply(apply)


def sparse_batches(m):
    dataset = m.data.Dataset.range(5).map(lambda n: m.fill([n], n))
    return dataset.apply(m.data.experimental.dense_to_sparse_batch(2, [6]))


def counters(m):
    return m.data.experimental.Counter(4, -2).take(4)


def with_options(m):
    options = m.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    return m.data.Dataset.range(4).with_options(options).batch(3)


def shuffled_with_seeds(m):
    m.set_random_seed(5)
    return m.data.Dataset.range(12).shuffle(5, seed=7).repeat(2)


def reshuffled(m):
    dataset = m.data.Dataset.range(12).shuffle(12, seed=7, reshuffle_each_iteration=False)
    return dataset.repeat(2)


def shuffled_and_repeated(m):
    apply = m.data.experimental.shuffle_and_repeat(6, 2, seed=3)
    return m.data.Dataset.range(6).apply(apply)


def random_numbers(m):
    return m.data.Dataset.range(4).map(lambda x: m.random_uniform([2], seed=4))


def random_numbers_of_the_graph(m):
    m.set_random_seed(4)
    return m.data.Dataset.range(4).map(lambda x: m.random_uniform([2]) + m.cast(x, m.float32))


def with_variables(m):
    v = m.get_variable("v", [], m.int64, m.constant_initializer(5), use_resource=True)
    return m.data.Dataset.range(4).map(lambda x: x + v)


def with_branches(m):
    return m.data.Dataset.range(6).map(lambda x: m.cond(x > 2, lambda: x * 2, lambda: -x))


def taken_while(m):
    limit = m.constant(40, m.int64)
    small = m.data.experimental.take_while(lambda x: x * x < limit)
    return m.data.Dataset.range(20).apply(small)


def without_repetitions(m):
    words = m.data.Dataset.from_tensor_slices(["a", "bc", "a", "", "bc", "", "d"])
    return words.apply(m.data.experimental.unique())


def without_errors(m):
    numbers = m.data.Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0])
    inverse = numbers.map(lambda x: m.check_numerics(1.0 / x, "infinite"))
    return inverse.apply(m.data.experimental.ignore_errors())


def scanned(m):
    start = (m.constant(0, m.int64), "")

    def step(state, x):
        total = state[0] + x
        return (total, m.as_string(x)), {"sum": total, "before": state[1]}

    return m.data.Dataset.range(7).apply(m.data.experimental.scan(start, step))


def scanned_with_growing_state(m):
    def step(state, x):
        return m.concat([state, [x]], 0), m.size(state)

    start = m.constant([], m.int64)
    return m.data.Dataset.range(4).apply(m.data.experimental.scan(start, step))


def chosen(m):
    ds = m.data.Dataset
    datasets = [ds.range(2), ds.range(10, 13), ds.range(20, 29)]
    choices = ds.from_tensor_slices(m.constant([0, 1, 2, 2, 0, 0, 1, 0, 2, 1, 1, 2], m.int64))
    return m.data.experimental.choose_from_datasets(datasets, choices)


def sampled(m):
    m.set_random_seed(7)
    ds = m.data.Dataset
    datasets = [ds.range(8), ds.range(10, 18), ds.range(20, 28)]
    return m.data.experimental.sample_from_datasets(datasets, [0.2, 0.3, 0.5], seed=3)


def sampled_evenly(m):
    m.set_random_seed(7)
    ds = m.data.Dataset
    return m.data.experimental.sample_from_datasets([ds.range(8), ds.range(10, 18)], seed=3)


def sampled_with_changing_weights(m):
    ds = m.data.Dataset
    weights = ds.from_tensor_slices([[0.9, 0.1], [0.1, 0.9]]).repeat()
    datasets = [ds.range(8), ds.range(10, 18)]
    return m.data.experimental.sample_from_datasets(datasets, weights, seed=3)


def random_bits(m):
    return m.data.experimental.RandomDataset(seed=11).batch(3).take(4)


def resampled(m):
    dataset = m.data.Dataset.range(90)
    apply = m.data.experimental.rejection_resample(
        lambda x: m.cast(x % 3, m.int32), [0.5, 0.3, 0.2], [0.4, 0.3, 0.3], seed=5
    )
    return dataset.apply(apply).take(30)


def resampled_by_estimates(m):
    dataset = m.data.Dataset.range(90)
    apply = m.data.experimental.rejection_resample(
        lambda x: m.cast(x % 3, m.int32), [0.5, 0.3, 0.2], seed=5
    )
    return dataset.apply(apply).take(30)


def with_thread_options(m):
    options = m.data.Options()
    options.experimental_threading.max_intra_op_parallelism = 1
    options.experimental_threading.private_threadpool_size = 2
    return m.data.Dataset.range(3).with_options(options)


PROGRAMS = [
    tensors, slices, named_tuples, sparse_slices, rows_of_sparse, ranges, numbered, zipped,
    filtered, mapped_in_parallel, legacy_functions, padded, padded_to_sizes, nested, interleaved,
    interleaved_in_parallel, windows, unbatched, in_buckets, in_buckets_to_their_bound,
    in_windows_of_a_key, reduced_by_key, mapped_batches, sparse_batches, counters, with_options,
    shuffled_with_seeds, reshuffled, shuffled_and_repeated, random_numbers,
    random_numbers_of_the_graph, with_variables, with_branches,
    taken_while, without_repetitions, without_errors, scanned, scanned_with_growing_state, chosen,
    sampled, sampled_evenly, sampled_with_changing_weights, random_bits, resampled,
    resampled_by_estimates, with_thread_options,
]  # fmt: skip
