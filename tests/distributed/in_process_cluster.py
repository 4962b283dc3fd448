"""A cluster in this process, without servers: sessions plan over tasks whose workers are shared.

Tests of training play its workers by threads, and end tasks and sessions at the moment they choose.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.formats import errors, services
from headrace.formats.proto.plan_pb2 import PartitionPlan
from headrace.formats.proto.run_pb2 import ConfigProto, RunMetadata

CONFIG = ConfigProto(allow_soft_placement=True).SerializeToString()


class DiedError(errors.CancelledError):
    """Ends the thread that plays a process which has died."""


class Task:
    """A task with the state that sessions share; a new one after each start."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.worker = services.find_service(services.RUNTIMES, "local")().open_worker(name, CONFIG)
        self.dead = False

    def end(self) -> None:
        """Loses the state and ends all runs."""
        self.dead = True
        self.worker.close()


class InProcessCluster:
    """Tasks of the jobs "ps" and "worker", and an observer; a target is "tasks://worker/1"."""

    def __init__(self, monkeypatch: Any, n_ps: int, n_workers: int) -> None:
        self._lock = threading.Lock()
        self.n_opened = 0
        self.tasks: dict[tuple[str, int], Task] = {}
        self.sessions: list[ClusterSession] = []
        for job, number in (("ps", n_ps), ("worker", n_workers), ("observer", 1)):
            for index in range(number):
                self.start(job, index)
        found = services.find_service

        def find(group: str, name: str) -> Any:
            if (group, name) == (services.SESSIONS, "tasks"):
                return self._open
            return found(group, name)

        monkeypatch.setattr(services, "find_service", find)

    def start(self, job: str, index: int) -> None:
        """Starts a task, also again: with no state."""
        self.tasks[job, index] = Task(f"/job:{job}/replica:0/task:{index}")

    def end(self, job: str, index: int) -> None:
        """Ends a task, and for a worker its sessions."""
        for session in self.sessions:
            if session.own == (job, index):
                session.lose()
        self.tasks[job, index].end()

    def live_tasks(self, job: str) -> list[int]:
        """Returns the tasks of a job that have an open session."""
        return sorted({s.own[1] for s in self.sessions if s.own[0] == job and not s.closed})

    def close(self) -> None:
        for session in self.sessions:
            session.close()
        for task in self.tasks.values():
            if not task.dead:
                task.end()

    def _open(self, target: str, config: bytes) -> ClusterSession:
        job, _, index = target.partition("://")[2].partition("/")
        with self._lock:
            self.n_opened += 1
            session = ClusterSession(self, (job, int(index)), f"session{self.n_opened}")
            self.sessions.append(session)
        return session


class ClusterSession:
    """services.ClusterSession of a worker: over its own task and all parameter servers."""

    def __init__(self, cluster: InProcessCluster, own: tuple[str, int], name: str) -> None:
        self._cluster = cluster
        self.own = own
        self._name = name
        self.closed = False
        self._lost = False
        self._lock = threading.Lock()
        self._steps = 0
        self._runs: set[Any] = set()
        self._prepared: dict[Any, Any] = {}
        self._runtime = services.find_service(services.RUNTIMES, "local")()
        self._planner = self._runtime.open_planner(CONFIG)
        keys = [own, *(key for key in sorted(cluster.tasks) if key[0] == "ps")]
        self._tasks = {cluster.tasks[key].name: (key, cluster.tasks[key]) for key in keys}
        for _, task in self._tasks.values():
            if task.dead:
                raise errors.UnavailableError(None, None, f"{task.name} does not answer")
            task.worker.open_session(name, CONFIG, False)
        self._devices = [f"{name}/device:CPU:0" for name in self._tasks]

    def extend(self, graph_def: bytes) -> None:
        self._planner.extend(graph_def)

    def prepare(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> Any:
        key = (tuple(feeds), tuple(fetches), tuple(targets))
        with self._lock:
            if key not in self._prepared:
                plan = PartitionPlan.FromString(self._planner.plan(*key, self._devices))
                numbers = {}
                for part in plan.partition:
                    self._check(part.task)
                    worker = self._tasks[part.task][1].worker
                    try:
                        numbers[part.task] = worker.register(self._name, part.graph_def)
                    except errors.OpError:
                        self._check(part.task)
                        raise
                self._prepared[key] = PreparedStep(self, plan, numbers)
        return self._prepared[key]

    def live_tasks(self, job: str) -> list[int]:
        return self._cluster.live_tasks(job)

    def list_devices(self) -> list[bytes]:
        return [d for _, task in self._tasks.values() for d in task.worker.list_devices()]

    def close(self) -> None:
        self._end()

    def lose(self) -> None:
        """Ends as by the death of the process: its runs end wherever they are."""
        self._lost = True
        self._end()

    def _end(self) -> None:
        if self.closed:
            return
        self.closed = True
        for _, task in self._tasks.values():
            if not task.dead:
                task.worker.close_session(self._name)
        for rendezvous in list(self._runs):
            rendezvous.abort("the session is closed")

    def _check(self, task_name: str) -> None:
        key, task = self._tasks[task_name]
        if self._lost:
            raise DiedError(None, None, self._name)
        if self.closed:
            raise errors.CancelledError(None, None, f"{self._name} is closed")
        now = self._cluster.tasks[key]
        if now.dead:
            raise errors.UnavailableError(None, None, f"{task_name} does not answer")
        if now is not task:
            raise errors.AbortedError(None, None, f"{task_name} has been restarted")

    def run(self, plan: PartitionPlan, numbers: Mapping[str, int], values: Sequence[Any]) -> Any:
        """Runs a step; where a task is lost the error says so instead of what the run said."""
        for name in numbers:
            self._check(name)
        rendezvous = self._runtime.open_rendezvous()
        with self._lock:
            self._steps += 1
            step = self._steps
            self._runs.add(rendezvous)
        try:
            for edge in plan.edge:
                if not edge.send_task:
                    rendezvous.send(edge.id, np.asarray(values[edge.feed]))
            ends = {
                name: rendezvous.run(self._tasks[name][1].worker, number, step)
                for name, number in numbers.items()
            }
            failure = self._wait(rendezvous, ends)
            if failure is not None:
                raise failure
            return [
                rendezvous.recv(edge) if edge >= 0 else values[-1 - edge] for edge in plan.fetch
            ]
        except errors.OpError:
            for name in numbers:
                self._check(name)
            raise
        finally:
            self._runs.discard(rendezvous)

    def _wait(self, rendezvous: Any, ends: dict[str, Any]) -> Exception | None:
        """Waits for all partitions; returns the first error, after which the others are ended."""
        first: Exception | None = None
        begin = time.monotonic()
        while ends:
            for name, end in list(ends.items()):
                try:
                    end(0.01)
                except errors.OpError as error:
                    if "nothing came within" in str(error):
                        if time.monotonic() - begin > 120.0:
                            raise AssertionError(f"{name} has not ended a step") from None
                        continue
                    if first is None:
                        rendezvous.abort(f"a partition failed: {error}")
                    # The other partitions are cancelled by the one that failed.
                    if first is None or isinstance(first, errors.CancelledError):
                        first = error
                del ends[name]
        return first


class PreparedStep:
    """services.Step over several tasks."""

    def __init__(
        self, session: ClusterSession, plan: PartitionPlan, numbers: Mapping[str, int]
    ) -> None:
        self._session = session
        self._plan = plan
        self._numbers = numbers

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        return self._session.run(self._plan, self._numbers, values)

    def run(self, values: Sequence[Any], options: bytes) -> tuple[list[Any], bytes]:
        return self(values), RunMetadata().SerializeToString()
