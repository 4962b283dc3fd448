"""Trains an example some steps on given initial values and batches; TensorFlow 1.15 runs it too.

    python train_example.py EXAMPLES NAME RESULT [OPTION ...]

EXAMPLES is the folder of the examples; for TensorFlow it has copies whose import is changed. The
initial values are those of --logdir/initial.ckpt, the batches that the input of the graph gave are
in --logdir/batches.npz; who runs first makes both. RESULT becomes an .npz file of the losses, of
the seconds of each step, and of the sums of the variables that the seed alone gave.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES, NAME, RESULT = sys.argv[1:4]
sys.path.insert(0, EXAMPLES)
import resumable  # noqa: E402

tf = resumable.tf
# Tensors through which the input of an example comes; the others are fed by the example itself.
INPUTS = {
    "cifar_queues": ["images", "labels"],
    "cifar_dataset": ["images", "labels"],
    "translation": ["source", "lengths", "target", "target_lengths"],
}


def train(options: argparse.Namespace, title: str, build: Any, **settings: Any) -> int:
    """Stands in for resumable.run."""
    options.logdir.mkdir(parents=True, exist_ok=True)
    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        tf.train.get_or_create_global_step()
        with resumable.on_device(options.device):
            job = build()
        saver = tf.train.Saver()
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            resumable.check_device(session, options.device)
            resumable.initialize(session)
            seeded = [value.sum() for value in session.run(tf.trainable_variables())]
            initial = options.logdir / "initial.ckpt"
            if Path(f"{initial}.index").exists():
                saver.restore(session, str(initial))
            else:
                saver.save(session, str(initial), write_meta_graph=False)
            inputs = INPUTS.get(title, [])
            batches = read_batches(session, inputs, options) if inputs else None
            losses, seconds = [], []
            for step in range(options.steps):
                feed = job.feed(step)
                for name in inputs:
                    feed[name + ":0"] = batches[f"{name}{step}"]
                start = time.perf_counter()
                loss, _ = session.run([job.loss, job.train], feed)
                seconds.append(time.perf_counter() - start)
                losses.append(loss)
    np.savez(RESULT, losses=losses, seconds=seconds, seeded=seeded)
    return 0


def read_batches(session: Any, inputs: list[str], options: argparse.Namespace) -> Any:
    """Returns: the batches of the steps by the names of tensors, from the file if it is there."""
    path = options.logdir / "batches.npz"
    if not path.exists():
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = {}
        for step in range(options.steps):
            values = session.run([name + ":0" for name in inputs])
            found.update((f"{name}{step}", value) for name, value in zip(inputs, values))
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=60)
        np.savez(str(path), **found)
    return np.load(str(path))


if __name__ == "__main__":
    resumable.run = train
    sys.exit(importlib.import_module(NAME).main(sys.argv[4:]))
