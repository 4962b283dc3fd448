"""Rewrites initial values that read other variables, so that initialisation has any order."""

from __future__ import annotations

from typing import Any

from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor


def without_uninitialized(name: str, value: Tensor) -> Tensor:
    """Replaces the variables that a value reads by their initialised values.

    This way all variables can be initialised in one run, in any order.
    """
    return _rewritten(name, value, {}, 0)


_STORAGE = ("Variable", "VariableV2", "VarHandleOp")


def _rewritten(name: str, tensor: Tensor, done: dict[Operation, Any], depth: int) -> Tensor:
    source = tensor.op
    if not source.inputs and source.type not in _STORAGE:
        return tensor
    if source in done:
        new = done[source]
    else:
        done[source] = source  # values in loops are left unchanged
        new = done[source] = _rewritten_op(name, source, done, depth + 1)
    return tensor if new is source else new.outputs[tensor.value_index]


def _rewritten_op(name: str, source: Operation, done: dict[Operation, Any], depth: int) -> Any:
    if source.type in ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp"):
        if source.type != "ReadVariableOp":
            return source
        found = _variable_of(source.inputs[0].op)
        return source if found is None else found.initialized_value().op
    if source.type in _STORAGE:
        found = _variable_of(source)
        if found is None or hasattr(found, "handle"):
            return source
        return found.initialized_value().op
    if depth > 500:
        return source
    inputs = [_rewritten(name, t, done, depth) for t in source.inputs]
    if all(a is b for a, b in zip(inputs, source.inputs)):
        return source
    graph = source.graph
    kind = "Switch" if source.type == "RefSwitch" else source.type
    new_name = f"{source.name}_{name}".replace(":", "_")
    with graph.name_scope(None):
        return graph.create_op(kind, inputs, name=new_name, attrs=source.node_def.attr)


def _variable_of(storage: Operation) -> Any:
    graph = storage.graph
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in graph.get_collection(key):
            if getattr(variable, "op", None) is storage:
                return variable
    return None
