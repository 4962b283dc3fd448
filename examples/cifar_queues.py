"""Train a convolutional network on TFRecord files, which queue runners read beside the steps.

    python examples/cifar_queues.py

The program makes the files: pictures of ten shapes, in CIFAR-10's form. Ctrl-C stops it; the same
command continues from there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import cifar_data
import cifar_model
import resumable

import headrace.graph as tf

TITLE = "cifar_queues"
READERS = 2  # threads


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    settings = {name: getattr(options, name) for name in ("images", "filters", "rate")}
    return resumable.run(options, TITLE, lambda: build(options), **settings)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = resumable.parser(TITLE, __doc__, steps=600, batch=64)
    resumable.add_device(parser)
    cifar_data.add_data(parser)
    cifar_model.add_model(parser)
    return parser.parse_args(arguments)


def build(options: argparse.Namespace) -> resumable.Job:
    files = cifar_data.make(Path(options.logdir) / "data", options.images)
    images, labels = batches(files, options.batch, options.images)
    return cifar_model.job(images, labels, options)


def batches(files: list[str], batch: int, images: int) -> tuple[Any, Any]:
    """Returns: images [batch, CROP, CROP, 3] float and labels [batch] int64, without end."""
    with tf.name_scope("input"):
        picture, label = one(files)
        fewest = min(images, 1000)  # in the queue, so that batches are mixed well
        return tf.train.shuffle_batch(
            [picture, label],
            batch_size=batch,
            num_threads=READERS,
            capacity=fewest + (READERS + 1) * batch,
            min_after_dequeue=fewest,
        )


def one(files: list[str]) -> tuple[Any, Any]:
    """Returns: a distorted picture and its label; each run reads the next."""
    names = tf.train.string_input_producer(files)
    _, serialized = tf.TFRecordReader().read(names)
    picture, label = cifar_data.decoded(serialized)
    return cifar_data.distorted(picture), label


if __name__ == "__main__":
    sys.exit(main())
