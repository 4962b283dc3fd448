"""get_variable: finds a variable by name, or makes it."""

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
    """The variable of a name in the current variable scope; made where it is not there.

    Args:
      name: within the scope.
      shape: of a new variable, or that a found one must have.
      dtype: float32 where nothing says another.
      initializer: `f(shape, dtype)`, or a value; the scope's where None, at last Glorot uniform.
      regularizer: variable -> loss, kept in GraphKeys.REGULARIZATION_LOSSES.
      partitioner: `f(shape, dtype)` -> number of parts on each axis.
      custom_getter: `f(getter, name, **kwargs)`, called in the place of the maker.
      trainable, collections, caching_device, validate_shape, use_resource, constraint,
        synchronization, aggregation: as for Variable.
    Raises: ValueError where the scope's reuse and what is there disagree, or shape or type do.
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
    """As get_variable: never trainable, and in GraphKeys.LOCAL_VARIABLES."""
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
