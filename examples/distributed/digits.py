"""Train the network of the handwritten digits on several workers and parameter servers.

    python examples/distributed/digits.py --launch            # 2 workers, 2 parameter servers, here
    python examples/distributed/digits.py --launch --sync     # averages the workers' gradients
    headrace-launch --workers 2 --ps 2 examples/distributed/digits.py
    headrace-launch --engine ray --workers 2 --ps 2 examples/distributed/digits.py
    python examples/distributed/digits.py                     # one process, no servers

The digits are those of examples/digits.py: --data or --mnist names them; tools/quickstart.py has
fetched them to .quickstart/data. Ctrl-C stops it; the same command continues from there.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import between_graph
import numpy as np
from digits_data import add_source, folds_of, read_source, shifted
from digits_model import HIDDEN, LEARNING_RATE, build_network

import headrace.graph as tf

TITLE = "distributed_digits"
FETCHED = Path(__file__).resolve().parents[2] / ".quickstart" / "data"
FOLD = 0  # held out


def main(arguments: list[str] | None = None) -> int:
    parser = between_graph.parser(TITLE, __doc__, steps=1500, batch=64)
    add_source(parser, required=False)
    options = parser.parse_args(arguments)
    if options.launch:
        return between_graph.launch(options)
    if not options.data and not options.mnist:
        found = sorted(FETCHED.glob("*.whl"))
        if not found:
            parser.error("name the digits with --data or --mnist, or run tools/quickstart.py first")
        options.data = found[-1]
    images, labels = read_source(options)
    content = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()[:16]
    settings = {"data": content, "steps": options.steps}  # the rate depends on the last step

    def build(task: between_graph.Task) -> between_graph.Model:
        return build_model(options, images, labels)

    return between_graph.run(options, TITLE, build, settings)


def build_model(
    options: argparse.Namespace, images: np.ndarray, labels: np.ndarray
) -> between_graph.Model:
    """Adds the network to the default graph, on the devices of the scope."""
    test = folds_of(labels) == FOLD
    network = build_network(images.shape[1])
    # From the step in the graph, since the chief applies gradients that others have computed.
    rate = tf.train.cosine_decay(LEARNING_RATE, tf.train.get_global_step(), options.steps)
    tf.summary.scalar("rate", rate)
    optimizer = tf.train.AdamOptimizer(rate)

    def feed(step: int, replica: int) -> dict[Any, Any]:
        pixels, digits, kept = batch(
            images[~test], labels[~test], options.batch, [options.seed, replica, step]
        )
        return {network.images: pixels, network.labels: digits, network.kept: kept}

    def report(session: Any) -> str:
        predicted = session.run(network.predictions, {network.images: images[test]})
        accuracy = np.mean(predicted == labels[test])
        return f"{accuracy:.2%} of {test.sum()} held-out digits"

    gradients = optimizer.compute_gradients(network.loss)
    return between_graph.Model(network.loss, optimizer, gradients, feed, report)


def batch(
    images: np.ndarray, labels: np.ndarray, size: int, seed: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws examples, shifts them, and draws what dropout keeps.

    Returns: images [size, side, side, 1], labels [size], factors [size, HIDDEN].
    """
    rng = np.random.RandomState(seed)
    at = rng.randint(0, len(images), size)
    pixels = shifted(images[at], rng)
    return pixels, labels[at], 2.0 * (rng.random_sample((size, HIDDEN)) < 0.5)


if __name__ == "__main__":
    sys.exit(main())
