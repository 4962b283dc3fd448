"""Programs whose indices and batch sizes change from run to run; `tf` as in `programs`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import models
import models_graph
import numpy as np
from programs import ITERATIONS, Program

N_SIZES = 8  # batch sizes of one round


def index_loop(tf: Any, session: Any) -> Program:
    """`x[i]` with the loop's counter."""
    return _picked_in_a_loop(tf, session, lambda x, i: x[i])


def gather_loop(tf: Any, session: Any) -> Program:
    return _picked_in_a_loop(tf, session, tf.gather)


def _picked_in_a_loop(tf: Any, session: Any, pick: Callable[[Any, Any], Any]) -> Program:
    x = tf.constant(np.arange(100, dtype=np.float32))
    body = lambda i, v: (i + 1, v + pick(x, i % 100))  # noqa: E731
    end = tf.while_loop(lambda i, v: i < ITERATIONS, body, (tf.constant(0), tf.constant(0.0)))[1]
    s = session()
    assert s.run(end) == ITERATIONS * 49.5
    return Program(lambda: s.run(end), parts=ITERATIONS)


def index_fed(tf: Any, session: Any) -> Program:
    """`x[i]` with a fed index, each time another one."""
    return _picked_by_feed(tf, session, lambda x, i: x[i])


def gather_fed(tf: Any, session: Any) -> Program:
    return _picked_by_feed(tf, session, tf.gather)


def _picked_by_feed(tf: Any, session: Any, pick: Callable[[Any, Any], Any]) -> Program:
    i = tf.placeholder(tf.int32, [])
    y = pick(tf.constant(np.arange(10_000, dtype=np.float32)), i)
    s = session()
    indices = itertools.cycle(range(10_000))
    assert s.run(y, {i: 9_999}) == 9_999
    return Program(lambda: s.run(y, {i: next(indices)}))


class _BatchSizes:
    """A training step of the row mlp, fed batches of other and other sizes."""

    def __init__(self, tf: Any, session: Any) -> None:
        model = models.mlp()
        weights = {name: tf.Variable(value) for name, value in model.weights.items()}
        self._x = tf.placeholder(tf.float32, [None, 784])
        self._labels = tf.placeholder(tf.int64, [None])
        h = models_graph.dense_layers(tf, weights, self._x)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self._labels, logits=h)
        self._step = tf.train.AdamOptimizer(1e-3).minimize(tf.reduce_mean(each))
        self._session = session()
        self._session.run(tf.global_variables_initializer())
        self._images = np.resize(model.inputs, (2_000, 784))
        self._size = 60

    def run(self) -> None:
        """One step for each of the sizes."""
        for n in range(self._size, self._size + N_SIZES):
            feed = {self._x: self._images[:n], self._labels: np.zeros(n, np.int64)}
            self._session.run(self._step, feed)

    def other_sizes(self, n: int) -> None:
        self._size += N_SIZES


def batch_new(tf: Any, session: Any) -> Program:
    """Steps of sizes that the session has not seen."""
    steps = _BatchSizes(tf, session)
    steps.run()
    return Program(steps.run, prepare=steps.other_sizes, parts=N_SIZES, once=True)


def batch_known(tf: Any, session: Any) -> Program:
    """Steps of sizes like those of `batch_new`, which the session has seen just before."""
    steps = _BatchSizes(tf, session)

    def seen(n: int) -> None:
        steps.other_sizes(n)
        steps.run()

    return Program(steps.run, prepare=seen, parts=N_SIZES, once=True)
