"""get_variable: returns a variable by name, or creates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import (
    Collections,
    Constraint,
    Device,
    DTypeLike,
    Initializer,
    Partitioner,
    Regularizer,
    ShapeLike,
)
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.variable import Variable
from headrace.graph.variables.variable_scope import get_variable_scope
from headrace.graph.variables.variable_store import get_store


def get_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    collections: Collections | None = None,
    caching_device: Device | None = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Constraint | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Variable:
    """Returns a variable of the current variable scope by name, or creates it.

    Args:
      name: name in the scope.
      shape: shape of a new variable, or required shape of an existing one.
      dtype: dtype; by default that of the scope, or float32.
      initializer: `f(shape, dtype)` or a value; by default that of the scope, or Glorot uniform.
      regularizer: function from the variable to a loss, added to
        GraphKeys.REGULARIZATION_LOSSES.
      partitioner: `f(shape, dtype)` that returns the number of partitions of each axis.
      custom_getter: `f(getter, name, **kwargs)`, called instead of the default getter.
      trainable, collections, caching_device, validate_shape, use_resource, constraint,
        synchronization, aggregation: as in Variable.
    Returns: a Variable, or a PartitionedVariable.
    Raises: ValueError if the variable exists and the scope does not reuse, or does not exist and
      the scope requires it, or for another shape or dtype.
    """
    scope = get_variable_scope()
    with name_scope(None):
        return scope.get_variable(
            get_store(),
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            partitioner=partitioner,
            validate_shape=validate_shape,
            use_resource=use_resource,
            custom_getter=custom_getter,
            constraint=constraint,
            synchronization=synchronization,
            aggregation=aggregation,
        )


def get_local_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = False,
    collections: Collections | None = None,
    caching_device: Device | None = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Constraint | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Variable:
    """Same as get_variable, for non-trainable variables in GraphKeys.LOCAL_VARIABLES."""
    collections = list(collections or ())
    if GraphKeys.LOCAL_VARIABLES not in collections:
        collections.append(GraphKeys.LOCAL_VARIABLES)
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
