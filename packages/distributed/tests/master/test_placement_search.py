"""Runs of a step whose nodes may move, from several threads and with failures."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from headrace.distributed.master.placement_search import PlacementSearch
from headrace.formats import errors


class Step:
    def __init__(self) -> None:
        self.current: Any = ("signature", "first")


class Session:
    """Places a step anew each time, or fails with that error."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.placed = 0
        self.ended: list[Step] = []

    def place_again(self, step: Step) -> Any:
        self.placed += 1
        if self.failure is not None:
            raise self.failure
        return "signature", f"placement {self.placed}"

    def search_ended(self, step: Step) -> None:
        self.ended.append(step)


def runs(search: PlacementSearch, count: int) -> None:
    for _ in range(count):
        assert search.run(lambda: ["plain"], lambda: ["traced"]) in (["plain"], ["traced"])


@pytest.mark.parametrize(
    "failure",
    [errors.UnavailableError(None, None, "a task is lost"), ValueError("cannot place")],
    ids=["lost", "other"],
)
def test_a_placement_that_fails_fails_no_run(failure: Exception, caplog: Any) -> None:
    step, session = Step(), Session(failure)
    with caplog.at_level(logging.WARNING, "headrace.distributed"):
        runs(PlacementSearch(session, step, 0), 20)
    assert step.current == ("signature", "first")
    assert session.placed == 1 and session.ended == [step]
    assert "nodes stay where they are" in caplog.text


def test_a_late_run_does_not_judge_a_placement_that_is_not_measured_yet() -> None:
    """It began on the placement before, which another run has ended meanwhile."""
    step, session = Step(), Session()
    search = PlacementSearch(session, step, 0)
    runs(search, 8)

    def another_run_ends_first() -> list[Any]:
        runs(search, 1)
        assert step.current == ("signature", "placement 1")
        return ["plain"]

    search.run(another_run_ends_first, lambda: ["traced"])
    assert step.current == ("signature", "placement 1")
    assert session.placed == 1 and not session.ended
