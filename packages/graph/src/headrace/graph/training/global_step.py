"""The global step: the variable that counts training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import SessionLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import zeros_initializer

if TYPE_CHECKING:
    from headrace.graph.variables.variable import Variable


def global_step(sess: SessionLike, global_step_tensor: Tensor | Variable) -> int:
    """Returns the value of the global step in a session."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, or None: that of its collection, or `global_step:0`.

    Raises: TypeError if it is not an integer scalar.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif found:
        return None  # ambiguous
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Any:
    """Creates the global step, a non-trainable int64 scalar.

    Raises: ValueError if the graph already has one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype="int64",
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, or creates it."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Checks a global step. Raises: TypeError if it is not an integer scalar variable or tensor."""
    if not (isinstance(global_step_tensor, Tensor) or hasattr(global_step_tensor, "initializer")):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}'
        )
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def required_global_step(user: str) -> Any:
    """Returns the global step of the default graph. Raises: RuntimeError if there is none."""
    found = get_global_step()
    if found is None:
        raise RuntimeError(
            f"Global step should be created to use {user}: call "
            "hr.train.get_or_create_global_step() and increment it in the training operation"
        )
    return found
