"""A made data set in the form of CIFAR-10: pictures of ten shapes in TFRecord files."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from resumable import whole

import headrace.graph as tf

SIDE, CROP = 32, 24
CLASSES = (
    "disc", "ring", "square", "frame", "cross", "saltire", "rows", "columns", "chequers", "dots",
)  # fmt: skip
FILES = 5
HELD_OUT = 500


def add_data(parser: argparse.ArgumentParser) -> None:
    """Adds the option that says how much data to make."""
    parser.add_argument("--images", type=whole(FILES), default=5000, help="to learn from (5000)")


def make(folder: Path, images: int) -> list[str]:
    """Writes the files of the data set unless they are there.

    Returns: the paths of FILES files; each has an equal part of the images.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"shapes-{images}-{i + 1}.tfrecord" for i in range(FILES)]
    for i, path in enumerate(paths):
        if path.exists():
            continue
        n = len(range(i, images, FILES))
        unfinished = path.with_suffix(".part")
        with tf.python_io.TFRecordWriter(str(unfinished)) as writer:
            for picture, label in zip(*pictures(n, np.random.RandomState([1, images, i]))):
                writer.write(example(picture, label).SerializeToString())
        os.replace(unfinished, path)  # a file that is there is whole
    return [str(path) for path in paths]


def held_out() -> tuple[np.ndarray, np.ndarray]:
    """Returns: pictures and labels that are in none of the files."""
    return pictures(HELD_OUT, np.random.RandomState(2))


def example(picture: np.ndarray, label: int) -> Any:
    """Returns: a picture [SIDE, SIDE, 3] uint8 and its label as a tf.train.Example."""
    image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[picture.tobytes()]))
    number = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)]))
    return tf.train.Example(features=tf.train.Features(feature={"image": image, "label": number}))


def pictures(n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Returns: [n, SIDE, SIDE, 3] uint8, and their labels [n] int64.

    A shape has a random place, size and colour on a ground of another colour, under noise. All
    shapes are their own mirror images, since the training flips pictures.
    """
    labels = rng.randint(0, len(CLASSES), n)
    x0, y0 = rng.uniform(-4, 4, [2, n, 1, 1])
    radius = rng.uniform(6, 11, [n, 1, 1])
    grid = np.arange(SIDE) - (SIDE - 1) / 2
    x, y = (grid[None, None, :] - x0) / radius, (grid[None, :, None] - y0) / radius
    masks = shapes(*np.broadcast_arrays(x, y))
    mask = np.choose(labels[:, None, None], [masks[name] for name in CLASSES])[..., None]
    ground, colour = rng.uniform(0, 255, [2, n, 1, 1, 3])
    near = np.abs(ground - colour).max(-1, keepdims=True) < 60
    colour = np.where(near, 255 - ground, colour)
    noise = rng.normal(0, 20, [n, SIDE, SIDE, 3])
    result = np.where(mask, colour, ground) + noise
    return np.clip(result, 0, 255).astype(np.uint8), labels.astype(np.int64)


def shapes(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Returns: for each class, where its shape is; x and y are -1 to 1 within its bounds."""
    distance, box = np.hypot(x, y), np.maximum(abs(x), abs(y))
    inside = box < 1
    row, column = np.floor(y * 2.5 + 0.5) % 2 == 0, np.floor(x * 2.5 + 0.5) % 2 == 0
    return {
        "disc": distance < 1,
        "ring": (distance < 1) & (distance > 0.6),
        "square": box < 0.9,
        "frame": inside & (box > 0.6),
        "cross": inside & (np.minimum(abs(x), abs(y)) < 0.25),
        "saltire": inside & (abs(abs(x) - abs(y)) < 0.3),
        "rows": inside & row,
        "columns": inside & column,
        "chequers": inside & (row == column),
        "dots": inside & row & column,
    }


def decoded(serialized: Any) -> tuple[Any, Any]:
    """Returns: the picture [SIDE, SIDE, 3] uint8 and label [] int64 of a serialized Example."""
    features = {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }
    parsed = tf.parse_single_example(serialized, features)
    return tf.reshape(tf.decode_raw(parsed["image"], tf.uint8), [SIDE, SIDE, 3]), parsed["label"]


def distorted(picture: Any) -> Any:
    """Returns: a random crop, perhaps mirrored, of zero mean: [CROP, CROP, 3] float."""
    cropped = tf.random_crop(picture, [CROP, CROP, 3])
    mirrored = tf.image.random_flip_left_right(cropped)
    return tf.image.per_image_standardization(tf.cast(mirrored, tf.float32))


def centred(picture: Any) -> Any:
    """Returns: what `distorted` does, but of the middle of the picture."""
    cropped = tf.image.resize_image_with_crop_or_pad(picture, CROP, CROP)
    return tf.image.per_image_standardization(tf.cast(cropped, tf.float32))
