"""Lookup and lifetime of partial runs."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.client import partial_runs
from headrace.graph.client.fetches import FetchPlan


class Step:
    def __init__(self) -> None:
        self.cancelled = None

    def run(self, arrays, names):
        return [0.0 for name in names if ":" in name]

    def cancel(self, reason):
        self.cancelled = reason


class Service:
    def __init__(self) -> None:
        self.steps = []

    def partial_run_setup(self, feeds, fetches, targets):
        self.steps.append(Step())
        return self.steps[-1]


def test_a_run_ends_with_its_last_feed_and_fetch():
    x = hr.placeholder(hr.float32)
    y = hr.identity(x)
    plan = FetchPlan(hr.get_default_graph(), y)
    runs = partial_runs.PartialRuns()
    handle = runs.set_up(Service(), [x], plan)
    runs.advance(handle, runs.find(handle), {x.name: 1.0}, plan)
    with pytest.raises(InvalidArgumentError, match="No partial run has the handle"):
        runs.find(handle)


def test_oldest_partial_run_is_dropped(monkeypatch):
    monkeypatch.setattr(partial_runs, "_OPEN_PARTIAL_RUNS", 1)
    x = hr.placeholder(hr.float32)
    plan, service = FetchPlan(hr.get_default_graph(), hr.identity(x)), Service()
    runs = partial_runs.PartialRuns()
    first, second = (runs.set_up(service, [x], plan) for _ in range(2))
    assert service.steps[0].cancelled and runs.find(second)
    with pytest.raises(InvalidArgumentError):
        runs.find(first)
