"""Partial runs: steps of a session whose feeds and fetches come by and by."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.distributed.master.graph_feeds import GraphInputs
from headrace.distributed.master.prepared_step import PreparedStep
from headrace.formats import errors


class PartialStep:
    """services.PartialStep of a session over several tasks.

    Args:
      step: its signature; the fetches behind those of the caller mark the ends of the targets.
      inputs: of the graph's nodes.
      fetches, targets: names that the caller may ask for.
    Attributes:
      finished: whether all feeds were given and all fetches taken.
    """

    def __init__(
        self,
        step: PreparedStep,
        inputs: GraphInputs,
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
    ) -> None:
        self._step = step
        self._timeout_ms = step.session.timeout_ms
        feeds = step.signature.names.feeds
        self._feeds = {name: i for i, name in enumerate(feeds)}
        # The native step has no results for fetches that are fed.
        places: dict[int, int] = {}
        fed_here = {place for place, _ in step.signature.fed_fetches}
        for place in range(len(step.signature.plan.fetch)):
            if place not in fed_here:
                places[place] = len(places)
        self._fed_fetches = {fetches[p]: feed for p, feed in step.signature.fed_fetches}
        self._fetches = {name: places[i] for i, name in enumerate(fetches) if i in places}
        self._targets = {name: places[len(fetches) + i] for i, name in enumerate(targets)}
        self._needs = {name: inputs.feeds_of(name, feeds) for name in (*fetches, *targets)}
        self._left = set(self._fetches) | set(self._targets)
        self._values: dict[str, np.ndarray] = {}
        self._turn = threading.Lock()
        self.finished = False
        self._running = step.step.start()

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[Any]:
        """Supplies feeds and waits for fetches; services.PartialStep.run."""
        with self._turn:
            self._check(feeds, fetches)
            for name, value in feeds.items():
                # A copy, kept until the step is over: the caller may change the array meanwhile.
                self._values[name] = np.array(value)
                self._running.feed(self._feeds[name], self._values[name])
            for name in fetches:
                missing = [n for n in self._needs[name] if n not in self._values]
                if missing:
                    raise errors.InvalidArgumentError(
                        None, None, f"fetch '{name}' needs a feed that this partial run does not "
                        f"have yet (not fed: {', '.join(missing)})",
                    )  # fmt: skip
            results = [self._fetch(name) for name in fetches]
            self._left.difference_update(fetches)
            if not self._left and len(self._values) == len(self._feeds):
                self.finished = True
                self._running.finish(self._timeout_ms)
            return results

    def cancel(self, why: str) -> None:
        """Ends the run, if it has not ended."""
        if not self.finished:
            self._running.cancel(why)

    def __del__(self) -> None:
        if hasattr(self, "_running"):
            self.cancel("the partial run was abandoned")

    def _fetch(self, name: str) -> Any:
        if name in self._fed_fetches:
            feed = next(f for f, i in self._feeds.items() if i == self._fed_fetches[name])
            return np.array(self._values[feed])[()]
        if name in self._fetches:
            return self._running.fetch(self._fetches[name], self._timeout_ms)
        self._running.fetch(self._targets[name], self._timeout_ms)
        return None

    def _check(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> None:
        for name in feeds:
            if name not in self._feeds:
                raise errors.InvalidArgumentError(
                    None, None, f"'{name}' was not named as a feed when the partial run was set up "
                    f"(named: {', '.join(self._feeds) or 'none'})",
                )  # fmt: skip
            if name in self._values:
                raise errors.InvalidArgumentError(
                    None, None, f"'{name}' was fed before in this partial run"
                )
        for name in fetches:
            if name not in self._needs:
                raise errors.InvalidArgumentError(
                    None, None, f"'{name}' was not named as a fetch when the partial run was set "
                    f"up (named: {', '.join(self._needs) or 'none'})",
                )  # fmt: skip
