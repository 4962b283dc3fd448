"""Resources other than variables, such as tables, and their initialisation."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope

Resource = collections.namedtuple("Resource", ["handle", "create", "is_initialized"])


def register_resource(
    handle: Tensor, create_op: Operation, is_initialized_op: Tensor, is_shared: bool = True
) -> None:
    """Registers a resource, so that initialize_resources creates it.

    Args:
      handle: its handle.
      create_op: the operation that creates it.
      is_initialized_op: whether it exists, [] bool.
      is_shared: shared by the workers of a cluster, instead of local to one.
    """
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    get_default_graph().add_to_collection(key, Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    """Returns the resources that workers share."""
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """Returns the resources that are local to a worker."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_RESOURCES)


def report_uninitialized_resources(
    resource_list: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """Returns the names of the resources that do not exist yet, [n] string.

    Args:
      resource_list: resources; None takes all.
    """
    listed = shared_resources() + local_resources() if resource_list is None else resource_list
    with name_scope(name), get_default_graph().device("/cpu:0"):
        names = [r.handle.name for r in listed]
        if not names:
            return convert_to_tensor([], "string")
        exist = op("Pack", [r.is_initialized for r in listed])
        missing = op("Reshape", op("Where", op("LogicalNot", exist)), [-1])
        result: Tensor = op("GatherV2", convert_to_tensor(names), missing, 0)
        return result


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Operation:
    """Returns an operation that creates some resources."""
    return group(*[r.create for r in resource_list], name=name)
