"""Ops with handles: shapes of the graph hold in runs, and graphs run alike after a reload."""

from __future__ import annotations

import numpy as np
import pytest
from op_programs import Program, programs
from program_runs import Built, outcomes

from headrace.formats.errors import DeadlineExceededError, OpError

ALL = programs()


@pytest.mark.parametrize("program", ALL, ids=lambda p: p.name)
def test_the_shapes_of_a_program_hold_when_it_runs(program: Program) -> None:
    built = Built(program)
    values = 0
    for names, outcome in zip(built.runs, outcomes(built.graph, built.runs), strict=True):
        assert not isinstance(outcome, DeadlineExceededError)
        if isinstance(outcome, OpError):
            continue
        tensors = [built.graph.get_tensor_by_name(n) for n in names if ":" in n]
        for tensor, value in zip(tensors, outcome, strict=True):
            assert tensor.dtype.base_dtype.is_compatible_with(value.dtype), tensor
            assert tensor.shape.is_compatible_with(value.shape), (tensor, value.shape)
        values += 1
    assert values, "every run was rejected"


@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
@pytest.mark.parametrize("program", ALL, ids=lambda p: p.name)
def test_a_program_runs_alike_after_a_reload(program: Program, text: bool) -> None:
    built = Built(program)
    graph = built.reloaded(text)
    for name in [n.name for n in built.graph_def.node]:
        one, other = built.graph.get_operation_by_name(name), graph.get_operation_by_name(name)
        for a, b in zip(one.outputs, other.outputs, strict=True):
            assert a.dtype == b.dtype
            assert a.shape.is_compatible_with(b.shape), name
    pairs = zip(outcomes(built.graph, built.runs), outcomes(graph, built.runs), strict=True)
    for one, other in pairs:
        if isinstance(one, OpError) or isinstance(other, OpError):
            assert type(one) is type(other), (one, other)
        elif not program.random:
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)
