"""All ops of the catalogue as functions with keyword arguments: `raw_ops.MatMul(a=x, b=y)`.

A function is created when it is first used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.op_signature import NO_DEFAULT, Signature
from headrace.graph.builder.op_builder import op
from headrace.graph.platform.missing_name import MissingNameError


def _make(op_type: str) -> Callable[..., Any]:
    signature = op_catalogue.signature(op_type)
    inputs = [arg.name for arg in signature.inputs]
    parameters = _parameters(signature)
    known = frozenset(parameters.parameters)

    def raw_op(**arguments: Any) -> Any:
        unknown = [key for key in arguments if key not in known]
        if unknown:
            raise TypeError(f"{op_type}() got an unexpected keyword argument '{unknown[0]}'")
        missing = [i for i in inputs if i not in arguments]
        if missing:
            listed = ", ".join([f"'{i}'" for i in missing])
            raise TypeError(f"{op_type}() misses inputs {listed}: give them by keyword")
        values = [arguments.pop(i) for i in inputs]
        return op(op_type, *values, **arguments)

    raw_op.__signature__ = parameters  # type: ignore[attr-defined]
    raw_op.__name__ = raw_op.__qualname__ = op_type
    raw_op.__module__ = __name__
    raw_op.__doc__ = f"Adds a node: {signature}"
    return raw_op


def _parameters(signature: Signature) -> inspect.Signature:
    """Returns: inputs, attributes and `name`, all by keyword.

    Attributes that follow from the inputs are no parameters. Those without a default come first,
    as in TensorFlow.
    """
    by_keyword = inspect.Parameter.KEYWORD_ONLY
    inferred = {a for arg in signature.inputs for a in (arg.type_attr, arg.number_attr)}
    inferred |= {arg.type_list_attr for arg in signature.inputs}
    attrs = [attr for attr in signature.attrs if attr.name not in inferred]
    required = [attr.name for attr in attrs if attr.default is NO_DEFAULT]
    names = [arg.name for arg in signature.inputs] + required
    parameters = [inspect.Parameter(name, by_keyword) for name in names]
    for attr in attrs:
        if attr.default is not NO_DEFAULT:
            default = _public_default(attr.kind, attr.default)
            parameters.append(inspect.Parameter(attr.name, by_keyword, default=default))
    parameters.append(inspect.Parameter("name", by_keyword, default=None))
    return inspect.Signature(parameters)


def _public_default(kind: str, value: Any) -> Any:
    """Returns a default as a caller would write it: a DType, a list, a string."""
    if kind == "type":
        return as_dtype(value)
    if kind == "list(type)":
        return [as_dtype(v) for v in value]
    return list(value) if isinstance(value, tuple) and kind.startswith("list(") else value


def __getattr__(name: str) -> Any:
    if name.startswith("__") or op_catalogue.find(name) is None:
        problem = f"hr.raw_ops (module {__name__!r}) has no op {name!r} in the catalogue"
        raise MissingNameError(problem, name, op_catalogue.names)
    function = globals()[name] = _make(name)
    return function


def __dir__() -> list[str]:
    return op_catalogue.names()
