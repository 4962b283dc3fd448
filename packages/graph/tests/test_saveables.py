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


def test_slots_of_a_partitioned_variable_are_saved_as_parts_of_whole_slots():
    w = hr.get_variable("w", [4, 2], partitioner=hr.fixed_size_partitioner(2))
    loss = hr.reduce_sum(w)
    hr.train.AdamOptimizer().minimize(loss)
    hr.train.ExponentialMovingAverage(0.9).apply(list(w))
    found = {(s.name, s.specs[0].slice_spec) for s in saveables.saveables_of(hr.global_variables())}
    slices = {"4 2 0,2:0,2", "4 2 2,2:0,2"}
    names = ("w", "w/Adam", "w/Adam_1", "w/ExponentialMovingAverage")
    assert {(name, part) for name in names for part in slices} <= found
    assert not any("part_" in name for name, _ in found)
