"""Figure 1 of the white paper: relu(W x + b), a cost, its gradients, and the loop around them.

    python examples/linear_regression.py

Ctrl-C stops it; the same command continues from there. Known W and b make the targets, and at the
end the program prints how near it came to them.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import resumable

import headrace.graph as tf

TITLE = "linear_regression"
INPUTS, OUTPUTS = 784, 100


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    return resumable.run(options, TITLE, lambda: build(options), rate=options.rate)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = resumable.parser(TITLE, __doc__, steps=500, batch=64)
    resumable.add_device(parser)
    parser.add_argument("--rate", type=resumable.positive, default=0.05, help="of learning (0.05)")
    return parser.parse_args(arguments)


def build(options: argparse.Namespace) -> resumable.Job:
    b = tf.Variable(tf.zeros([OUTPUTS, 1]), name="b")
    W = tf.Variable(tf.random_uniform([OUTPUTS, INPUTS], -0.05, 0.05), name="W")
    x = tf.placeholder(tf.float32, [INPUTS, None], name="x")
    y = tf.placeholder(tf.float32, [OUTPUTS, None], name="y")
    relu = tf.nn.relu(tf.matmul(W, x) + b)
    # Half the squared distance, summed over the outputs and averaged over the batch.
    C = tf.reduce_mean(tf.reduce_sum(tf.square(relu - y), 0)) / 2
    db, dW = tf.gradients(C, [b, W])
    optimizer = tf.train.GradientDescentOptimizer(options.rate)
    step = tf.train.get_global_step()
    train = optimizer.apply_gradients([(db, b), (dW, W)], global_step=step)
    true_b, true_W = truth(options.seed)

    def feed(step: int) -> dict[Any, Any]:
        rng = np.random.RandomState([options.seed, step])
        inputs = rng.standard_normal([INPUTS, options.batch]).astype(np.float32)
        return {x: inputs, y: np.maximum(true_W.dot(inputs) + true_b, 0)}

    def report(session: Any) -> None:
        for name, found, true in zip("Wb", session.run([W, b]), (true_W, true_b)):
            distance = np.linalg.norm(found - true) / np.linalg.norm(true)
            print(f"{name} is {distance:.2%} of its length away from the true one")

    return resumable.Job(C, train, feed, report)


def truth(seed: int) -> Any:
    """Returns: b [OUTPUTS, 1] and W [OUTPUTS, INPUTS] of the targets, float32."""
    rng = np.random.RandomState(seed)
    return (
        rng.uniform(0, 1, [OUTPUTS, 1]).astype(np.float32),
        rng.uniform(-0.1, 0.1, [OUTPUTS, INPUTS]).astype(np.float32),
    )


if __name__ == "__main__":
    sys.exit(main())
