"""The programs that tools/soak.py repeats, and what it measures of the process that runs them.

    python3 tools/soak_programs.py fed-indices --count 500     # one of them, in this process

A soak is a generator: each step it yields is one repetition. Standard output carries one JSON
object a line: {"step": n} for progress, and at the end {"samples": [...]}.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

import headrace.graph as hr
from headrace.formats import errors


@dataclass(frozen=True)
class Sample:
    """What a process holds: memory in MiB, threads, open files; and the step when it was taken."""

    step: int
    seconds: float
    memory_mib: float
    threads: int
    files: int


def sample(step: int, began: float) -> Sample:
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return Sample(
        step=step,
        seconds=round(time.monotonic() - began, 1),
        memory_mib=round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1),
        threads=len(os.listdir("/proc/self/task")),
        files=len(os.listdir("/proc/self/fd")) - 1,  # that of the listing itself
    )


# ---- the soaks -----------------------------------------------------------------------------------


def batch_sizes(count: int) -> Iterator[None]:
    """One training step of an MLP for each batch size from 1 to count, in mixed order."""
    with hr.Graph().as_default():
        hr.set_random_seed(1)
        images = hr.placeholder(hr.float32, [None, 64])
        labels = hr.placeholder(hr.int64, [None])
        hidden = hr.layers.dense(images, 64, hr.nn.relu)
        logits = hr.layers.dense(hidden, 10)
        loss = hr.losses.sparse_softmax_cross_entropy(labels, logits)
        train = hr.train.GradientDescentOptimizer(0.01).minimize(loss)
        data = np.ones([count, 64], np.float32)
        classes = np.zeros([count], np.int64)
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            for size in _mixed(count):
                session.run(train, {images: data[: size + 1], labels: classes[: size + 1]})
                yield


def fed_indices(count: int) -> Iterator[None]:
    """`x[i]`, a slice and its gradient, for each index from 0 to count."""
    with hr.Graph().as_default():
        x = hr.Variable(np.ones([count, 16], np.float32))
        index = hr.placeholder(hr.int32, [])
        row = x[index]
        window = hr.slice(x, hr.stack([index, 0]), [1, 8])
        gradient = hr.gradients(hr.reduce_sum(row * 2.0) + hr.reduce_sum(window), x)[0]
        total = hr.reduce_sum(gradient)
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            for i in _mixed(count):
                assert session.run([row, window, total], {index: i})[2] == 16 * 2 + 8
                yield


def signatures(count: int) -> Iterator[None]:
    """A new pair of fetches, count times."""
    side = int(count**0.5) + 1
    with hr.Graph().as_default():
        x = hr.placeholder(hr.float32, [8, 8])
        left = [hr.matmul(x, x) + float(i) for i in range(side)]
        right = [hr.nn.relu(x - float(i)) * x for i in range(side)]
        fed = np.ones([8, 8], np.float32)
        with hr.Session() as session:
            for number in range(count):
                pair = [left[number // side], right[number % side]]
                assert session.run(pair, {x: fed})[0][0, 0] == 8.0 + number // side
                yield


def sessions(count: int) -> Iterator[None]:
    """A session with variables, a loop and a queue, opened, used and closed, count times."""
    with hr.Graph().as_default():
        weights = hr.Variable(hr.ones([128, 128]))
        product = hr.reduce_sum(hr.matmul(weights, weights))
        loop = hr.while_loop(lambda i: i < 5, lambda i: i + 1, [0])
        queue = hr.FIFOQueue(4, [hr.float32], shapes=[[]])
        put, taken = queue.enqueue(1.0), queue.dequeue()
        initial = hr.global_variables_initializer()
        for number in range(count):
            with hr.Session("" if number % 4 else f"local://soak{number}") as session:
                session.run(initial)
                session.run(put)
                assert session.run([product, loop, taken])[1] == 5
                if number % 4 == 0:
                    hr.Session.reset(f"local://soak{number}")
            yield


def input_sessions(count: int) -> Iterator[None]:
    """A session with queue runners and an iterator that reads ahead, opened and closed."""
    with hr.Graph().as_default():
        queue = hr.FIFOQueue(8, [hr.float32], shapes=[[64]])
        runner = hr.train.QueueRunner(queue, [queue.enqueue(hr.random_uniform([64]))] * 2)
        taken = queue.dequeue()
        dataset = hr.data.Dataset.range(1 << 40).map(lambda x: x * x, num_parallel_calls=2)
        dataset = dataset.shuffle(8).batch(4).prefetch(2)
        iterator = hr.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        for number in range(count):
            with hr.Session() as session:
                session.run(iterator.initializer)
                coordinator = hr.train.Coordinator()
                threads = runner.create_threads(session, coordinator, daemon=True, start=True)
                assert len(session.run([taken, element])[1]) == 4
                if number % 2:  # else the session ends what waits
                    coordinator.request_stop()
                    coordinator.join(threads)
            coordinator.request_stop()
            for thread in threads:
                thread.join()
            yield


def partial_runs(count: int) -> Iterator[None]:
    """A step in two calls, count times; each eighth is set up and never finished."""
    with hr.Graph().as_default():
        a, b = hr.placeholder(hr.float32, [4]), hr.placeholder(hr.float32, [4])
        first, second = a + 1.0, (a + 1.0) * b
        ones = np.ones(4, np.float32)
        with hr.Session() as session:
            for number in range(count):
                handle = session.partial_run_setup([first, second], [a, b])
                session.partial_run(handle, first, {a: ones})
                if number % 8:
                    assert session.partial_run(handle, second, {b: ones})[0] == 2.0
                yield


def threads(seconds: int) -> Iterator[None]:
    """Eight threads mix runs of all kinds on one session; a step is one second."""
    with hr.Graph().as_default():
        mixed = _MixedRuns()
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            with mixed.on_threads(session, 8):
                for _ in range(seconds):
                    time.sleep(1.0)
                    if mixed.failed:
                        raise mixed.failed[0]
                    yield
    print(json.dumps({"note": f"{mixed.count:,} runs"}), flush=True)


class _MixedRuns:
    """A graph with a bit of everything, and threads that run it."""

    def __init__(self) -> None:
        self.failed: list[BaseException] = []
        self.count = 0
        self._stop = threading.Event()
        self._x = hr.placeholder(hr.float32, [None, 32])
        self._i = hr.placeholder(hr.int32, [])
        self._weights = hr.Variable(hr.ones([32, 32]) / 32.0)
        self._resource = hr.get_variable("r", [64, 8], use_resource=True)
        self._queue = hr.FIFOQueue(64, [hr.float32], shapes=[[]])
        h = hr.matmul(self._x, self._weights)
        self._layers = hr.reduce_mean(hr.nn.softmax(h))
        self._row = self._resource[self._i % 64]
        self._loop = hr.while_loop(
            lambda i, v: i < self._i % 40, lambda i, v: (i + 1, v * 0.5 + 1.0), [0, 1.0]
        )
        self._branch = hr.cond(
            self._i % 2 > 0, lambda: hr.reduce_sum(self._weights), lambda: hr.constant(0.0)
        )
        self._step = hr.assign_add(self._weights, hr.zeros([32, 32]))
        self._put = self._queue.enqueue(1.0)
        self._taken = self._queue.dequeue()
        self._never = hr.FIFOQueue(1, [hr.float32], shapes=[[]]).dequeue()
        self._sum = hr.strings.join([hr.as_string(self._i), "!"])
        self._python = hr.py_func(lambda i: i + 1, [self._i], hr.int32)
        self._wrong = hr.gather([1.0, 2.0], self._i + 100)
        self._second = hr.placeholder(hr.float32, [])
        self._held = (self._layers + 1.0, self._layers * self._second)

    @contextlib.contextmanager
    def on_threads(self, session: hr.Session, count: int) -> Iterator[None]:
        workers = [
            threading.Thread(target=self._work, args=(session, number)) for number in range(count)
        ]
        for worker in workers:
            worker.start()
        try:
            yield
        finally:
            self._stop.set()
            for worker in workers:
                worker.join()

    def _work(self, session: hr.Session, number: int) -> None:
        dice = np.random.default_rng(number)
        kinds: list[Callable[[], None]] = [
            lambda: session.run(self._layers, {self._x: self._batch(dice)}),
            lambda: session.run(self._row, {self._i: int(dice.integers(1 << 30))}),
            lambda: session.run(self._loop, {self._i: int(dice.integers(1 << 30))}),
            lambda: session.run(self._branch, {self._i: int(dice.integers(1 << 30))}),
            lambda: session.run([self._step.op, self._sum], {self._i: 3}),
            lambda: session.run([self._put, self._taken]),
            lambda: session.run(self._python, {self._i: 1}),
            lambda: self._in_two_calls(session, dice),
            lambda: self._rejected(session),
            lambda: self._timed_out(session),
        ]
        try:
            while not self._stop.is_set():
                kinds[int(dice.integers(len(kinds)))]()
                self.count += 1
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self.failed.append(error)

    def _batch(self, dice: np.random.Generator) -> np.ndarray:
        return np.ones([int(dice.integers(1, 200)), 32], np.float32)

    def _in_two_calls(self, session: hr.Session, dice: np.random.Generator) -> None:
        handle = session.partial_run_setup(list(self._held), [self._x, self._second])
        session.partial_run(handle, self._held[0], {self._x: self._batch(dice)})
        session.partial_run(handle, self._held[1], {self._second: 2.0})

    def _rejected(self, session: hr.Session) -> None:
        with contextlib.suppress(errors.InvalidArgumentError):
            session.run(self._wrong, {self._i: 1})
            raise AssertionError("an index out of range was taken")

    def _timed_out(self, session: hr.Session) -> None:
        with contextlib.suppress(errors.DeadlineExceededError):
            session.run(self._never, options=hr.RunOptions(timeout_in_ms=2))
            raise AssertionError("a queue that is empty gave something")


def _mixed(count: int) -> Iterator[int]:
    """All numbers below count, the largest one first and then far apart from one another."""
    stride = next(n for n in range(int(count * 0.618) | 1, 2 * count + 2) if np.gcd(n, count) == 1)
    for i in range(count):
        yield (count - 1 + i * stride) % count


SOAKS: dict[str, Callable[[int], Iterator[None]]] = {
    "batch-sizes": batch_sizes,
    "fed-indices": fed_indices,
    "signatures": signatures,
    "sessions": sessions,
    "input-sessions": input_sessions,
    "partial-runs": partial_runs,
    "threads": threads,
}


def measured(name: str, count: int, report: Callable[[int], None]) -> list[Sample]:
    """Runs a soak in this process.

    Args:
      report: called with the number of steps done, ten times a second at most.
    Returns: samples after a warm-up of a tenth of the steps, half-way and at the end.
    """
    began = last = time.monotonic()
    # The last one is taken while the soak still holds what it has opened.
    marks = {max(1, count // 10), max(1, count // 2), count}
    samples = []
    step = 0
    for _ in SOAKS[name](count):
        step += 1
        if step in marks:
            samples.append(sample(step, began))
        if time.monotonic() - last > 0.1:
            last = time.monotonic()
            report(step)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("soak", choices=SOAKS)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()

    def report(step: int) -> None:
        print(json.dumps({"step": step}), flush=True)

    samples = measured(options.soak, options.count, report)
    print(json.dumps({"samples": [asdict(s) for s in samples]}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
