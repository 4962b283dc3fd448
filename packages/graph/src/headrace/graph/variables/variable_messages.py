"""Converts variables to VariableDef messages and back."""

from __future__ import annotations

from typing import Any

from headrace.graph.framework import import_scope as scope_names
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.save_slice_info import SaveSliceInfo


def variable_def(variable: Any, snapshot: str, is_resource: bool, export_scope: str | None) -> Any:
    """Returns the VariableDef message of a variable, or None if it is outside of export_scope."""
    from headrace.formats.proto.variable_pb2 import VariableDef

    if export_scope is not None and not variable._tensor_name.startswith(export_scope):
        return None

    def stripped(name: str) -> str:
        return scope_names.strip_name_scope(name, export_scope)

    message = VariableDef(
        variable_name=stripped(variable._tensor_name),
        initializer_name=stripped(variable.initializer.name),
        snapshot_name=stripped(snapshot),
        is_resource=is_resource,
        trainable=variable._trainable,
        synchronization=f"VARIABLE_SYNCHRONIZATION_{variable._synchronization.name}",
        aggregation=f"VARIABLE_AGGREGATION_{variable._aggregation.name}",
    )
    if variable._initial_value is not None:
        message.initial_value_name = stripped(variable._initial_value.name)
    if variable._save_slice_info is not None:
        message.save_slice_info_def.MergeFrom(variable._save_slice_info.to_proto(export_scope))
    return message


def read_variable_def(variable: Any, message: Any, import_scope: str | None) -> tuple[Any, Any]:
    """Sets the common attributes; returns the elements of variable_name and snapshot_name."""
    graph = get_default_graph()

    def element(name: str) -> Any:
        return graph.as_graph_element(scope_names.prepend_name_scope(name, import_scope))

    variable._trainable = message.trainable or variable._listed_as_trainable(message)
    variable._synchronization = VariableSynchronization(message.synchronization)
    variable._aggregation = VariableAggregation(message.aggregation)
    variable._initializer_op = element(message.initializer_name)
    variable._initial_value = (
        element(message.initial_value_name) if message.initial_value_name else None
    )
    if message.HasField("save_slice_info_def"):
        variable._save_slice_info = SaveSliceInfo(
            save_slice_info_def=message.save_slice_info_def, import_scope=import_scope
        )
    return element(message.variable_name), element(message.snapshot_name)
