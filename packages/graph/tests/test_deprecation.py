"""Decorators that warn of deprecated functions and arguments."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.platform import deprecation


@pytest.fixture
def warnings(monkeypatch):
    found: list[str] = []
    monkeypatch.setattr(hr.logging, "warning", lambda msg, *args: found.append(msg % args))
    monkeypatch.setattr(
        "headrace.graph.platform.logging.warning", lambda msg, *args: found.append(msg % args)
    )
    return found


def test_a_deprecated_function_warns_once(warnings):
    @hr.contrib.framework.deprecated("2020-01-01", "Use other.")
    def function(a):
        """Doc."""
        return a + 1

    assert function(1) == function(a=1) == 2
    assert len(warnings) == 1 and "after 2020-01-01" in warnings[0] and "Use other." in warnings[0]
    assert function.__doc__ == "Doc."

    @deprecation.deprecated(None, "Use other.", warn_once=False)
    def always():
        return None

    always(), always()
    assert len(warnings) == 3 and "in a future version" in warnings[-1]


def test_deprecated_arguments_warn_where_they_are_given(warnings):
    @hr.contrib.framework.deprecated_args(None, "Use b.", "a", ("c", None))
    def function(a=1, b=2, c=None):
        return a, b, c

    assert function(b=3, c=None) == (1, 3, None) and not warnings
    function(5), function(c=4)
    assert len(warnings) == 2 and "with a is deprecated" in warnings[0]

    @hr.contrib.framework.deprecated_arg_values(None, "Leave it out.", mode="old")
    def other(mode="new"):
        return mode

    assert other() == "new" and other("old") == "old"
    assert len(warnings) == 3 and "mode=old" in warnings[-1]


def test_a_renamed_argument_has_one_value():
    look = deprecation.deprecated_argument_lookup
    assert look("axis", 1, "dim", None) == look("axis", None, "dim", 1) == 1
    with pytest.raises(ValueError, match="Cannot specify both 'dim' and 'axis'"):
        look("axis", 1, "dim", 2)


def test_tf_export_changes_nothing():
    def function():
        return None

    assert deprecation.tf_export("a.b", v1=["c"])(function) is function
