"""Writes small event files with other people's writers: python write_logs.py WRITER FOLDER.

Runs in their environments, so it imports nothing of ours. WRITER is tf1, tf2, tensorboard or torch.
"""

from __future__ import annotations

import math
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np  # noqa: E402

WALL = 1_700_000_000.0
STEPS = 6
VALUES = (0.1, -1e30, float("nan"), float("inf"), 1e-40, 3.0)


def picture(step: int) -> np.ndarray:
    """A small image, [8, 8, 3] uint8."""
    return np.full((8, 8, 3), 40 * step, np.uint8)


def write_tf1(folder: str) -> None:
    """TensorFlow's FileWriter, with graph, session log and run metadata."""
    import tensorflow as tf

    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], "x")
        scalar = tf1.summary.scalar("loss", x)
        histogram = tf1.summary.histogram("weights", tf.fill([10], x))
        image = tf1.summary.image("filters", tf.fill([2, 4, 4, 3], x), max_outputs=2)
        text = tf1.summary.text("note", tf.as_string(x))
        with tf1.Session(graph=graph) as session, tf1.summary.FileWriter(folder, graph) as writer:
            log = tf1.SessionLog(status=tf1.SessionLog.START)
            writer.add_session_log(log, 0)
            for step, value in enumerate(VALUES):
                fetches = [scalar, text, image] if math.isfinite(value) else [scalar, text]
                fetches += [histogram] if abs(value) < 1e20 else []
                for summary in session.run(fetches, {x: value}):
                    writer.add_summary(summary, step)
            metadata = tf1.RunMetadata()
            session.run(scalar, {x: 1.0}, tf1.RunOptions(trace_level=0), metadata)
            writer.add_run_metadata(metadata, "step_9", 9)


def write_tf2(folder: str) -> None:
    """TensorFlow 2's summaries: tensors whose metadata comes once."""
    import tensorflow as tf

    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        for step, value in enumerate(VALUES):
            tf.summary.scalar("loss", value, step, description="what it costs")
            tf.summary.scalar("deep/accuracy", np.float64(value), step)
            tf.summary.histogram("weights", np.arange(10.0) * step, step, buckets=5)
            tf.summary.image("filters", picture(step)[None], step)
            tf.summary.text("note", f"**step** {step}", step)
            if step < 2:
                tf.summary.audio("sound", np.zeros((1, 20, 1), np.float32), 8000, step)
    writer.close()


def write_tensorboard(folder: str) -> None:
    """tensorboard's own writer, with the summaries of its plugins."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import api
    from tensorboard.plugins.pr_curve import summary as pr_curve
    from tensorboard.summary import Writer
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    events = EventFileWriter(folder, filename_suffix=".plugins")

    def add(summary: Summary, step: int) -> None:
        summary = Summary.FromString(summary.SerializeToString())
        events.add_event(Event(wall_time=WALL + step, step=step, summary=summary))

    add(api.hparams_pb({"rate": 0.1, "name": "adam", "wide": True}), 0)
    for step in range(3):
        labels = np.array([True, False, True, False])
        guesses = np.array([0.9, 0.2, 0.4, 0.6]) ** (step + 1)
        add(pr_curve.raw_data_pb("pr", *_pr_counts(labels, guesses)), step)
        value = Summary.Value(tag="loss", simple_value=VALUES[step])
        add(Summary(value=[value]), step)
    events.close()
    writer = Writer(folder)
    for step, value in enumerate(VALUES):
        writer.add_scalar("written/loss", value, step, wall_time=WALL + step)
    writer.close()


def _pr_counts(labels: np.ndarray, guesses: np.ndarray) -> tuple:
    thresholds = np.linspace(0, 1, 5)
    above = guesses[None] >= thresholds[:, None]
    tp = (above & labels).sum(1)
    fp = (above & ~labels).sum(1)
    fn = labels.sum() - tp
    tn = (~labels).sum() - fp
    precision = tp / np.maximum(tp + fp, 1)
    recall = tp / np.maximum(tp + fn, 1)
    return tp, fp, tn, fn, precision, recall, 5


def write_torch(folder: str) -> None:
    """PyTorch's SummaryWriter."""
    import torch
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder, purge_step=2) as writer:
        for step, value in enumerate(VALUES):
            wall = WALL + step
            writer.add_scalar("loss", value, step, walltime=wall)
            writer.add_scalar("new/loss", value, step, walltime=wall, new_style=True)
            writer.add_scalar("double/loss", value, step, wall, True, True)
            weights = torch.arange(10.0) * step
            writer.add_histogram("weights", weights, step, bins=5, walltime=wall)
            writer.add_image("filters", picture(step), step, wall, dataformats="HWC")
            writer.add_text("note", f"**step** {step}", step, walltime=wall)
            labels = torch.tensor([1, 0, 1, 0])
            guesses = torch.tensor([0.9, 0.2, 0.4, 0.6])
            writer.add_pr_curve("pr", labels, guesses, step, num_thresholds=5, walltime=wall)
        writer.add_custom_scalars({"all": {"losses": ["Multiline", ["loss", "new/loss"]]}})
        vertices = torch.tensor([[[1.0, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]])
        faces = torch.tensor([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]])
        writer.add_mesh("mesh", vertices, faces=faces, global_step=0, walltime=WALL)
        model = torch.nn.Sequential(torch.nn.Linear(2, 2))
        writer.add_graph(model, torch.zeros(1, 2))


if __name__ == "__main__":
    WRITERS = {
        "tf1": write_tf1,
        "tf2": write_tf2,
        "tensorboard": write_tensorboard,
        "torch": write_torch,
    }
    WRITERS[sys.argv[1]](sys.argv[2])
