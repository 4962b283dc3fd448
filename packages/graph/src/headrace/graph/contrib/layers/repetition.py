"""Layers in sequence: repeat and stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.framework.operation import Tensor
from headrace.graph.typing.aliases import TensorLike
from headrace.graph.variables.variable_scope import variable_scope


def repeat(
    inputs: TensorLike, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any
) -> Tensor:
    """Applies a layer repeatedly, with the same arguments.

    Args:
      repetitions: how often.
      layer: function `f(inputs, *args, **kwargs)` with an argument `scope`.
      kwargs: its arguments; `scope` is the outer scope, and the layers in it are numbered from 1.
    """
    calls: Iterable[Sequence[Any]] = [args] * repetitions
    return _applied(inputs, layer, calls, "Repeat", "repeat", kwargs)


def stack(
    inputs: TensorLike, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any
) -> Tensor:
    """Applies a layer once per element of stack_args, which are arguments such as its size.

    Args:
      layer: function `f(inputs, *args, **kwargs)` with an argument `scope`.
      stack_args: an argument, or a list of arguments, for each layer.
      kwargs: further arguments; `scope` is the outer scope, and the layers in it are numbered
        from 1.
    Raises: ValueError if stack_args is not a list or tuple.
    """
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    calls = [given if isinstance(given, (list, tuple)) else [given] for given in stack_args]
    return _applied(inputs, layer, calls, "Stack", "stack", kwargs)


def _applied(
    inputs: TensorLike,
    layer: Any,
    calls: Iterable[Sequence[Any]],
    default_scope: str,
    default_name: str,
    kwargs: dict[str, Any],
) -> Tensor:
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, default_scope, [inputs]):
        if scope is None:
            named = layer if hasattr(layer, "__name__") else getattr(layer, "func", None)
            scope = getattr(named, "__name__", default_name)
        outputs = convert_to_tensor(inputs)
        for number, args in enumerate(calls, 1):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{scope}_{number}"})
        return outputs
