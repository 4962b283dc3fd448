"""Train the network of cifar_queues on the same files, which a data.Dataset reads.

    python examples/cifar_dataset.py

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

TITLE = "cifar_dataset"
CALLS = 2  # pictures that are distorted at once


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
    pictures = dataset(files, options.batch, options.images)
    images, labels = tf.data.make_one_shot_iterator(pictures).get_next()
    return cifar_model.job(images, labels, options)


def dataset(files: list[str], batch: int, images: int) -> Any:
    """Returns: batches of images [batch, CROP, CROP, 3] float and labels [batch] int64, endless."""
    names = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
    records = names.interleave(tf.data.TFRecordDataset, cycle_length=len(files))
    records = records.shuffle(min(images, 1000)).repeat()
    pictures = records.map(one, num_parallel_calls=CALLS)
    return pictures.batch(batch, drop_remainder=True).prefetch(1)


def one(serialized: Any) -> tuple[Any, Any]:
    """Returns: a distorted picture and its label."""
    picture, label = cifar_data.decoded(serialized)
    return cifar_data.distorted(picture), label


if __name__ == "__main__":
    sys.exit(main())
