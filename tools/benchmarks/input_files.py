"""Files as input: records read and parsed; `tf` as in `programs`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from programs import Program

RECORDS, BATCH = 2000, 200


def example(tf: Any, number: int) -> bytes:
    """A row of a table: numbers, an id, words, a thumbnail of 1 KB."""
    rng = np.random.RandomState(number)

    def numbers(values: Any) -> Any:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    def ids(values: Any) -> Any:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def texts(values: Any) -> Any:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    features = {
        "numbers": numbers(rng.randn(64).tolist()),
        "label": ids([number % 10]),
        "words": ids(rng.randint(0, 50_000, 5 + number % 40).tolist()),
        "name": texts([b"record %d" % number]),
        "thumbnail": texts([rng.bytes(1024)]),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def feature_specs(tf: Any) -> dict[str, Any]:
    return {
        "numbers": tf.FixedLenFeature([64], tf.float32),
        "label": tf.FixedLenFeature([], tf.int64),
        "words": tf.VarLenFeature(tf.int64),
        "name": tf.FixedLenFeature([], tf.string),
        "thumbnail": tf.FixedLenFeature([], tf.string),
    }


def records(tf: Any, session: Any) -> Program:
    """A pass over a TFRecord file: a reader, and parse_example of batches."""
    path = str(Path(tempfile.mkdtemp()) / "records")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(RECORDS):
            writer.write(example(tf, number))
    queue = tf.FIFOQueue(100, [tf.string], [[]])
    put = queue.enqueue(path)
    _, values = tf.TFRecordReader().read_up_to(queue, BATCH)
    parsed = tf.parse_example(values, feature_specs(tf))
    last = [parsed["numbers"], parsed["label"], parsed["words"].values]
    use = tf.group(*last, parsed["name"], parsed["thumbnail"])
    s = session()

    def run() -> None:
        s.run(put)
        for _ in range(RECORDS // BATCH):
            s.run(use)

    s.run(put)
    sums = [sum(float(value.sum()) for value in s.run(last)) for _ in range(RECORDS // BATCH)]
    return Program(run, check=sum(sums))
