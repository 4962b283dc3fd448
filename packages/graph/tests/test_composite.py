"""Structures of tensors are flattened for control flow and rebuilt."""

from __future__ import annotations

import headrace.graph as hr
from headrace.graph.control_flow import composite, context


def test_a_sparse_tensor_has_three_parts():
    sparse = hr.SparseTensor([[0]], [1.0], [2])
    assert composite.parts_of(sparse) == [sparse.indices, sparse.values, sparse.dense_shape]
    x = hr.constant(1.0)
    assert composite.parts_of(x) == [x]


def test_outer_tensors_enter_a_branch_through_a_switch():
    pred, x = hr.placeholder(hr.bool, []), hr.constant(1.0)
    seen = []

    def branch():
        seen.append(hr.get_default_graph()._get_control_flow_context())
        return x + 1.0

    hr.cond(pred, branch, lambda: x)
    assert isinstance(seen[0], context.CondContext)
    added = [op for op in hr.get_default_graph().get_operations() if op.type == "AddV2"]
    assert added[0].inputs[0].op.type == "Switch"
