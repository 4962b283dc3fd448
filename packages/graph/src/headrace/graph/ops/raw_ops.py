"""All ops of the catalogue as functions with keyword arguments: `raw_ops.MatMul(a=x, b=y)`.

A function is created when it is first used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.op_signature import NO_DEFAULT, Signature
from headrace.graph.builder.op_builder import op
from headrace.graph.platform.missing_name import MissingNameError


def _make(op_type: str) -> Callable[..., Any]:
    signature = op_catalogue.signature(op_type)
    inputs = [arg.name for arg in signature.inputs]

    def raw_op(*, name: str | None = None, **arguments: Any) -> Any:
        missing = [i for i in inputs if i not in arguments]
        if missing:
            raise TypeError(f"{op_type} misses inputs {', '.join(missing)}: give them by keyword")
        values = [arguments.pop(i) for i in inputs]
        return op(op_type, *values, name=name, **arguments)

    raw_op.__signature__ = _parameters(signature)  # type: ignore[attr-defined]
    raw_op.__name__ = raw_op.__qualname__ = op_type
    raw_op.__module__ = __name__
    raw_op.__doc__ = f"Adds a node: {signature}"
    return raw_op


def _parameters(signature: Signature) -> inspect.Signature:
    """Returns: inputs, attributes and `name`, all by keyword; what is inferred has a default."""
    by_keyword = inspect.Parameter.KEYWORD_ONLY
    inferred = {a for arg in signature.inputs for a in (arg.type_attr, arg.number_attr)}
    inferred |= {arg.type_list_attr for arg in signature.inputs}
    parameters = [inspect.Parameter(arg.name, by_keyword) for arg in signature.inputs]
    for attr in signature.attrs:
        default: Any = inspect.Parameter.empty if attr.default is NO_DEFAULT else attr.default
        if default is inspect.Parameter.empty and attr.name in inferred:
            default = None
        parameters.append(inspect.Parameter(attr.name, by_keyword, default=default))
    parameters.append(inspect.Parameter("name", by_keyword, default=None))
    return inspect.Signature(parameters)


def __getattr__(name: str) -> Any:
    if name.startswith("__") or op_catalogue.find(name) is None:
        problem = f"hr.raw_ops (module {__name__!r}) has no op {name!r} in the catalogue"
        raise MissingNameError(problem, name, op_catalogue.names)
    function = globals()[name] = _make(name)
    return function


def __dir__() -> list[str]:
    return op_catalogue.names()
