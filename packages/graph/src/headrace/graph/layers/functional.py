"""A layer's function: makes the layer and applies it, in one call."""

from __future__ import annotations

import inspect
from typing import Any


def functional(name: str, layer: Any, says: str) -> Any:
    """The function of a layer class: `f(inputs, <the class's arguments>, reuse=None)`.

    Type checkers read its parameters in the stub of `hr.layers` (_build/stubs.py).

    Args:
      name: the function's own.
      layer: its class, in the module that calls.
      says: its docstring's first sentence.
    """
    own = [p for p in inspect.signature(layer).parameters.values() if p.kind is not p.VAR_KEYWORD]
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [
            inspect.Parameter("inputs", either, annotation="TensorLike"),
            *own,
            inspect.Parameter("reuse", either, default=None, annotation="bool | None"),
        ]
    )

    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        inputs, reuse = given.pop("inputs"), given.pop("reuse", None)
        return layer(**given, _scope=given.get("name"), _reuse=reuse).apply(inputs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = layer.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = (
        f"{says}; see {layer.__name__}.\n\n    Args:\n      inputs: of the layer.\n"
        "      reuse: take the variables that a layer of this name has made.\n    "
    )
    return function


def shown_with(layer: Any, **defaults: Any) -> Any:
    """The class, whose signature shows these defaults (equal in effect to those it has)."""
    parameters = [
        p.replace(default=defaults[p.name]) if p.name in defaults else p
        for p in inspect.signature(layer).parameters.values()
    ]
    layer.__signature__ = inspect.Signature(parameters)
    return layer
