"""Partial runs: steps of a session that take feeds and return fetches over several calls."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from headrace.formats.errors import InvalidArgumentError
from headrace.graph.client.fetches import FetchPlan
from headrace.graph.framework.operation import Tensor

_OPEN_PARTIAL_RUNS = 1024


@dataclass
class PartialRun:
    """An active step, with the names of the feeds and fetches that are still outstanding."""

    step: Any
    feeds: set[str]
    fetches: set[str]


class PartialRuns:
    """The partial runs of a session by handle; the oldest is dropped if there are too many."""

    def __init__(self) -> None:
        self._runs: dict[str, PartialRun] = {}
        self._count = itertools.count()

    def set_up(self, service: Any, feeds: list[Tensor], plan: FetchPlan) -> str:
        """Starts a step at the service; returns its handle."""
        step = service.partial_run_setup(
            [t.name for t in feeds],
            [t.name for t in plan.tensors],
            [op.name for op in plan.targets],
        )
        handle = f"partial_{next(self._count)}"
        self._runs[handle] = PartialRun(step, {t.name for t in feeds}, set(_names(plan)))
        if len(self._runs) > _OPEN_PARTIAL_RUNS:
            abandoned = self._runs.pop(next(iter(self._runs)))
            abandoned.step.cancel("newer partial runs took its place")
        return handle

    def find(self, handle: str) -> PartialRun:
        """Returns the run of a handle. Raises: InvalidArgumentError for an unknown or ended run."""
        run = self._runs.get(handle)
        if run is None:
            raise InvalidArgumentError(
                None,
                None,
                "Must run 'setup' before performing partial runs! No partial run has the handle "
                f"{handle!r}, or it has ended",
            )
        return run

    def advance(
        self, handle: str, run: PartialRun, arrays: dict[str, Any], plan: FetchPlan
    ) -> list[Any]:
        """Feeds arrays by tensor name; returns the values of a plan's tensors."""
        # Targets have no value: fetching the name of an operation waits for its end.
        names = _names(plan)
        values = run.step.run(arrays, names)
        run.feeds.difference_update(arrays)
        run.fetches.difference_update(names)
        if not run.feeds and not run.fetches:
            self._runs.pop(handle, None)
        return values


def _names(plan: FetchPlan) -> list[str]:
    return [t.name for t in plan.tensors] + [op.name for op in plan.targets]
