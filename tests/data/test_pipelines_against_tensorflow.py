"""Graphs with datasets that TensorFlow makes give here what they give there."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_runs import elements, run_op, session

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def tf() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_eager_execution()
    return tensorflow


def _sparse(tf: Any) -> Any:
    return tf.SparseTensor(indices=[[0, 1], [2, 0], [2, 3]], values=[7, 8, 9], dense_shape=[4, 5])


def _sum_to(tf: Any, x: Any) -> Any:
    return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), [x * 0, x * 0])[1]


def _key(tf: Any, x: Any) -> Any:
    return x % 3


# name -> a dataset, given tensorflow, its class Dataset and a folder.
PIPELINES = {
    "tensors": lambda tf, D, at: D.from_tensors((np.arange(6.0), b"text")),
    "slices": lambda tf, D, at: D.from_tensor_slices(
        (np.arange(6).reshape(3, 2), [b"a", b"b", b""])
    ),
    "sparse_slices": lambda tf, D, at: D.from_sparse_tensor_slices(_sparse(tf)),
    "range": lambda tf, D, at: D.range(10, 0, -3),
    "map": lambda tf, D, at: D.range(10).map(lambda x: (x * 2, tf.strings.as_string(x))),
    "map_of_constants": lambda tf, D, at: D.range(3).map(lambda x: 5),
    "map_identity": lambda tf, D, at: D.range(3).map(lambda x: (x, x)),
    "map_with_loop": lambda tf, D, at: D.range(6).map(lambda x: _sum_to(tf, x)),
    "map_with_condition": lambda tf, D, at: D.range(6).map(
        lambda x: tf.cond(x > 3, lambda: x * 10, lambda: x), num_parallel_calls=3
    ),
    "map_of_unknown_shapes": lambda tf, D, at: D.range(5).map(lambda x: tf.fill([x], x)),
    "map_that_calls_python": lambda tf, D, at: D.range(5).map(
        lambda x: tf.compat.v1.py_func(lambda v: v + 1, [x], tf.int64, stateful=False)
    ),
    "parallel_map": lambda tf, D, at: D.range(50).map(lambda x: x * x, num_parallel_calls=4),
    "parallel_map_tuned": lambda tf, D, at: D.range(50).map(lambda x: x * x, num_parallel_calls=-1),
    "captured": lambda tf, D, at: (lambda c: D.range(5).map(lambda x: x + c))(
        tf.constant(100, tf.int64)
    ),
    "filter": lambda tf, D, at: D.range(20).filter(lambda x: x % 3 > 0),
    "flat_map": lambda tf, D, at: D.range(6).flat_map(lambda x: D.range(x).map(lambda y: y + x)),
    "interleave": lambda tf, D, at: D.range(7).interleave(
        lambda x: D.range(x % 4), cycle_length=3, block_length=2
    ),
    "parallel_interleave": lambda tf, D, at: D.range(7).interleave(
        lambda x: D.range(x % 4), cycle_length=3, block_length=2, num_parallel_calls=2
    ),
    "batch": lambda tf, D, at: D.range(10).batch(3),
    "batch_full": lambda tf, D, at: D.range(10).batch(3, drop_remainder=True),
    "batch_of_strings": lambda tf, D, at: D.range(5).map(tf.strings.as_string).batch(2),
    "padded_batch": lambda tf, D, at: D.range(7).map(lambda x: tf.fill([x, 2], x)).padded_batch(
        3, padded_shapes=[None, 3], padding_values=tf.constant(-1, tf.int64)
    ),
    "padded_strings": lambda tf, D, at: D.range(4)
    .map(lambda x: tf.fill([x], "s"))
    .padded_batch(2, padded_shapes=[None]),
    "unbatch": lambda tf, D, at: D.range(10).batch(4).unbatch(),
    "repeat": lambda tf, D, at: D.range(3).repeat(3),
    "repeat_nothing": lambda tf, D, at: D.range(0).repeat(),
    "shuffle": lambda tf, D, at: D.range(30).shuffle(7, seed=5),
    "shuffle_repeated": lambda tf, D, at: D.range(10).shuffle(20, seed=3).repeat(3),
    "shuffle_once": lambda tf, D, at: D.range(10)
    .shuffle(4, seed=3, reshuffle_each_iteration=False)
    .repeat(2),
    "prefetch": lambda tf, D, at: D.range(10).map(lambda x: x + 1).prefetch(3),
    "prefetch_tuned": lambda tf, D, at: D.range(10).prefetch(-1),
    "cache": lambda tf, D, at: D.range(5).cache().repeat(2),
    "concatenate": lambda tf, D, at: D.range(3).concatenate(D.range(10, 12)),
    "zip": lambda tf, D, at: D.zip((D.range(3), D.range(10, 20))),
    "take": lambda tf, D, at: D.range(10).take(4),
    "skip": lambda tf, D, at: D.range(10).skip(7),
    "shard": lambda tf, D, at: D.range(10).shard(3, 1),
    "window": lambda tf, D, at: D.range(9)
    .window(3, shift=2, stride=2)
    .flat_map(lambda w: w.batch(3)),
    "window_full": lambda tf, D, at: D.range(9)
    .window(4, shift=5, drop_remainder=True)
    .flat_map(lambda w: w.batch(4)),
    "group_by_window": lambda tf, D, at: D.range(20).apply(
        tf.data.experimental.group_by_window(
            lambda x: _key(tf, x), lambda k, w: w.batch(4), window_size=4
        )
    ),
    "reduced": lambda tf, D, at: D.range(5).map(
        lambda x: D.range(x).reduce(np.int64(0), lambda s, y: s + y)
    ),
    "from_generator": lambda tf, D, at: D.from_generator(
        lambda: iter([(1, 2.0), (3, 4.0)]), (tf.int64, tf.float32)
    ),
    "lines": lambda tf, D, at: tf.compat.v1.data.TextLineDataset(
        [at + "/one.txt", at + "/two.txt"]
    ),
    "lines_zlib": lambda tf, D, at: tf.compat.v1.data.TextLineDataset(at + "/one.zlib", "ZLIB"),
    "records": lambda tf, D, at: tf.compat.v1.data.TFRecordDataset(at + "/some.tfrecord"),
    "records_read_ahead": lambda tf, D, at: tf.compat.v1.data.TFRecordDataset(
        [at + "/some.tfrecord"] * 3, num_parallel_reads=2
    ),
    "fixed_length": lambda tf, D, at: tf.compat.v1.data.FixedLengthRecordDataset(
        at + "/fixed.bin", 4, header_bytes=2, footer_bytes=3
    ),
    "fixed_length_gzip": lambda tf, D, at: tf.compat.v1.data.FixedLengthRecordDataset(
        at + "/fixed.gz", 4, header_bytes=2, footer_bytes=3, compression_type="GZIP"
    ),
    "csv": lambda tf, D, at: tf.compat.v1.data.experimental.CsvDataset(
        at + "/table.csv", [tf.int64, [b"none"], [1.5]], header=True
    ),
    "csv_columns": lambda tf, D, at: tf.compat.v1.data.experimental.CsvDataset(
        at + "/table.csv", [[0.0]], header=True, select_cols=[2]
    ),
    "many_stages": lambda tf, D, at: D.range(40)
    .filter(lambda x: x % 2 < 1)
    .map(lambda x: (x, tf.cast(x, tf.float32) / 2), num_parallel_calls=2)
    .shuffle(8, seed=1)
    .repeat(2)
    .batch(7)
    .prefetch(2),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tf: Any) -> str:
    at = tmp_path_factory.mktemp("files")
    text = b"first\nsecond\r\n\nwith\rreturn\nlast"
    (at / "one.txt").write_bytes(text)
    (at / "two.txt").write_bytes(b"x\n")
    (at / "one.zlib").write_bytes(zlib.compress(text))
    with tf.io.TFRecordWriter(str(at / "some.tfrecord")) as writer:
        for i in range(5):
            writer.write(b"record %d" % i)
    fixed = b"HH" + b"aaaabbbbcccc" + b"FFF"
    (at / "fixed.bin").write_bytes(fixed)
    with gzip.open(at / "fixed.gz", "wb") as packed:
        packed.write(fixed)
    (at / "table.csv").write_text('number,name,size\n1,"a, ""b""",2.5\n2,,\n3,"two\nlines",4\n')
    return str(at)


def _graph(tf: Any, build: Any) -> tuple[bytes, list[str], str]:
    """A graph with an initializable iterator over the dataset: bytes, tensors, initializer."""
    with tf.Graph().as_default() as graph:
        iterator = tf.compat.v1.data.make_initializable_iterator(build())
        tensors = tf.nest.flatten(iterator.get_next(), expand_composites=True)
        return (
            graph.as_graph_def().SerializeToString(),
            [t.name for t in tensors],
            (iterator.initializer.name),
        )


def _theirs(tf: Any, wire: bytes, names: list[str], init: str) -> list[tuple[Any, ...]]:
    with tf.Graph().as_default():
        tf.compat.v1.import_graph_def(tf.compat.v1.GraphDef.FromString(wire), name="")
        with tf.compat.v1.Session() as opened:
            opened.run(init)
            found = []
            try:
                while True:
                    found.append(tuple(opened.run(names)))
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_gives_what_tensorflow_gives(name: str, tf: Any, folder: str) -> None:
    if name in ("map_that_calls_python", "from_generator"):
        pytest.skip("TensorFlow's registry of Python functions is its own")
    dataset = tf.compat.v1.data.Dataset
    wire, names, init = _graph(tf, lambda: PIPELINES[name](tf, dataset, folder))
    expected = _theirs(tf, wire, names, init)
    with session() as opened:
        opened.extend(wire)
        for _ in range(2):  # an iterator can be initialised again
            run_op(opened, init)
            got = elements(opened, names)
            assert len(got) == len(expected)
            for mine, other in zip(got, expected, strict=True):
                for a, b in zip(mine, other, strict=True):
                    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
                    assert (
                        np.asarray(a).dtype == np.asarray(b).dtype or np.asarray(b).dtype == object
                    )


def test_one_shot_iterators_give_what_tensorflow_gives(tf: Any, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        dataset = tf.compat.v1.data.Dataset.range(5).map(lambda x: x * 3).batch(2)
        following = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
        wire = graph.as_graph_def().SerializeToString()
    with session() as opened:
        opened.extend(wire)
        got = elements(opened, [following.name])
    assert [list(value) for (value,) in got] == [[0, 3], [6, 9], [12]]
