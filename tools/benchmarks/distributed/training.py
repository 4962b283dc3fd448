"""Data-parallel training of a perceptron: one process, asynchronous and synchronous workers."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

SIZES = (784, 512, 512, 10)
BATCH = 64
RATE = 0.05


def batch(worker: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(worker)
    images = rng.rand(BATCH, SIZES[0]).astype(np.float32)
    return images, rng.randint(0, SIZES[-1], BATCH).astype(np.int64)


class Trainer:
    """The training loop of one worker, in a thread: it goes on while others are measured.

    Args:
      server: of this worker; None: a local session.
      n_workers: that train together.
      sync: whether the average of their gradients is applied.
    """

    def __init__(self, tf: Any, server: Any, cluster: Any, index: int, n_workers: int, sync: bool):
        self._tf = tf
        images, labels = batch(index)
        place = f"/job:worker/task:{index}"
        setter = tf.train.replica_device_setter(cluster=cluster, worker_device=place)
        with tf.device(setter if server else None):
            self._step = tf.train.get_or_create_global_step()
            x = tf.placeholder(tf.float32, [BATCH, SIZES[0]])
            t = tf.placeholder(tf.int64, [BATCH])
            self._loss = perceptron(tf, x, t)
            optimizer = tf.train.GradientDescentOptimizer(RATE)
            if sync:
                optimizer = tf.train.SyncReplicasOptimizer(optimizer, n_workers, n_workers)
            train = optimizer.minimize(self._loss, global_step=self._step)
        hooks = [optimizer.make_session_run_hook(index == 0)] if sync else []
        # To let a worker go that waits for a gradient of one that has stopped.
        self._release = optimizer.get_init_tokens_op(n_workers) if sync else None
        self._fetches = [train, self._loss]
        self._feed = {x: images, t: labels}
        self._session = tf.train.MonitoredTrainingSession(
            server.target if server else "",
            is_chief=index == 0,
            hooks=hooks,
            config=self._config(index) if server else None,
        )
        self._first: float | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._times: list[float] = []
        self._losses: list[float] = []

    def _config(self, index: int) -> Any:
        # TensorFlow's sessions otherwise wait for all workers.
        return self._tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])

    def measure(self, seconds: float) -> dict[str, Any]:
        """Trains for some seconds, and goes on until `stop`.

        Returns: seconds and number of own steps and of global steps, and seconds of each own step.
        """
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._train, daemon=True)
            self._thread.start()
            time.sleep(0.3)  # until all workers train
        own, begin = len(self._times), time.perf_counter()
        global_step = self.global_step()
        time.sleep(seconds)
        own_end, end = len(self._times), time.perf_counter()
        if self._failure is not None:
            raise self._failure
        if own_end == own:
            raise AssertionError(f"no step in {seconds} s")
        return {
            "elapsed": end - begin,
            "steps": own_end - own,
            "global_steps": self.global_step() - global_step,
            "seconds": self._times[own:own_end],
        }

    def stop(self) -> None:
        self._stopping.set()

    def release(self) -> None:
        """Lets workers finish that wait for each other's gradients; called after `stop` of all."""
        if self._release is not None:
            self._session.run(self._release)

    def join(self) -> None:
        """Waits for the end of the last step. Raises: if the loss has not fallen."""
        if self._thread is not None:
            self._thread.join(30)
            if self._thread.is_alive():
                raise AssertionError("the last step has not ended in 30 s")
            self._thread = None
            if not np.mean(self._losses[-5:]) < self._losses[0]:
                raise AssertionError(f"the loss has not fallen: {self._losses[::50]}")

    def global_step(self) -> int:
        return int(self._session.run(self._step))

    def _train(self) -> None:
        try:
            while not self._stopping.is_set():
                start = time.perf_counter()
                loss = self._session.run(self._fetches, self._feed)[1]
                self._times.append(time.perf_counter() - start)
                self._losses.append(float(loss))
        except BaseException as error:
            self._failure = error


def perceptron(tf: Any, x: Any, labels: Any) -> Any:
    """Returns the mean cross-entropy, [] float."""
    rng = np.random.RandomState(0)
    h = x
    for i, (n_in, n_out) in enumerate(zip(SIZES, SIZES[1:])):
        initial = rng.randn(n_in, n_out).astype(np.float32) * np.float32((2 / n_in) ** 0.5)
        w = tf.Variable(initial, name=f"w{i}")
        b = tf.Variable(np.zeros(n_out, np.float32), name=f"b{i}")
        h = tf.matmul(h, w) + b
        h = tf.nn.relu(h) if i < len(SIZES) - 2 else h
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h)
    return tf.reduce_mean(each)
