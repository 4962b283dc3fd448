"""Functional form of a layer class, which creates and applies a layer in one call."""

from __future__ import annotations

import inspect
from typing import Any


def functional(name: str, layer: Any, summary: str) -> Any:
    """Returns the functional form of a layer: `f(inputs, <arguments of the class>, reuse=None)`.

    Type checkers read its parameters from the stub of `hr.layers` (_build/stubs.py).

    Args:
      name: name of the function.
      layer: the layer class, defined in the calling module.
      summary: first sentence of the function's docstring.
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
        bound = signature.bind(*args, **kwargs).arguments
        inputs, reuse = bound.pop("inputs"), bound.pop("reuse", None)
        return layer(**bound, _scope=bound.get("name"), _reuse=reuse).apply(inputs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = layer.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = (
        f"{summary}; see {layer.__name__}.\n\n    Args:\n      inputs: inputs of the layer.\n"
        "      reuse: reuse the variables of an earlier layer of this name.\n    "
    )
    return function


def shown_with(layer: Any, **defaults: Any) -> Any:
    """Sets the defaults in the signature of a class to equivalent values, for documentation."""
    parameters = [
        p.replace(default=defaults[p.name]) if p.name in defaults else p
        for p in inspect.signature(layer).parameters.values()
    ]
    layer.__signature__ = inspect.Signature(parameters)
    return layer
