"""The list of problems is bounded and up to date."""

from __future__ import annotations

from headrace.board.store.problems import ERROR, NOTE, Problems


def test_the_same_problem_of_a_file_is_one_line_with_a_sum() -> None:
    problems = Problems()
    for offset in (10, 90):
        problems.add("bad", ERROR, run=1, file="f", offset=offset, bytes=5, text="bad records")
    problems.add("bad", ERROR, run=1, file="g", bytes=1)
    first, second = problems.list()
    assert (first.offset, first.bytes, first.count, first.text) == (10, 10, 2, "bad records")
    assert second.file == "g"
    assert problems.count_by_run() == {1: 2}


def test_put_replaces_a_problem_and_remove_withdraws_it() -> None:
    problems = Problems()
    problems.put("torn", NOTE, file="f", bytes=5)
    rev = problems.rev
    problems.put("torn", NOTE, file="f", bytes=5)
    assert problems.rev == rev
    problems.put("torn", NOTE, file="f", bytes=7)
    assert [problem.bytes for problem in problems.list()] == [7]
    problems.remove("torn", file="f")
    assert problems.list() == [] and problems.rev == rev + 2


def test_errors_come_first_and_the_list_has_an_end() -> None:
    problems = Problems()
    for i in range(6000):
        problems.add("nan", NOTE, run=0, subject=str(i))
    problems.add("dead", ERROR, file="f")
    listed = problems.list()
    assert len(listed) == 5001 and listed[0].kind == "too_many"
    assert listed[0].count == 1001


def test_problems_of_a_file_or_run_are_removed_with_it() -> None:
    problems = Problems()
    problems.add("a", NOTE, run=1, file="f")
    problems.add("a", NOTE, run=1, file="g")
    problems.add("a", NOTE, run=2)
    problems.forget(file="f")
    assert [problem.file for problem in problems.list()] == ["g", None]
    problems.forget(run=1)
    assert [problem.run for problem in problems.list()] == [2]
