"""Training of simulated clusters: each worker is the master of its own steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulation.masters import SimulatedMaster, SimulatedStep
from simulation.partitions import Signature
from simulation.programs import data_parallel, plan, task
from simulation.tasks import SimulatedCluster


class Training:
    """A run of between-graph replication.

    Args:
      n_averaged: gradients in an average; 0: asynchronous.
    Attributes:
      steps: (begin, end) of the steps of all workers.
      updates: when the chief's averages were applied.
      is_stopping: set to begin no more steps.
    """

    def __init__(
        self,
        cluster: SimulatedCluster,
        build: Callable[[int], Any],
        n_ps: int,
        n_workers: int,
        n_averaged: int,
    ) -> None:
        self.cluster, self.n_workers = cluster, n_workers
        self.is_sync = n_averaged > 0
        self.steps: list[tuple[float, float]] = []
        self.updates: list[float] = []
        self.is_stopping = False
        servers = [task("ps", i) for i in range(n_ps)]
        chief = data_parallel(build, n_ps, 0, n_workers, n_averaged)
        targets = [chief.train, *([chief.update, *chief.begin] if self.is_sync else [])]
        signatures = plan(chief, targets, [task("worker", 0), *servers])
        self.chief = SimulatedMaster(cluster.task(task("worker", 0)))
        if self.is_sync:
            self.chief.prepare(signatures[1], lambda number: self._update(number, None))
            self.chief.prepare(signatures[2], lambda number: self.chief.run(number, _check))
        self._start(self.chief, signatures[0])
        if n_workers > 1:
            other = data_parallel(build, n_ps, 1, n_workers, n_averaged)
            (signature,) = plan(other, [other.train], [task("worker", 1), *servers])
            for i in range(1, n_workers):
                renamed = signature.renamed(task("worker", 1), task("worker", i))
                self._start(SimulatedMaster(cluster.task(task("worker", i))), renamed)

    def run(self, n_steps: int) -> None:
        """Runs until n_steps averages were applied, or as many steps of a worker, on average."""
        if self.is_sync:
            self.cluster.clock.run(until=lambda: len(self.updates) >= n_steps)
        else:
            self.cluster.clock.run(until=lambda: len(self.steps) >= n_steps * self.n_workers)

    def step_times(self, skip: int = 2) -> list[float]:
        """Returns the time of each global step, or asynchronously of each worker's step, sorted.

        Args:
          skip: the number of first steps, of each worker, that are left out.
        """
        if self.is_sync:
            found = [end - begin for begin, end in zip(self.updates, self.updates[1:])][skip:]
        else:
            found = [end - begin for begin, end in self.steps[skip * self.n_workers :]]
        return sorted(found)

    def _start(self, master: SimulatedMaster, signature: Signature) -> None:
        def again(number: int, step: SimulatedStep | None) -> None:
            if step is not None:
                _check(step)
                self.steps.append((step.begin, self.cluster.clock.now))
            if not self.is_stopping:
                master.run(number, lambda ended: again(number, ended))

        master.prepare(signature, lambda number: again(number, None))

    def _update(self, number: int, step: SimulatedStep | None) -> None:
        if step is not None:
            _check(step)
            self.updates.append(self.cluster.clock.now)
        if not self.is_stopping:
            self.chief.run(number, lambda ended: self._update(number, ended))


def _check(step: SimulatedStep) -> None:
    if step.code:
        raise RuntimeError(f"a simulated step failed with code {step.code}")
