"""Reference, resource and partitioned variables: nodes and messages."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.initial_dependencies import without_uninitialized
from headrace.graph.variables.partitioned_variable import PartitionedVariable, split_shape
from headrace.graph.variables.ref_variable import RefVariable
from headrace.graph.variables.resource_variable import ResourceVariable
from headrace.graph.variables.save_slice_info import SaveSliceInfo
from headrace.graph.variables.variable_messages import variable_def
from headrace.graph.variables.variable_store import get_store


@pytest.mark.parametrize(("use_resource", "kind"), [(False, RefVariable), (True, ResourceVariable)])
def test_use_resource_chooses_the_kind(use_resource, kind):
    variable = hr.Variable(1.0, use_resource=use_resource)
    assert type(variable) is kind and isinstance(variable, hr.Variable)
    message = variable_def(variable, "snapshot:0", use_resource, None)
    assert message.is_resource == use_resource
    assert type(hr.Variable.from_proto(variable.to_proto())) is kind


def test_message_preserves_synchronization_and_aggregation():
    variable = hr.Variable(
        1.0,
        synchronization=hr.VariableSynchronization.ON_WRITE,
        aggregation=hr.VariableAggregation.SUM,
    )
    back = hr.Variable.from_proto(variable.to_proto())
    assert back.synchronization is VariableSynchronization.ON_WRITE
    assert back.aggregation is VariableAggregation.SUM


def test_an_initial_value_reads_initial_values():
    a = hr.Variable(1.0)
    value = without_uninitialized("b", a.read_value() + 1.0)
    assert value.op.type == "AddV2" and value.op.inputs[0].op is not a.read_value().op


def test_partitions_cover_the_variable():
    parts = split_shape([5, 2], [2, 1])
    assert parts == [([0, 0], [3, 2]), ([3, 0], [2, 2])]
    assert SaveSliceInfo("v", [5, 2], *parts[1]).spec == "5 2 3,2:0,2"


def test_store_returns_variables_of_get_variable():
    whole = hr.get_variable(
        "w", [4, 2], partitioner=hr.fixed_size_partitioner(2), initializer=hr.zeros_initializer()
    )
    single = hr.get_variable("s", [2])
    assert isinstance(whole, PartitionedVariable)
    assert get_store().partitioned == {"w": whole} and get_store().vars["s"] is single
