"""Which runs of a signature are measured, and which of its placements stays."""

from __future__ import annotations

import itertools

import pytest

from headrace.distributed.machines.placement_trial import (
    FIRST_TIMED,
    GAIN,
    LAST_TIMED,
    MOST_MOVES,
    PERIOD,
    How,
    PlacementTrial,
    Verdict,
)


def run_until_last(trial: PlacementTrial, seconds: float) -> list[How]:
    """Runs a placement until it is to be judged."""
    found = []
    while not found or found[-1] is not How.LAST:
        found.append(trial.next())
        if found[-1] is How.TIMED:
            trial.took(seconds)
    return found


def test_a_placement_is_traced_then_timed_then_judged() -> None:
    found = run_until_last(PlacementTrial(), 1.0)
    assert found[0] is How.PLAIN, "kernels are prepared"
    assert found[1:FIRST_TIMED] == [How.TRACED] * (FIRST_TIMED - 1)
    assert found[FIRST_TIMED:LAST_TIMED] == [How.TIMED] * (LAST_TIMED - FIRST_TIMED)
    assert len(found) == PERIOD + 1


@pytest.mark.parametrize(("period", "runs"), [(0, PERIOD), (1, LAST_TIMED + 1), (50, 50)])
def test_a_period_is_long_enough_to_measure(period: int, runs: int) -> None:
    assert len(run_until_last(PlacementTrial(period), 1.0)) == runs + 1


# What each placement's runs take, relative to the best so far; None: no node moves.
OUTCOMES = (None, 0.5, GAIN - 0.01, GAIN + 0.01, 2.0)


@pytest.mark.parametrize("outcomes", list(itertools.product(OUTCOMES, repeat=MOST_MOVES + 1)))
def test_each_course_ends_with_the_fastest_placement(outcomes: tuple[float | None, ...]) -> None:
    trial = PlacementTrial()
    times, current = [1.0], 0
    run_until_last(trial, times[0])
    for outcome in outcomes:
        verdict = trial.decide()
        if verdict is Verdict.KEEP:
            assert len(times) == MOST_MOVES + 1
            break
        if verdict is Verdict.REVERT:
            current -= 1
            break
        trial.placed(outcome is not None)
        if outcome is None:
            break
        times.append(times[-1] * outcome)
        current += 1
        run_until_last(trial, times[current])
    else:
        pytest.fail("it goes on for ever")
    assert trial.ended
    assert times[current] <= min(times) / GAIN


def test_runs_that_are_not_timed_do_not_count() -> None:
    trial = PlacementTrial()
    run_until_last(trial, 1.0)
    assert trial.decide() is Verdict.PLACE
    trial.placed(True)
    assert trial.next() is How.PLAIN
    assert trial.decide() is Verdict.REVERT, "nothing says that it is faster"
