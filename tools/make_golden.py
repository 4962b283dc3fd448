"""Writes the golden files of packages/formats/tests/golden, with TensorFlow.

Run it in an environment that has TensorFlow (tox -e peer has); the tests that read the files need
none. Values are fixed, so that a second run changes nothing but times and names of hosts.

    .peers/tensorflow/bin/python tools/make_golden.py [FOLDER]
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_resource_variables()  # both kinds occur: only the bias is one
FOLDER = Path(__file__).parents[1] / "packages" / "formats" / "tests" / "golden"

DTYPES = {
    "half": np.array([1.5, -2.0, 65504.0], np.float16),
    "bfloat16": np.array([1.5, -2.0, 3.0], tf.bfloat16.as_numpy_dtype),
    "float": np.array([[1.5, -0.0], [np.inf, 3.4e38]], np.float32),
    "double": np.array([1e300, -1.0]),
    "int8": np.array([-128, 127], np.int8),
    "int16": np.array([-32768, 32767], np.int16),
    "int32": np.array([-(2**31), 2**31 - 1], np.int32),
    "int64": np.array([-(2**63), 2**63 - 1], np.int64),
    "uint8": np.array([0, 255], np.uint8),
    "uint16": np.array([0, 65535], np.uint16),
    "uint32": np.array([0, 2**32 - 1], np.uint32),
    "uint64": np.array([0, 2**64 - 1], np.uint64),
    "complex64": np.array([1 + 2j, -3.5j], np.complex64),
    "complex128": np.array([1 + 2j, -3.5j]),
    "bool": np.array([[True], [False]]),
    "string": np.array([b"a", b"", b"\x00\xff"], object),
    "float8_e4m3fn": np.array([1.5, 448.0], tf.dtypes.experimental.float8_e4m3fn.as_numpy_dtype),
    "float8_e5m2": np.array([1.5, 57344.0], tf.dtypes.experimental.float8_e5m2.as_numpy_dtype),
}


def build_model() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """A model of a partitioned matrix, a resource variable and a step counter."""
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    with v1.variable_scope("layer"):
        weights = v1.get_variable(
            "weights",
            initializer=tf.constant(np.arange(15, dtype=np.float32).reshape(3, 5)),
            partitioner=v1.fixed_size_partitioner(2, axis=1),
        )
        bias = v1.get_variable("bias", initializer=np.full(5, 0.5, np.float32), use_resource=True)
    v1.train.get_or_create_global_step()
    with v1.device("/cpu:0"):
        logits = tf.matmul(x, tf.convert_to_tensor(weights), name="logits") + bias
    output = tf.nn.relu(logits, name="output")
    loss = tf.reduce_mean(tf.square(output), name="loss")
    return x, output, loss


def write_graph(folder: Path) -> None:
    with tf.Graph().as_default() as graph:
        x, output, loss = build_model()
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, v1.train.get_global_step())
        v1.disable_control_flow_v2()  # Enter, Merge, Switch, ... and not While
        i, total = tf.while_loop(
            lambda i, s: i < 10, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)]
        )
        tf.identity(total, name="sum")
        tf.cond(i > 3, lambda: total, lambda: -total, name="choice")
        tf.identity(tf.function(lambda a: a + 1)(total), name="called")
        definition = graph.as_graph_def()
        v1.train.write_graph(definition, str(folder), "graph.pb", as_text=False)
        v1.train.write_graph(definition, str(folder), "graph.pbtxt", as_text=True)


def write_checkpoint(folder: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        build_model()
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(max_to_keep=3)
        here = Path.cwd()
        os.chdir(folder)  # the state file keeps the path as it is given
        saver.save(session, "model.ckpt", global_step=7)
        os.chdir(here)
    names = list(DTYPES)
    tf.raw_ops.SaveV2(
        prefix=str(folder / "dtypes.ckpt"),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[tf.constant(v.tolist() if n == "string" else v) for n, v in DTYPES.items()],
    )


def write_tensors(folder: Path) -> None:
    with tf.io.TFRecordWriter(str(folder / "tensors.tfrecord")) as writer:
        for value in DTYPES.values():
            values = value.tolist() if value.dtype == object else value
            writer.write(tf.make_tensor_proto(values).SerializeToString())
        for compressed in (tf.make_tensor_proto(7, shape=[2, 3]),):
            writer.write(compressed.SerializeToString())


def write_records(folder: Path) -> None:
    feature = tf.train.Feature
    for name, kind in (("records.tfrecord", ""), ("records.gz", "GZIP"), ("records.zlib", "ZLIB")):
        with tf.io.TFRecordWriter(str(folder / name), tf.io.TFRecordOptions(kind)) as writer:
            for i in range(3):
                features = {
                    "label": feature(int64_list=tf.train.Int64List(value=[i, -i])),
                    "weight": feature(float_list=tf.train.FloatList(value=[i / 2])),
                    "name": feature(bytes_list=tf.train.BytesList(value=[b"n%d" % i])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString(deterministic=True))
            writer.write(b"")


def write_events(folder: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        build_model()
        v1.summary.scalar("loss", tf.constant(0.25))
        v1.summary.histogram("weights", tf.constant([-1.0, 0.0, 0.5, 2.0]))
        v1.summary.image("picture", tf.reshape(tf.range(12.0), [1, 2, 2, 3]))
        v1.summary.text("note", tf.constant("hello"))
        writer = v1.summary.FileWriter(str(folder / "events"), graph)
        metadata = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        summary = session.run(v1.summary.merge_all(), options=options, run_metadata=metadata)
        writer.add_summary(summary, 3)
        writer.add_run_metadata(metadata, "step3", 3)
        writer.add_session_log(v1.SessionLog(status=v1.SessionLog.CHECKPOINT), 3)
        writer.close()
    (file,) = (folder / "events").iterdir()
    file.rename(folder / "events" / "events.out.tfevents.1700000000.golden")


def write_saved_model(folder: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x, output, _ = build_model()
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(
            session, str(folder / "saved_model"), inputs={"x": x}, outputs={"y": output}
        )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for write in (
        write_graph,
        write_checkpoint,
        write_tensors,
        write_records,
        write_events,
        write_saved_model,
    ):
        write(folder)
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    print(f"{folder}: {size} bytes, by TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
