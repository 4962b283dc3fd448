"""Series keep every point in order of file, and know which ones a restart has superseded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.board.store.restarts import Part, find_restarts
from headrace.board.store.run import Run, Tag
from headrace.board.store.scalar_series import ScalarSeries

NAN = float("nan")


def series() -> ScalarSeries:
    return ScalarSeries(Run(0, "r", "r"), Tag(0, "t", "scalar"))


def add(
    to: ScalarSeries,
    steps: list[int],
    file: int = 0,
    wall: float | None = None,
    values: list[float] | None = None,
    starts: list[tuple[int, int]] | None = None,
    wide: bool = False,
) -> None:
    n = len(steps)
    walls = np.arange(n, dtype=float) + (len(to) if wall is None else wall)
    column = np.array(values if values is not None else [float(s) for s in steps])
    rows = (np.array(steps, np.int64), walls, column)
    to.add_points(file, f"file{file}", rows, wide, starts or [])


def superseded(of: ScalarSeries) -> list[int]:
    columns = of.columns()
    return np.flatnonzero(columns.superseded).tolist()


def test_a_snapshot_is_no_copy_and_never_changes() -> None:
    one = series()
    add(one, [*range(100)])
    first = one.columns()
    assert first.step.base is not None and not first.step.flags.writeable
    add(one, [*range(100, 5000)])
    add(one, [50])
    assert len(first) == 100 and not first.superseded.any()
    assert first.step.tolist() == [*range(100)]
    assert len(one.columns()) == 5001


def test_a_point_takes_20_bytes_and_28_where_it_needs_64_bits() -> None:
    narrow, wide = series(), series()
    add(narrow, [*range(10_000)])
    add(wide, [*range(10_000)], wide=True)
    assert narrow.memory_bytes() == 200_000 and wide.memory_bytes() == 240_000
    columns = narrow.columns()
    assert columns.segment.strides == columns.superseded.strides == (0,)


def test_values_widen_when_a_later_point_needs_it() -> None:
    one = series()
    add(one, [0], values=[0.5])
    assert one.columns().value.dtype == np.float32
    add(one, [1], values=[1 / 3], wide=True)
    assert one.columns().value.tolist() == [0.5, 1 / 3]


def test_a_step_that_goes_back_supersedes_the_points_from_there_on() -> None:
    one = series()
    add(one, [0, 1, 2, 3, 4, 2, 3])
    assert superseded(one) == [2, 3, 4]
    assert one.columns().segment.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert one.segments() == 2
    add(one, [1])
    assert superseded(one) == [1, 2, 3, 4, 5, 6]


def test_equal_steps_supersede_nothing() -> None:
    one = series()
    add(one, [0] * 50)
    assert superseded(one) == [] and one.segments() == 1


def test_a_file_that_goes_on_where_the_last_one_ended_is_no_restart() -> None:
    one = series()
    add(one, [0, 1, 2], file=0, wall=0)
    add(one, [3, 4], file=1, wall=10)
    assert superseded(one) == [] and one.segments() == 1


def test_a_file_from_a_checkpoint_supersedes_the_rest_of_the_last_one() -> None:
    one = series()
    add(one, [0, 1, 2, 3], file=0, wall=0)
    add(one, [2, 3, 4], file=1, wall=10)
    assert superseded(one) == [2, 3]
    assert one.columns().segment.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_files_stand_in_their_order_whenever_they_are_read() -> None:
    one = series()
    add(one, [2, 3, 4], file=1, wall=10)
    add(one, [0, 1], file=0, wall=0)
    add(one, [2, 3], file=0, wall=2)
    assert one.columns().step.tolist() == [0, 1, 2, 3, 2, 3, 4]
    assert superseded(one) == [2, 3]
    add(one, [5], file=1, wall=13)
    assert one.columns().step.tolist() == [0, 1, 2, 3, 2, 3, 4, 5]


def test_two_writers_at_once_supersede_only_their_own_points() -> None:
    one = series()
    add(one, [0, 10, 20], file=0, wall=0)
    add(one, [1, 11, 21, 11], file=1, wall=1.5)
    assert one.writers_at_once()
    assert one.columns().step.tolist() == [0, 10, 20, 1, 11, 21, 11]
    assert superseded(one) == [4, 5]


def test_a_session_s_start_supersedes_from_its_own_step_on() -> None:
    one = series()
    add(one, [0, 1, 2, 3], file=0, wall=0)
    add(one, [5, 6], file=1, wall=10, starts=[(0, 2)])
    assert superseded(one) == [2, 3]
    assert one.columns().segment.tolist() == [0, 0, 0, 0, 1, 1]


def test_the_first_session_of_a_run_is_no_restart() -> None:
    one = series()
    add(one, [5, 6], starts=[(0, 0)])
    assert superseded(one) == [] and one.segments() == 1


def test_a_file_that_goes_takes_its_points_along() -> None:
    one = series()
    add(one, [0, 1, 2], file=0, wall=0)
    add(one, [2, 3], file=1, wall=10)
    add(one, [3, 4], file=2, wall=20)
    one.drop_file(1)
    assert one.columns().step.tolist() == [0, 1, 2, 3, 4]
    assert superseded(one) == []
    assert one.statistics().n == 5


def test_statistics_leave_out_what_is_superseded_and_count_nan() -> None:
    one = series()
    add(one, [0, 1, 2], values=[5.0, NAN, 100.0])
    assert one.statistics() == (3, 0, 2, 0.0, 2.0, 100.0, 5.0, 100.0, 1)
    add(one, [3], values=[-1.0])
    assert one.statistics() == (4, 0, 3, 0.0, 3.0, -1.0, -1.0, 100.0, 1)
    add(one, [1], values=[7.0])
    assert one.statistics() == (2, 0, 1, 0.0, 4.0, 7.0, 5.0, 7.0, 0)


def test_statistics_of_nan_only_give_nan_until_a_number_comes() -> None:
    one = series()
    add(one, [0], values=[NAN])
    assert np.isnan([one.statistics().min, one.statistics().max]).all()
    add(one, [1], values=[2.0])
    assert (one.statistics().min, one.statistics().max, one.statistics().nan) == (2.0, 2.0, 1)


def _plain_superseded(steps: list[int]) -> list[int]:
    """The rule as one says it: each restart overtakes the earlier points from its step on."""
    gone: set[int] = set()
    for i in range(1, len(steps)):
        if steps[i] < steps[i - 1]:
            gone.update(j for j in range(i) if steps[j] >= steps[i])
    return sorted(gone)


@given(st.lists(st.integers(-3, 12), min_size=1, max_size=60), st.integers(1, 7))
def test_superseded_points_are_those_of_the_rule_however_they_come(
    steps: list[int], batch: int
) -> None:
    one = series()
    for at in range(0, len(steps), batch):
        add(one, steps[at : at + batch])
        one.columns()
    assert superseded(one) == _plain_superseded(steps)
    live = [s for i, s in enumerate(steps) if i not in _plain_superseded(steps)]
    assert one.statistics()[:3] == (len(live), live[0], live[-1])


@pytest.mark.parametrize("step", [np.iinfo(np.int64).max, np.iinfo(np.int64).min])
def test_extreme_steps_are_handled_like_others(step: int) -> None:
    parts = [Part(0, "f", 0, 3, 0.0, 1.0)]
    assert find_restarts(np.array([-1, step, 0]), parts).superseded.tolist() == (
        [False, True, False] if step > 0 else [True, False, False]
    )
