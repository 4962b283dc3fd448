"""A job as actors of Ray.

Each task is an actor with `max_restarts`, in a bundle of one placement group, so that all tasks of
a job are placed at once and an actor that dies is started again on its node. Ray places and
restarts; no step goes through it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.console import Console, describe_states
from headrace.distributed.engines.launchers.job_plan import JobPlan, task_label
from headrace.distributed.engines.launchers.job_token import token_variables
from headrace.distributed.engines.launchers.supervision import (
    Finish,
    Instruction,
    Report,
    Start,
    Stop,
    Supervision,
)
from headrace.formats.errors import UnavailableError

_POLL_S = 0.2
_PLACEMENT_TIMEOUT_S = 60.0


def launch_ray(plan: JobPlan, address: str = "", cpus: float = 1.0, grace_s: float = 10.0) -> int:
    """Runs a job on Ray; called in the main thread.

    Args:
      address: of the cluster; "": that of RAY_ADDRESS, or a Ray of this machine for this job.
      cpus: how many processors each task reserves.
    Returns: the exit status of the chief; 128 + N after the signal N.
    Raises: UnavailableError if Ray is not installed, or has no room for all tasks at once.
    """
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # equal lines of two tasks are both of interest
    try:
        import ray
    except ImportError:
        raise UnavailableError(
            None, None, "Ray is not installed: pip install 'headrace-distributed[ray]'"
        ) from None
    address = address or os.environ.get("RAY_ADDRESS", "")
    needed = int(cpus * len(plan.tasks()) + 1)
    if address:
        ray.init(address=address, log_to_driver=True)
    else:
        processors = max(os.cpu_count() or 1, needed)
        ray.init(address="local", num_cpus=processors, include_dashboard=False)
    # Ray gives even a node of its own an address that others reach; our servers need none.
    host = "" if address else "127.0.0.1"
    try:
        return _RayJob(ray, plan, host, cpus, grace_s).run()
    finally:
        ray.shutdown()


class _RayJob:
    """The driver: waits for the ends of actors' runs, as `Supervision` decides.

    Restarts are Ray's: to the supervision, a run that has ended has ended for good.
    """

    def __init__(self, ray: Any, plan: JobPlan, host: str, cpus: float, grace_s: float) -> None:
        self._ray = ray
        self._plan = plan
        self._host = host
        self._token = token_variables(os.environ)
        self._cpus = cpus
        self._grace_s = grace_s
        self._tasks = plan.tasks()
        self._supervision = Supervision(self._tasks, plan.chief_task(), restarts=0)
        self._console = Console(self._tasks)
        self._runs: dict[Any, Task] = {}
        self._actors: dict[Task, Any] = {}
        self._kills: dict[Task, float] = {}
        self._signals: list[int] = []
        self._status: int | None = None

    def run(self) -> int:
        from headrace.distributed.engines.launchers.ray_task_actor import StartLedger

        ray = self._ray
        self._ledger = ray.remote(StartLedger).options(num_cpus=0).remote()
        try:
            with self._placed() as group, _noted_signals(self._signals):
                self._make_actors(group)
                ranks = self._tasks[: sum(self._plan.sizes().values())]
                reserved = [self._actors[task].reserve.remote(self._host) for task in ranks]
                self._addresses = ray.get(reserved)
                self._follow(self._supervision.begin())
                while self._status is None:
                    self._wait()
        finally:
            self._console.close()
        return self._status

    @contextmanager
    def _placed(self) -> Iterator[Any]:
        """Reserves room for all tasks, and gives it back."""
        from ray.util.placement_group import placement_group, remove_placement_group

        group = placement_group([{"CPU": self._cpus}] * len(self._tasks), strategy="PACK")
        try:
            if not group.wait(_PLACEMENT_TIMEOUT_S):
                raise UnavailableError(
                    None,
                    None,
                    f"Ray has no room for {len(self._tasks)} tasks of {self._cpus:g} CPUs at once"
                    f" (waited {_PLACEMENT_TIMEOUT_S:g} s; the cluster has"
                    f" {self._ray.cluster_resources().get('CPU', 0):g} CPUs)",
                )
            yield group
        finally:
            for actor in self._actors.values():
                self._ray.kill(actor)
            remove_placement_group(group)

    def _make_actors(self, group: Any) -> None:
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        from headrace.distributed.engines.launchers.ray_task_actor import TaskActor

        for bundle, task in enumerate(self._tasks):
            options = self._ray.remote(TaskActor).options(
                name=f"{self._plan.name}-{os.getpid()}-{task_label(task)}",
                num_cpus=self._cpus,
                max_restarts=self._plan.restarts,
                max_task_retries=self._plan.restarts,
                max_concurrency=2,  # `stop` comes while `run` runs
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    placement_group=group, placement_group_bundle_index=bundle
                ),
            )
            self._actors[task] = options.remote(task_label(task))

    def _wait(self) -> None:
        ready, _ = self._ray.wait(list(self._runs), timeout=_POLL_S)
        for event in self._ray.get(self._ledger.events.remote()):
            self._console.report(event)
        for run in ready:
            task = self._runs.pop(run)
            self._kills.pop(task, None)
            self._follow(self._supervision.exited(task, self._status_of(run, task)))
        while self._signals:
            self._follow(self._supervision.interrupted(self._signals.pop(0)))
        for task, at in list(self._kills.items()):
            if at <= time.monotonic():
                del self._kills[task]
                self._actors[task].stop.remote(int(signal.SIGKILL))
        self._console.refresh()

    def _status_of(self, run: Any, task: Task) -> int:
        try:
            status: int = self._ray.get(run)
        except self._ray.exceptions.RayError as error:
            self._console.report(f"{task_label(task)}: {str(error).strip().splitlines()[-1]}")
            return 1
        return status

    def _follow(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case Start(task, _, _):
                    run = self._actors[task].run.remote(
                        self._plan, self._addresses, task, os.getcwd(), self._token, self._ledger
                    )
                    self._runs[run] = task
                    self._supervision.started(task)
                case Stop(task, number):
                    self._actors[task].stop.remote(int(number))
                    self._kills[task] = time.monotonic() + self._grace_s
                case Report(text):
                    self._console.report(text)
                case Finish(status):
                    self._status = status
                    self._report_end()
        self._console.show(self._supervision.states, self._restarts())

    def _restarts(self) -> dict[Task, int]:
        starts = self._ray.get(self._ledger.counts.remote())
        return {task: max(0, starts.get(task_label(task), 1) - 1) for task in self._tasks}

    def _report_end(self) -> None:
        self._console.report(describe_states(self._supervision.states, self._restarts()))


@contextmanager
def _noted_signals(signals: list[int]) -> Iterator[None]:
    """Appends the signals that ask for an end to a list."""
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, lambda number, _: signals.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
