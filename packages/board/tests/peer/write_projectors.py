"""Writes an embedding and a mesh with a peer's writer: python write_projectors.py WRITER FOLDER.

Runs in their environments, so it imports nothing of ours. WRITER is tensorflow or torch.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np  # noqa: E402

POINTS = np.arange(60, dtype=np.float32).reshape(20, 3) / 7
VERTICES = np.arange(27, dtype=np.float32).reshape(1, 9, 3) / 3
FACES = np.array([[[0, 1, 2], [3, 4, 8]]], np.int32)
COLORS = np.arange(27, dtype=np.uint8).reshape(1, 9, 3) * 9


def write_tensorflow(folder: str) -> None:
    """A checkpoint with projector.visualize_embeddings, and mesh summaries."""
    import tensorflow as tf
    from tensorboard.plugins import projector
    from tensorboard.plugins.mesh import summary_v2

    tf.train.Checkpoint(points=tf.Variable(POINTS)).save(os.path.join(folder, "model.ckpt"))
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "points/.ATTRIBUTES/VARIABLE_VALUE"
    embedding.metadata_path = "metadata.tsv"
    with open(os.path.join(folder, "metadata.tsv"), "w") as file:
        file.writelines(f"word {i}\n" for i in range(len(POINTS)))
    projector.visualize_embeddings(folder, config)
    with tf.summary.create_file_writer(folder).as_default():
        summary_v2.mesh(
            "shape", VERTICES, faces=FACES, colors=COLORS, config_dict={"fov": 50}, step=3
        )


def write_torch(folder: str) -> None:
    """SummaryWriter.add_embedding and add_mesh."""
    import torch
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder) as writer:
        words = [[f"word {i}", i % 3] for i in range(len(POINTS))]
        images = torch.rand(len(POINTS), 3, 8, 8)
        writer.add_embedding(
            torch.tensor(POINTS), words, images, global_step=5, metadata_header=["word", "k"]
        )
        parts = [torch.tensor(array) for array in (VERTICES, COLORS, FACES)]
        writer.add_mesh("shape", *parts, config_dict={"fov": 50}, global_step=3)


if __name__ == "__main__":
    globals()[f"write_{sys.argv[1]}"](sys.argv[2])
