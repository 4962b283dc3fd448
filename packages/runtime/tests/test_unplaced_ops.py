"""What is logged of ops that a device has no kernel for.

Modules: passes/unplaced_ops.
"""

from __future__ import annotations

import logging

import pytest

from headrace.runtime.passes import unplaced_ops


@pytest.fixture(autouse=True)
def nothing_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unplaced_ops, "_listed", set())


def test_an_op_is_listed_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headrace.runtime")
    unplaced_ops.list_unplaced_ops({"LRN (float)", "Betainc (double)"}, False, "GPU")
    unplaced_ops.list_unplaced_ops({"LRN (float)"}, True, "GPU")
    unplaced_ops.list_unplaced_ops({"LRN (float)", "LRN (half)"}, False, "GPU")
    assert caplog.messages == [
        "these ops have no GPU kernel and run on the CPU: Betainc (double), LRN (float)",
        "these ops have no GPU kernel and run on the CPU: LRN (half)",
    ]


@pytest.mark.parametrize("requested", [True, False])
def test_it_is_a_warning_where_a_device_was_requested(
    requested: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headrace.runtime")
    unplaced_ops.list_unplaced_ops({"LRN (float)"}, requested, "GPU")
    assert [r.levelname for r in caplog.records] == ["WARNING" if requested else "INFO"]
