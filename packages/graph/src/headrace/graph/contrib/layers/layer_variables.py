"""Model variables of the layers: names, collections, and the part after the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.contrib.framework.variables import model_variable
from headrace.graph.contrib.layers.named_outputs import (
    collect_named_outputs,
    get_variable_collections,
)
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.variables.partitioned_variable import PartitionedVariable

BIAS_AND_KERNEL = {"bias": "biases", "kernel": "weights"}


def model_variable_getter(rename: Mapping[str, str] | None = None) -> Callable[..., Any]:
    """Returns a custom getter that creates model variables.

    Args:
      rename: new last name components by those that the layer classes use.
    """

    def custom_getter(getter: Callable[..., Any], name: str, **kwargs: Any) -> Any:
        scope, slash, last = name.rpartition("/")
        for unused in ("reuse", "validate_shape", "constraint"):
            kwargs.pop(unused, None)
        renamed = f"{scope}{slash}{(rename or {}).get(last, last)}"
        return model_variable(renamed, custom_getter=getter, **kwargs)

    return custom_getter


def add_to_collections(variable: Any, collections: Any, name: str) -> None:
    """Adds a variable, or its parts, to the collections of its name, once."""
    graph = get_default_graph()
    parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
    for key in get_variable_collections(collections, name) or ():
        for part in parts:
            if not any(part is held for held in graph.get_collection(key)):
                graph.add_to_collection(key, part)


def finish_layer(
    outputs: Tensor,
    normalizer_fn: Callable[..., Any] | None,
    normalizer_params: Mapping[str, Any] | None,
    activation_fn: Callable[..., Any] | None,
    outputs_collections: Any,
    scope: str,
) -> Tensor:
    """Applies the normalizer and the activation, and collects the result."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    result: Tensor = collect_named_outputs(outputs_collections, scope, outputs)
    return result


def check_layout(data_format: str | None, *accepted: str | None) -> str:
    """Returns the layer classes' name of a data format.

    Raises: ValueError if it is not one of the accepted ones.
    """
    if data_format not in accepted:
        names = " or ".join(str(name) for name in accepted if name)
        raise ValueError(f"data_format has to be either {names}. Received: {data_format}")
    return "channels_first" if (data_format or "").startswith("NC") else "channels_last"
