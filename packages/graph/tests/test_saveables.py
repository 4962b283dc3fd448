"""Saveables, and the nodes of a Saver."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.checkpoints import saveables
from headrace.graph.checkpoints.save_nodes import add_save_nodes


def test_variables_are_saved_by_name():
    a, b = hr.Variable(1.0, name="a"), hr.Variable([2.0], name="b", use_resource=True)
    found = saveables.saveables_of([a, b])
    assert [s.name for s in found] == ["a", "b"]
    renamed = saveables.saveables_of({"other": a})
    assert [s.name for s in renamed] == ["other"]


def test_objects_that_are_not_variables_raise():
    with pytest.raises((TypeError, ValueError)):
        saveables.saveables_of([hr.constant(1.0)])


def test_a_saver_adds_save_and_restore_nodes():
    hr.Variable(1.0, name="a")
    saver = hr.train.Saver()
    types = {op.type for op in hr.get_default_graph().get_operations()}
    assert {"SaveV2", "RestoreV2"} <= types
    assert saver.saver_def.restore_op_name.startswith("save/restore_all")
    assert add_save_nodes.__module__ == "headrace.graph.checkpoints.save_nodes"
