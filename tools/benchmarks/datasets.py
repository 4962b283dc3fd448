"""Input pipelines of `data.Dataset`, and JPEG files by queues; `tf` as in `programs`.

A run is a pass over the input: an iterator is initialised, and its batches are made.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from input_files import example, feature_specs
from programs import Program

RECORDS, BATCH = 2000, 200
NUMBERS = 20_000
PICTURES, PICTURE_BATCH, SIDE = 64, 16, 224
READERS = 4
FILES = 8


def record_files(tf: Any, n_files: int, n_records: int) -> list[str]:
    folder = Path(tempfile.mkdtemp())
    paths = [str(folder / f"records_{i}") for i in range(n_files)]
    for i, path in enumerate(paths):
        with tf.io.TFRecordWriter(path) as writer:
            for number in range(i, n_records, n_files):
                writer.write(example(tf, number))
    return paths


def passes(tf: Any, session: Any, dataset: Any, n_batches: int) -> Program:
    """Passes over a dataset; the check is the sum of its numbers."""
    iterator = tf.data.make_initializable_iterator(dataset)
    values = [v.values if isinstance(v, tf.SparseTensor) else v for v in flat(iterator.get_next())]
    use = tf.group(*values)
    sums = [tf.reduce_sum(tf.cast(v, tf.float64)) for v in values if v.dtype != tf.string]
    s = session()

    def run() -> None:
        s.run(iterator.initializer)
        for _ in range(n_batches):
            s.run(use)

    s.run(iterator.initializer)
    check = sum(float(sum(s.run(sums))) for _ in range(n_batches))
    return Program(run, check=check)


def flat(element: Any) -> list[Any]:
    if isinstance(element, dict):
        return [element[key] for key in sorted(element)]
    return list(element) if isinstance(element, tuple) else [element]


def dataset_records(tf: Any, session: Any) -> Program:
    """Records are parsed one by one, mixed and batched."""
    specs = feature_specs(tf)
    del specs["words"]  # their number differs, so that they make no batch
    dataset = tf.data.TFRecordDataset(record_files(tf, 1, RECORDS))
    dataset = dataset.map(lambda text: tf.parse_single_example(text, specs), READERS)
    dataset = dataset.shuffle(500, seed=1).batch(BATCH).prefetch(2)
    return passes(tf, session, dataset, RECORDS // BATCH)


def dataset_record_batches(tf: Any, session: Any) -> Program:
    """Batches of records are parsed."""
    specs = feature_specs(tf)
    dataset = tf.data.TFRecordDataset(record_files(tf, 1, RECORDS)).batch(BATCH)
    dataset = dataset.map(lambda texts: tf.parse_example(texts, specs), READERS).prefetch(2)
    return passes(tf, session, dataset, RECORDS // BATCH)


def dataset_interleave(tf: Any, session: Any) -> Program:
    """Records of several files, of which some are read at once."""
    files = tf.data.Dataset.from_tensor_slices(record_files(tf, FILES, RECORDS))
    dataset = files.interleave(tf.data.TFRecordDataset, cycle_length=READERS, block_length=4)
    specs = {"label": tf.FixedLenFeature([], tf.int64)}
    dataset = dataset.batch(BATCH).map(lambda texts: tf.parse_example(texts, specs)).prefetch(2)
    return passes(tf, session, dataset, RECORDS // BATCH)


def dataset_map(tf: Any, session: Any) -> Program:
    """Numbers: what an element costs."""
    dataset = tf.data.Dataset.range(NUMBERS).map(lambda i: i * 2 + 1).batch(BATCH)
    return passes(tf, session, dataset, NUMBERS // BATCH)


def dataset_parallel_map(tf: Any, session: Any) -> Program:
    dataset = tf.data.Dataset.range(NUMBERS).map(lambda i: i * 2 + 1, tf.data.experimental.AUTOTUNE)
    dataset = dataset.batch(BATCH).prefetch(tf.data.experimental.AUTOTUNE)
    return passes(tf, session, dataset, NUMBERS // BATCH)


def dataset_shuffle(tf: Any, session: Any) -> Program:
    """Rows of arrays, mixed and batched."""
    rng = np.random.RandomState(0)
    rows = rng.rand(NUMBERS, 32).astype(np.float32)
    labels = rng.randint(0, 10, NUMBERS).astype(np.int64)
    dataset = tf.data.Dataset.from_tensor_slices((rows, labels))
    dataset = dataset.shuffle(2000, seed=1).repeat(2).batch(BATCH)
    return passes(tf, session, dataset, 2 * NUMBERS // BATCH)


def dataset_generator(tf: Any, session: Any) -> Program:
    """Elements of a Python generator."""
    row = np.arange(32, dtype=np.float32)

    def rows() -> Any:
        for i in range(RECORDS):
            yield row, i

    dataset = tf.data.Dataset.from_generator(rows, (tf.float32, tf.int64), ([32], []))
    return passes(tf, session, dataset.batch(BATCH).prefetch(2), RECORDS // BATCH)


# ---- JPEG files ----------------------------------------------------------------------------------


def jpeg_files(tf: Any, session: Any) -> list[str]:
    """Smooth pictures under noise, of the size that is usual in ImageNet."""
    rng = np.random.RandomState(0)
    x, y = np.meshgrid(np.linspace(0, 6, 500), np.linspace(0, 5, 375))
    pixels = tf.placeholder(tf.uint8, [375, 500, 3])
    encoded = tf.image.encode_jpeg(pixels, quality=92)
    folder = Path(tempfile.mkdtemp())
    paths = []
    with session() as s:
        for i in range(PICTURES):
            waves = [np.sin(x * rng.rand() * 4 + y * rng.rand() * 4 + c) for c in range(3)]
            picture = 128 + 90 * np.stack(waves, -1) + rng.randn(375, 500, 3) * 9
            paths.append(str(folder / f"{i}.jpg"))
            text = s.run(encoded, {pixels: picture.clip(0, 255).astype(np.uint8)})
            Path(paths[-1]).write_bytes(text)
    return paths


def resized(tf: Any, path: Any) -> Any:
    """The whole picture, in the size of the network."""
    picture = tf.image.decode_jpeg(tf.read_file(path), channels=3)
    small = tf.image.resize_images(picture, [SIDE, SIDE])
    small.set_shape([SIDE, SIDE, 3])
    return small


def cropped(tf: Any, path: Any) -> Any:
    """A window of the picture; only the window is decoded."""
    text = tf.read_file(path)
    shape = tf.image.extract_jpeg_shape(text)
    top, left = (shape[0] - SIDE) // 2, (shape[1] - SIDE) // 2
    window = tf.image.decode_and_crop_jpeg(text, tf.stack([top, left, SIDE, SIDE]), channels=3)
    window.set_shape([SIDE, SIDE, 3])
    return tf.cast(window, tf.float32)


def dataset_jpeg(tf: Any, session: Any) -> Program:
    return jpeg_dataset(tf, session, resized)


def dataset_jpeg_crop(tf: Any, session: Any) -> Program:
    return jpeg_dataset(tf, session, cropped)


def jpeg_dataset(tf: Any, session: Any, picture: Any) -> Program:
    dataset = tf.data.Dataset.from_tensor_slices(jpeg_files(tf, session))
    dataset = dataset.map(lambda path: picture(tf, path), tf.data.experimental.AUTOTUNE)
    dataset = dataset.batch(PICTURE_BATCH).prefetch(tf.data.experimental.AUTOTUNE)
    return passes(tf, session, dataset, PICTURES // PICTURE_BATCH)


def queue_jpeg(tf: Any, session: Any) -> Program:
    """The files of a queue; threads decode, crop and batch them until the process ends."""
    names = tf.train.string_input_producer(jpeg_files(tf, session), shuffle=False)
    path = names.dequeue()
    batch = tf.train.batch([cropped(tf, path)], PICTURE_BATCH, num_threads=2, capacity=32)
    total = tf.reduce_sum(tf.cast(batch, tf.float64))
    s = session()
    tf.train.start_queue_runners(s)

    def run() -> None:
        for _ in range(PICTURES // PICTURE_BATCH):
            s.run(batch.op)

    return Program(run, check=sum(float(s.run(total)) for _ in range(PICTURES // PICTURE_BATCH)))
