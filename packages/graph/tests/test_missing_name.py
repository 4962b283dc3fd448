"""MissingNameError searches similar names only when its message is read."""

from __future__ import annotations

from headrace.graph.platform.missing_name import MissingNameError


def test_similar_names_are_searched_lazily():
    names = []
    error = MissingNameError("no 'matmull'", "matmull", lambda: names.append(1) or ["matmul", "x"])
    assert names == []
    assert str(error) == "no 'matmull': did you mean matmul?" and names == [1]
    assert str(MissingNameError("no 'q'", "q", lambda: ["matmul"])) == "no 'q'"
