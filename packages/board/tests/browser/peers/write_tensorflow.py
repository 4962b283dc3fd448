"""Writes every kind that TensorFlow's writers can: python write_tensorflow.py PART FOLDER.

PART is tf2 (tf.summary and tensorboard's plugins) or tf1 (tf.compat.v1 and Summary messages). Runs
where TensorFlow is, so it imports nothing of ours.
"""

from __future__ import annotations

import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

STEPS = range(0, 50, 5)
VERTICES = np.array([[[1.0, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]], np.float32)
COLOURS = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255]]], np.uint8)
FACES = np.array([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]], np.int32)
LABELS = np.random.default_rng(3).integers(0, 2, 200).astype(bool)


def picture(step: int) -> np.ndarray:
    """[24, 32, 3] uint8: a gradient that grows brighter with the step, with a white corner."""
    y, x = np.mgrid[:24, :32]
    image = np.stack([x * 8, y * 10, np.full_like(x, step * 5)], 2).astype(np.uint8)
    image[:4, :4] = 255
    return image


def guesses(step: int) -> np.ndarray:
    random = np.random.default_rng(step).random(200)
    return np.clip(0.5 * random + LABELS * step / 100, 0, 1).astype(np.float32)


def write_tf2(folder: str) -> None:
    main = os.path.join(folder, "main")
    with tf.summary.create_file_writer(main).as_default():
        for step in STEPS:
            write_step(step)
        write_rare_values()
        write_plugins()
    with tf.summary.create_file_writer(os.path.join(folder, "traced")).as_default():
        write_traces(os.path.join(folder, "traced"))
    write_projector(main)
    write_sweep(os.path.join(folder, "sweep"))


def write_step(step: int) -> None:
    tf.summary.scalar("train/loss", 2 / (step + 1), step, description="What is *minimized*.")
    tf.summary.scalar("train/accuracy", step / 50, step)
    weights = np.random.default_rng(step).normal(step / 50, 1, 1000)
    tf.summary.histogram("weights/normal", weights, step)
    tf.summary.histogram("weights/coarse", weights, step, buckets=5)
    tf.summary.histogram("weights/constant", np.full(10, 0.5), step)
    tf.summary.histogram("weights/empty", np.zeros(0), step)
    image = picture(step)
    tf.summary.image("image/colour", image[None], step)
    tf.summary.image("image/grey", image[None, :, :, :1], step)
    tf.summary.image("image/float", image[None] / 255, step)
    tf.summary.image("image/batch", np.stack([image, 255 - image]), step, max_outputs=2)
    if step % 10 == 0:
        tf.summary.text("text/note", f"**step** {step}\n\n|a|b|\n|-|-|\n|1|2|", step)
        tf.summary.text("text/table", [["a", "b"], ["c", str(step)]], step)
    if step in (0, 10):
        tone = 0.5 * np.sin(np.arange(4410) * 2 * np.pi * 440 / 44100)
        tf.summary.audio("sound/tone", tone.astype(np.float32)[None, :, None], 44100, step)
        pair = np.stack([tone, -tone]).astype(np.float32)[:, :, None]
        tf.summary.audio("sound/batch", pair, 44100, step, max_outputs=2)


def write_rare_values() -> None:
    """Values that are not finite, tensors without a plugin, and a hostile text."""
    for step, value in enumerate((1.0, float("nan"), float("inf"), 4.0)):
        tf.summary.scalar("not/finite", value, step)
        tf.summary.write("tensor/matrix", tf.reshape(tf.range(6) + step, [2, 3]), step)
    tf.summary.write("tensor/words", tf.constant(["a", "b"]), 0)
    tf.summary.text("text/hostile", "<script>alert(1)</script> <img src=http://x.test/a.png>", 0)


def write_plugins() -> None:
    """Summaries of tensorboard's plugins: PR curves, meshes, layouts of charts."""
    from tensorboard.plugins.custom_scalar import layout_pb2
    from tensorboard.plugins.custom_scalar import summary as layouts
    from tensorboard.plugins.mesh import summary_v2 as meshes
    from tensorboard.plugins.pr_curve import summary as pr_curves

    def add(summary: Any, step: int) -> None:
        tf.summary.experimental.write_raw_pb(summary.SerializeToString(), step)

    for step in STEPS:
        add(pr_curves.pb("pr/curve", LABELS, guesses(step), num_thresholds=21), step)
    for step in (0, 10):
        grown = VERTICES * (1 + step / 10)
        meshes.mesh("mesh/solid", grown, colors=COLOURS, faces=FACES, step=step)
    meshes.mesh("mesh/points", VERTICES, step=0, description="Points *only*.")
    multiline = layout_pb2.MultilineChartContent(tag=["train/.*"])
    margin = layout_pb2.MarginChartContent(
        series=[
            layout_pb2.MarginChartContent.Series(
                value="train/loss", lower="train/accuracy", upper="train/loss"
            )
        ]
    )
    charts = [
        layout_pb2.Chart(title="both", multiline=multiline),
        layout_pb2.Chart(title="margin", margin=margin),
    ]
    category = layout_pb2.Category(title="Training", chart=charts)
    add(layouts.pb(layout_pb2.Layout(category=[category])), 0)


def write_traces(folder: str) -> None:
    """A function's graph with its profile, and one without."""

    @tf.function
    def layer(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("hidden"):
            return tf.nn.relu(tf.matmul(x, w))

    x = tf.ones([8, 8])
    tf.summary.trace_on(graph=True, profiler=True, profiler_outdir=folder)
    layer(x, x)
    tf.summary.trace_export("with profile", step=0)
    tf.summary.trace_on(graph=True)
    layer(tf.ones([4, 8]), x)
    tf.summary.trace_export("graph alone", step=1)
    for step in STEPS:
        tf.summary.scalar("train/loss", 3 / (step + 1), step)


def write_projector(folder: str) -> None:
    from tensorboard.plugins import projector

    points = np.sin(np.arange(80, dtype=np.float32).reshape(20, 4))
    checkpoint = tf.train.Checkpoint(points=tf.Variable(points))
    checkpoint.save(os.path.join(folder, "model.ckpt"))
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "points/.ATTRIBUTES/VARIABLE_VALUE"
    embedding.metadata_path = "metadata.tsv"
    with open(os.path.join(folder, "metadata.tsv"), "w") as file:
        file.write("word\tclass\n")
        file.writelines(f"word {i}\t{i % 3}\n" for i in range(20))
    projector.visualize_embeddings(folder, config)


def write_sweep(folder: str) -> None:
    from tensorboard.plugins.hparams import api

    rate = api.HParam("rate", api.RealInterval(1e-4, 1.0))
    layers = api.HParam("layers", api.Discrete([0, 1, 2, 3]), description="how many")
    adam = api.HParam("adam", api.Discrete([False, True]))
    name = api.HParam("name", api.Discrete(["n0", "n1", "n2", "n3"]))
    accuracy = api.Metric("hparam/accuracy", display_name="Accuracy")
    with tf.summary.create_file_writer(folder).as_default():
        api.hparams_config([rate, layers, adam, name], [accuracy])
    for number in range(4):
        with tf.summary.create_file_writer(os.path.join(folder, f"s{number}")).as_default():
            values = {rate: 10.0**-number, layers: number, adam: number > 1, name: f"n{number}"}
            api.hparams(values, trial_id=f"trial {number}")
            tf.summary.scalar("hparam/accuracy", number / 4, 3)


def write_tf1(folder: str) -> None:
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], "x")
        with tf.name_scope("layer"):
            y = tf.matmul(tf.fill([8, 8], x), tf.ones([8, 8]), name="product")
        summaries = [
            tf1.summary.scalar("train/loss", 2 / (x + 1)),
            tf1.summary.histogram("weights/normal", y + tf.range(8.0)),
            tf1.summary.image("image/batch", tf.fill([2, 24, 32, 3], x / 50), max_outputs=2),
            tf1.summary.audio("sound/tone", tf.fill([1, 4410, 1], x / 100), 44100),
            tf1.summary.text("text/note", tf.strings.join(["**step** ", tf.as_string(x)])),
            tf1.summary.tensor_summary("tensor/matrix", tf.reshape(tf.range(6.0), [2, 3]) + x),
        ]
        main = os.path.join(folder, "main")
        with tf1.Session(graph=graph) as session, tf1.summary.FileWriter(main, graph) as writer:
            writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.START), 0)
            for step in STEPS:
                for one in session.run(summaries, {x: float(step)}):
                    writer.add_summary(one, step)
                value = tf1.Summary.Value(tag="by hand", simple_value=step / 2)
                writer.add_summary(tf1.Summary(value=[value]), step)
            for step in (0, 20):
                metadata = tf1.RunMetadata()
                options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
                session.run(y, {x: 1.0}, options, metadata)
                writer.add_run_metadata(metadata, f"step {step}", step)
    write_restart(os.path.join(folder, "restarted"))


def write_restart(folder: str) -> None:
    """Twenty steps, and a second writer that begins again at step 12."""
    tf1 = tf.compat.v1
    for begin, end, base in ((0, 20, 100.0), (12, 30, 200.0)):
        with tf.Graph().as_default():
            suffix = f".{begin}"
            with tf1.summary.FileWriter(folder, filename_suffix=suffix) as writer:
                log = tf1.SessionLog(status=tf1.SessionLog.START)
                writer.add_session_log(log, begin)
                for step in range(begin, end):
                    value = tf1.Summary.Value(tag="train/loss", simple_value=base + step)
                    writer.add_summary(tf1.Summary(value=[value]), step)


if __name__ == "__main__":
    {"tf1": write_tf1, "tf2": write_tf2}[sys.argv[1]](sys.argv[2])
