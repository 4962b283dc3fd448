"""The error of a missing name looks for close ones only when its text is read."""

from __future__ import annotations

from headrace.graph.platform.missing_name import MissingNameError


def test_close_names_are_looked_for_late():
    asked = []
    error = MissingNameError("no 'matmull'", "matmull", lambda: asked.append(1) or ["matmul", "x"])
    assert asked == []
    assert str(error) == "no 'matmull': did you mean matmul?" and asked == [1]
    assert str(MissingNameError("no 'q'", "q", lambda: ["matmul"])) == "no 'q'"
