"""The programs that both sides run: `tf` is headrace.graph or tensorflow.compat.v1."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

LONG = 1000
ITERATIONS = 10_000
NODES = 36_000
RUNS_OF_A_THREAD = 500


@dataclass(frozen=True)
class Program:
    """`run` is timed and counts as `parts`; `prepare(n)`, not timed, makes n runs possible."""

    run: Callable[[], Any]
    prepare: Callable[[int], Any] | None = None
    parts: int = 1
    once: bool = False  # too long for a batch
    check: float | None = None  # a result that every side has to agree on


def null(tf: Any, session: Any) -> Program:
    op = tf.no_op()
    s = session()
    return Program(lambda: s.run(op))


def fed(tf: Any, session: Any) -> Program:
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0 + 1.0
    s = session()
    assert s.run(y, {x: 3.0}) == 7.0
    return Program(lambda: s.run(y, {x: 3.0}))


def chain(tf: Any, session: Any) -> Program:
    x = tf.placeholder(tf.float32, [])
    y = x
    for _ in range(LONG):
        y = tf.add(y, x)
    s = session()
    assert s.run(y, {x: 1.0}) == LONG + 1
    return Program(lambda: s.run(y, {x: 1.0}), parts=LONG)


def wide(tf: Any, session: Any) -> Program:
    x = tf.placeholder(tf.float32, [])
    # Their sum is fetched: a system may leave out an addition that nobody reads.
    total = tf.add_n([tf.add(x, float(i)) for i in range(LONG)])
    s = session()
    assert s.run(total, {x: 1.0}) == LONG * (LONG + 1) / 2
    return Program(lambda: s.run(total, {x: 1.0}), parts=LONG)


def adam_arrays() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Returns: weights of 32-32-32-10, a batch of 8, its labels; the same for every side."""
    rng = np.random.RandomState(0)
    weights = [rng.randn(32, n).astype(np.float32) * 0.2 for n in (32, 32, 10)]
    return weights, rng.rand(8, 32).astype(np.float32), rng.randint(0, 10, 8).astype(np.int64)


def adam(tf: Any, session: Any) -> Program:
    weights, images, labels = adam_arrays()
    x = tf.placeholder(tf.float32, [8, 32])
    t = tf.placeholder(tf.int64, [8])
    h = x
    for i, w in enumerate(weights):
        h = tf.matmul(h, tf.Variable(w)) + tf.Variable(np.zeros(w.shape[1], np.float32))
        h = tf.nn.relu(h) if i < 2 else h
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=h)
    loss = tf.reduce_mean(each)
    step = tf.train.AdamOptimizer(1e-3).minimize(loss)
    s = session()
    s.run(tf.global_variables_initializer())
    feed = {x: images, t: labels}
    first = s.run([step, loss], feed)[1]
    for _ in range(50):
        s.run([step, loss], feed)
    assert s.run(loss, feed) < first
    return Program(lambda: s.run([step, loss], feed))


def loop(tf: Any, session: Any) -> Program:
    start = tf.placeholder(tf.int32, [])
    end = tf.while_loop(lambda i: i < ITERATIONS, lambda i: i + 1, [start])
    s = session()
    assert s.run(end, {start: 0}) == ITERATIONS
    return Program(lambda: s.run(end, {start: 0}), parts=ITERATIONS)


def build(tf: Any, session: Any) -> Program:
    """A new graph of 36,000 nodes, six a layer, and its first run."""

    def once() -> None:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 4])
            w = tf.placeholder(tf.float32, [4, 4])
            h = x
            for _ in range(NODES // 6):
                with tf.name_scope("layer"):
                    h = tf.tanh(tf.matmul(h, w) + x)
                    h = tf.identity(h * 0.5)  # a constant and two more
            value = session().run(h, {x: np.ones([2, 4]), w: np.eye(4)})
            assert value.shape == (2, 4) and np.isfinite(value).all()

    return Program(once, once=True)


def _small_ops(tf: Any, h: Any) -> Any:
    w = tf.constant(np.roll(np.eye(4, dtype=np.float32), 1, axis=0))
    for _ in range(LONG // 2):
        h = tf.matmul(tf.transpose(h), w)
    return h


def small(tf: Any, session: Any) -> Program:
    x = tf.placeholder(tf.float32, [4, 4])
    y = _small_ops(tf, x)
    s = session()
    value = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert sorted(s.run(y, {x: value}).ravel()) == list(range(16))
    return Program(lambda: s.run(y, {x: value}))


def dequeue(tf: Any, session: Any) -> Program:
    queue = tf.FIFOQueue(100_000, [tf.float32], [[4, 4]])
    value = np.arange(16, dtype=np.float32).reshape(4, 4)
    x = tf.placeholder(tf.float32, [4, 4])
    put = queue.enqueue([x])
    y = _small_ops(tf, queue.dequeue())
    s = session()

    def prepare(n: int) -> None:
        for _ in range(n):
            s.run(put, {x: value})

    return Program(lambda: s.run(y), prepare)


def threads(tf: Any, session: Any) -> Program:
    """Each thread has a session of its own and does the whole work of `threads_one`."""
    return _in_threads(tf, session, 2)


def threads_one(tf: Any, session: Any) -> Program:
    return _in_threads(tf, session, 1)


def _in_threads(tf: Any, session: Any, n_threads: int) -> Program:
    x = tf.placeholder(tf.float32, [4, 4])
    y = _small_ops(tf, x)
    value = np.eye(4, dtype=np.float32)
    sessions = [session() for _ in range(n_threads)]
    for s in sessions:
        s.run(y, {x: value})

    def work(s: Any) -> None:
        for _ in range(RUNS_OF_A_THREAD):
            s.run(y, {x: value})

    def once() -> None:
        workers = [threading.Thread(target=work, args=[s]) for s in sessions]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return Program(once, parts=RUNS_OF_A_THREAD * n_threads)


class Batch:
    """Runs a program often enough to time it."""

    def __init__(self, program: Program, seconds: float = 0.08) -> None:
        self._program = program
        self.check = program.check
        self._n = 1
        if program.once:
            return
        self.measure()
        self._n = 3
        self._n = max(1, min(5000, int(seconds / self.measure() / program.parts)))

    def measure(self) -> float:
        """Returns: seconds that one part takes, the mean over a batch."""
        program, run = self._program, self._program.run
        if program.prepare:
            program.prepare(self._n)
        start = time.perf_counter()
        for _ in range(self._n):
            run()
        return (time.perf_counter() - start) / self._n / program.parts
