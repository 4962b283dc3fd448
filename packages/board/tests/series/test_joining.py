from __future__ import annotations

import numpy as np

from headrace.board.series.joining import joined


def picked(steps: list[list[int]], how: str) -> list[list[int]]:
    arrays = [np.array(s, np.int64) for s in steps]
    return [pick.tolist() for pick in joined(arrays, how)]


def test_exact_takes_the_steps_that_all_have_and_the_last_of_each() -> None:
    assert picked([[0, 1, 1, 2, 5], [1, 2, 2, 3], [0, 1, 2]], "exact") == [[2, 3], [0, 2], [1, 2]]


def test_last_carries_the_other_series_on() -> None:
    assert picked([[0, 1, 2, 3, 4], [1, 4]], "last") == [[1, 2, 3, 4], [0, 0, 0, 1]]


def test_series_without_a_common_step_or_any_have_nothing() -> None:
    assert picked([[1, 3], [2, 4]], "exact") == [[], []]
    assert picked([[1, 3], []], "exact") == [[], []]
    assert picked([[], [1]], "last") == [[], []]
    assert picked([[7, 7]], "exact") == [[1]]
