"""Variables with collections for models, and queries of collections."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation
from headrace.graph.training.global_step import assert_global_step, get_global_step
from headrace.graph.typing.aliases import (
    Collections,
    Device,
    DTypeLike,
    Initializer,
    Partitioner,
    Regularizer,
    ShapeLike,
    TensorLike,
    VariableLike,
)
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.variable import Variable
from headrace.graph.variables.variable_scope import VariableScope, get_variable_scope


def assert_or_get_global_step(
    graph: Graph | None = None, global_step_tensor: VariableLike | None = None
) -> Any:
    """Checks a global step, or returns that of the graph if none is given.

    Raises: TypeError if it is not an integer scalar.
    """
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


# ---- creation --------------------------------------------------------------------------------


@add_arg_scope
def variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    collections: Collections | None = None,
    caching_device: Device | None = None,
    device: Device | None = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Returns a variable of the current variable scope by name, or creates it.

    Args:
      device: device of the variable, or a function that returns it.
      custom_getter: called instead of get_variable, with the same arguments.
      the others: as in get_variable.
    Raises: as get_variable.
    """
    getter: Callable[..., Any] = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    kept = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    with get_default_graph().device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(kept)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
def model_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = "float32",
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    collections: Collections | None = None,
    caching_device: Device | None = None,
    device: Device | None = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Same as variable, and adds it to GraphKeys.GLOBAL_VARIABLES and MODEL_VARIABLES."""
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=[
            *(collections or ()),
            GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.MODEL_VARIABLES,
        ],
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def local_variable(
    initial_value: TensorLike,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Variable:
    """Creates a variable that is not trained, in GraphKeys.LOCAL_VARIABLES."""
    return _untrained(GraphKeys.LOCAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def global_variable(
    initial_value: TensorLike,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Variable:
    """Creates a variable that is not trained, in GraphKeys.GLOBAL_VARIABLES."""
    return _untrained(GraphKeys.GLOBAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def _untrained(
    key: str,
    initial_value: TensorLike,
    validate_shape: bool,
    name: str | None,
    use_resource: bool | None,
) -> Variable:
    return Variable(
        initial_value,
        trainable=False,
        collections=[key],
        validate_shape=validate_shape,
        use_resource=use_resource,
        name=name,
    )


def add_model_variable(var: Variable) -> None:
    """Adds a variable to GraphKeys.MODEL_VARIABLES unless it is there."""
    graph = get_default_graph()
    if not any(v is var for v in graph.get_collection(GraphKeys.MODEL_VARIABLES)):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# ---- queries ---------------------------------------------------------------------------------


def get_variables(
    scope: str | VariableScope | None = None,
    suffix: str | None = None,
    collection: str = GraphKeys.GLOBAL_VARIABLES,
) -> list[Any]:
    """Returns the variables of a collection.

    Args:
      scope: a variable scope, or a regular expression that the start of a name matches.
      suffix: the end of a name, with or without the output number (`kernel` or `kernel:0`).
    """
    pattern = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        pattern = f"{pattern or ''}.*{suffix if ':' in suffix else suffix + ':'}"
    return get_default_graph().get_collection(collection, pattern)


def get_model_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Any]:
    """Returns the variables of GraphKeys.MODEL_VARIABLES; see get_variables."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Any]:
    """Returns the variables of GraphKeys.LOCAL_VARIABLES; see get_variables."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Any]:
    """Returns the variables of GraphKeys.TRAINABLE_VARIABLES; see get_variables."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: str | VariableScope | None = None) -> list[Any]:
    """Returns the global variables whose names end in suffix."""
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name: str, scope: str | VariableScope | None = None) -> list[Any]:
    """Returns the global variables whose last name component is given_name."""
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """Returns the variable of a full name, without the output number.

    Raises: ValueError if there is none, or more than one.
    """
    candidates = get_variables(scope=var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    exact = [v for v in candidates if v.op.name == var_op_name]
    if len(exact) != 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return exact[0]


def get_variable_full_name(var: Variable) -> str:
    """Returns the name of a variable in checkpoints: for a part, that of the whole."""
    info = getattr(var, "_save_slice_info", None)
    return str(info.full_name if info else var.op.name)


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[Any]:
    """Returns the global variables of some scopes.

    Args:
      include: names of scopes; None takes all variables.
      exclude: names of scopes whose variables are left out.
    Raises: TypeError if include or exclude is not a list or tuple.
    """
    for what, given in (("include", include), ("exclude", exclude)):
        if given is not None and not isinstance(given, (list, tuple)):
            raise TypeError(f"{what} is provided but is not a list or a tuple.")
    scopes = [None] if include is None else list(include)
    left_out = {id(v) for scope in exclude or () for v in get_variables(scope)}
    found = [v for scope in scopes for v in get_variables(scope)]
    return [v for v in found if id(v) not in left_out]


def filter_variables(
    var_list: Sequence[Variable],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Returns the variables whose operation names match a pattern to include and none to exclude.

    Args:
      include_patterns: regular expressions; None includes all variables.
      exclude_patterns: regular expressions; None excludes none.
      reg_search: search anywhere in the name, instead of matching from its start.
    """
    match: Any = re.search if reg_search else re.match

    def matches(patterns: Sequence[str], v: Any) -> bool:
        return any(match(pattern, v.op.name) for pattern in patterns)

    kept = [v for v in var_list if include_patterns is None or matches(include_patterns, v)]
    return [v for v in kept if exclude_patterns is None or not matches(exclude_patterns, v)]


class VariableDeviceChooser:
    """Device function that distributes variables over parameter servers in turn.

    Args:
      num_tasks: number of tasks of the job; 0 places all variables on the local device.
      job_name: name of the job.
      device_type: type of the device.
      device_index: index of the device.
      replica: index of the replica.
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ) -> None:
        self._job_name = job_name
        self._device_type = device_type
        self._device_index = device_index
        self._replica = replica
        self._num_tasks = num_tasks
        self._next_task_id = 0

    def __call__(self, op: Operation) -> str:
        from headrace.graph.framework.device_spec import DeviceSpec

        spec = DeviceSpec(
            replica=self._replica, device_type=self._device_type, device_index=self._device_index
        )
        if self._num_tasks > 0:
            task, self._next_task_id = (
                self._next_task_id,
                (self._next_task_id + 1) % self._num_tasks,
            )
            spec = spec.replace(job=self._job_name, task=task)
        return spec.to_string()
