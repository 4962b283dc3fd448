"""The variables of normalisation layers."""

from __future__ import annotations

from typing import Any

from headrace.graph.contrib.framework.variables import model_variable
from headrace.graph.contrib.layers.named_outputs import get_variable_collections
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope


def channel_parameter(
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    regularizer: Any,
    collections: Any,
    trainable: bool,
    is_average: bool = False,
) -> Any:
    """Creates a variable such as beta; moving averages ignore the scope's partitioner."""

    def made() -> Any:
        return model_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            collections=get_variable_collections(collections, name),
            trainable=trainable,
        )

    if not is_average:
        return made()
    with variable_scope(get_variable_scope()) as scope:
        scope._partitioner = None
        return made()
