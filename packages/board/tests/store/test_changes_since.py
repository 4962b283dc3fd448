"""Marks: what has changed since, and what is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headrace.board.store.run import Run
from headrace.board.store.run_index import RunIndex
from headrace.board.store.tag_entry import TagEntry
from headrace.board.updates.changes_since import ChangesSince


@pytest.fixture
def index() -> RunIndex:
    return RunIndex()


@pytest.fixture
def changes(index: RunIndex) -> ChangesSince:
    board: Any = SimpleNamespace(index=index)
    return ChangesSince(board, "boot")


def add(index: RunIndex, run: Run, tag: str, file: int, description: str = "") -> Any:
    series = index.add_series(run, TagEntry(tag, "scalar", "", "", description, b""))
    rows = (np.array([len(series)]), np.array([1.0]), np.array([2.0]))
    series.add_points(file, f"file{file}", rows, False, [])  # type: ignore[union-attr]
    return series


def remove_file(index: RunIndex, run: Run, file: int) -> None:
    for series in [*run.series.values()]:
        series.drop_file(file)
        if not len(series):
            index.remove_series(series)


def names(of: Any) -> list[str]:
    return [tag.name for tag in of.tags]


def test_a_series_that_its_rewritten_file_lacks_is_gone(
    index: RunIndex, changes: ChangesSince
) -> None:
    run = index.add_run("a")
    lost = add(index, run, "lost", 0)
    kept = add(index, run, "kept", 0)
    mark = changes.series(None).mark
    remove_file(index, run, 0)
    add(index, run, "kept", 1)
    new = changes.series(mark)
    assert new.gone == [(lost.tag.id, run.id)]
    assert [series.tag for series in new.figures.series] == [kept.tag]
    assert changes.series(None).gone == []
    assert changes.series(new.mark).gone == []
    add(index, run, "lost", 1)
    again = changes.series(mark)
    assert again.gone == [] and len(again.figures.series) == 2


def test_a_tag_that_no_run_had_for_a_while_is_sent_again(
    index: RunIndex, changes: ChangesSince
) -> None:
    first = index.add_run("a")
    add(index, first, "loss", 0)
    add(index, index.add_run("c"), "acc", 2)
    index.drop_run(first)
    now = changes.series(None)
    assert names(now) == ["acc"] and [tag.name for tag in index.tags()] == ["acc"]
    second = index.add_run("b")
    add(index, second, "loss", 1)
    add(index, second, "acc", 1)
    new = changes.series(now.mark)
    assert names(new) == ["loss"] and len(new.figures.series) == 2
    index.drop_run(first)  # once more
    assert [tag.name for tag in index.tags()] == ["loss", "acc"]


def test_texts_that_a_later_file_brings_are_sent(index: RunIndex, changes: ChangesSince) -> None:
    run = index.add_run("a")
    add(index, run, "loss", 0)
    mark = changes.series(None).mark
    add(index, run, "loss", 0)
    without = changes.series(mark)
    assert without.tags == [] and without.figures.columns["n"].tolist() == [2]
    add(index, run, "loss", 0, "the loss")
    (tag,) = changes.series(without.mark).tags
    assert tag.description == "the loss"


def test_a_mark_stays_the_same_while_nothing_changes(
    index: RunIndex, changes: ChangesSince
) -> None:
    run = index.add_run("a")
    add(index, run, "loss", 0)
    first = changes.runs(None)
    assert [changes.series(None).mark, changes.runs(first.mark).mark] == [first.mark] * 2
    index.problems.put("torn", "note", run=run.id)
    new = changes.runs(first.mark)
    assert [row["problems"] for row in new.runs] == [1]
    assert changes.series(first.mark).figures.series == []
    index.drop_run(run)
    assert changes.runs(new.mark).gone == [run.id]


def test_totals_follow_rows_and_series(index: RunIndex) -> None:
    run = index.add_run("a")
    for file in range(3):
        add(index, run, "loss", file)
    add(index, run, "acc", 0)
    assert index.totals() == (1, 2, 4, 0)
    remove_file(index, run, 0)
    assert index.totals() == (1, 1, 2, 0)
