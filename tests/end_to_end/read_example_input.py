"""Reads the seeded input of cifar_queues in one thread; TensorFlow 1.15 runs it too.

    python read_example_input.py EXAMPLES RESULT FOLDER COUNT

RESULT becomes an .npz file of COUNT pictures and labels; FOLDER is for the files that they are in.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

EXAMPLES, RESULT, FOLDER, COUNT = sys.argv[1:]
sys.path.insert(0, EXAMPLES)
import cifar_data  # noqa: E402
import cifar_queues  # noqa: E402

tf = cifar_queues.tf


def main() -> None:
    files = cifar_data.make(Path(FOLDER), 20)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        one = cifar_queues.one(files)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        pictures, labels = zip(*[session.run(one) for _ in range(int(COUNT))])
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=60)
    np.savez(RESULT, pictures=pictures, labels=labels)


if __name__ == "__main__":
    main()
