"""A model whose updates can be counted, and workers that train it in threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import headrace.graph as hr

PATIENCE_S = 90.0  # for what takes milliseconds on an idle machine


def wait_until(what: Callable[[], Any], message: str) -> Any:
    """Waits until a function returns something true. Raises: AssertionError after PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"not in {PATIENCE_S} s: {message}")


class Model:
    """Each update adds 1 to `count` and to row 1 of `table`, and moves `x` towards 3.

    Args:
      task: number of the worker.
      ps_tasks: number of parameter servers.
      replicas: (gradients in an average, workers); None: each worker updates by itself.
    """

    def __init__(self, task: int, ps_tasks: int, replicas: tuple[int, int] | None) -> None:
        self.graph = hr.Graph()
        self.sync: Any = None
        setter = hr.train.replica_device_setter(
            ps_tasks=ps_tasks, worker_device=f"/job:worker/task:{task}"
        )
        with self.graph.as_default(), hr.device(setter):
            self.step = hr.train.get_or_create_global_step()
            self.count = hr.get_variable("count", [], hr.float64, hr.zeros_initializer())
            self.x = hr.get_variable("x", [4], hr.float64, hr.zeros_initializer())
            self.table = hr.get_variable("table", [3, 2], hr.float64, hr.zeros_initializer())
            optimizer: Any = hr.train.GradientDescentOptimizer(1.0)
            if replicas:
                optimizer = self.sync = hr.train.SyncReplicasOptimizer(optimizer, *replicas)
            rows = hr.IndexedSlices(-hr.ones([1, 2], hr.float64), hr.constant([1]), [3, 2])
            pairs = [
                (hr.constant(-1.0, hr.float64), self.count),
                (0.1 * (self.x - 3.0), self.x),
                (rows, self.table),
            ]
            self.train_op = optimizer.apply_gradients(pairs, global_step=self.step)


class Replica(threading.Thread):
    """A worker: a thread with a graph and a monitored session of its own.

    Args:
      task: number of the worker; 0 is the chief.
      replicas, ps_tasks: as for Model.
      last_step: global step after which it ends.
      own_steps: number of its own steps after which it leaves.
      session_arguments: of MonitoredTrainingSession.
    Attributes:
      hold: while it is set, the worker begins no further step.
      holding: it is set while the worker does nothing.
      seen: global steps after each of its steps.
      error: what ended it.
    """

    def __init__(
        self,
        task: int,
        replicas: tuple[int, int] | None,
        ps_tasks: int = 2,
        last_step: int = 10**9,
        own_steps: int = 10**9,
        **session_arguments: Any,
    ) -> None:
        super().__init__(name=f"worker{task}", daemon=True)
        self.task = task
        self.model = Model(task, ps_tasks, replicas)
        self.hold, self.holding, self.ready = (threading.Event() for _ in range(3))
        self.stop = threading.Event()
        self.seen: list[int] = []
        self.error: BaseException | None = None
        self.session: Any = None
        self._last_step = last_step
        self._own_steps = own_steps
        self._arguments = session_arguments

    def run(self) -> None:
        try:
            with self.model.graph.as_default():
                self._train()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def _train(self) -> None:
        hooks = [hr.train.StopAtStepHook(last_step=self._last_step)]
        if self.model.sync is not None:
            hooks.append(self.model.sync.make_session_run_hook(self.task == 0))
        with hr.train.MonitoredTrainingSession(
            f"tasks://worker/{self.task}",
            is_chief=self.task == 0,
            hooks=hooks,
            log_step_count_steps=None,
            save_summaries_steps=None,
            **self._arguments,
        ) as session:
            self.session = session
            self.ready.set()
            while not session.should_stop() and not self.stop.is_set():
                if self.hold.is_set():
                    self.holding.set()
                    time.sleep(0.01)
                    continue
                self.holding.clear()
                session.run(self.model.train_op)
                self.seen.append(int(session.run(self.model.step)))
                if len(self.seen) == self._own_steps:
                    break

    def wait_for_step(self, step: int) -> None:
        """Waits until it has seen a global step."""
        wait_until(
            lambda: self.error is not None or (self.seen and self.seen[-1] >= step),
            f"{self.name} at step {step}; it has seen {self.seen[-1:]}",
        )
        if self.error is not None:
            raise self.error

    def progress(self, steps: int = 5) -> None:
        """Waits until it has seen some more global steps."""
        self.wait_for_step((self.seen or [0])[-1] + steps)

    def finish(self, *expected: type[BaseException]) -> None:
        """Waits for its end. Raises: its error, unless it is of an expected type."""
        self.join(PATIENCE_S)
        assert not self.is_alive(), f"{self.name} hangs; it has seen {self.seen[-3:]}"
        if self.error is not None and not isinstance(self.error, expected):
            raise self.error
