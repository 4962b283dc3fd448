"""Op templates: signatures prepared for building nodes, with caches of inferred attributes."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.dtypes import DType, as_dtype
from headrace.formats.op_signature import NO_DEFAULT, Signature
from headrace.graph.framework.attributes import AttrSet, plain_value
from headrace.graph.framework.operation import Operation

_MAX_SETS_KEPT = 512  # size of each cache of attribute sets


class OpTemplate:
    """The signature of an op, prepared for building nodes.

    Attributes:
      simple: whether no input is a list.
      has_function: whether an attribute is a function.
      has_ref: whether an input is a reference to a variable.
      pair: whether the inputs are two tensors of one dtype.
      by_types: cache of attribute sets by input DataType numbers, for calls without attributes.
      by_attrs: cache for calls with attributes.
    """

    __slots__ = (
        "attr_names",
        "attrs",
        "by_attrs",
        "by_types",
        "has_function",
        "has_ref",
        "inferred",
        "inputs",
        "n_inputs",
        "name",
        "needs_repr",
        "pair",
        "result",
        "signature",
        "simple",
    )

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.name = signature.name
        self.inputs = signature.inputs
        self.n_inputs = len(signature.inputs)
        self.attrs = signature.attrs
        self.attr_names = frozenset([a.name for a in signature.attrs])
        self.simple = not any(arg.is_list for arg in signature.inputs)
        self.has_function = any("func" in attr.kind for attr in signature.attrs)
        self.has_ref = any(arg.is_ref for arg in signature.inputs)
        self.pair = (
            self.simple
            and self.n_inputs == 2
            and signature.inputs[0].type_attr == signature.inputs[1].type_attr != ""
            and not self.has_ref
            and len(signature.outputs) == 1
            and not signature.outputs[0].is_list
        )
        inferred: set[str] = set()
        for arg in signature.inputs:
            inferred.update((arg.type_attr, arg.number_attr, arg.type_list_attr))
        inferred.discard("")
        self.inferred = frozenset(inferred)
        # 0.0 and -0.0 are equal keys, but different attributes.
        self.needs_repr = any("float" in a.kind for a in signature.attrs)
        self.by_types: dict[Any, AttrSet] = {}
        self.by_attrs: dict[Any, AttrSet] = {}
        self.result = _result_shape(signature)


templates: dict[str, OpTemplate] = {}


def template_of(op_type: str) -> OpTemplate:
    """Returns the template of an op. Raises: NotFoundError for an unknown op."""
    template = templates.get(op_type)
    if template is None:
        template = templates[op_type] = OpTemplate(op_catalogue.signature(op_type))
    return template


def attr_set_of(
    template: OpTemplate, tensors: list[Any], inferred: dict[str, Any], explicit: dict[str, Any]
) -> AttrSet:
    """Returns the attribute set of a node; nodes with equal attributes share it.

    Args:
      tensors: converted inputs, in order.
      inferred: attributes inferred from the inputs.
      given: attributes given by the caller.
    Raises: TypeError for a missing attribute, a value of another kind or a dtype that is not
      allowed; ValueError as plain_value.
    """
    keys = _memo_keys(template, tensors, explicit)
    if keys is not None:
        table, key = keys
        kept = table.get(key)
        if kept is not None:
            return kept
    values: dict[str, Any] = {}
    for attr in template.attrs:
        name = attr.name
        if name in inferred:
            values[name] = inferred[name]
            if attr.allowed and name not in explicit:
                _check_allowed(template, attr, inferred[name])
        elif name in explicit and explicit[name] is not None:
            values[name] = plain_value(template.name, attr, explicit[name])
        elif name in explicit and attr.kind == "shape":
            values[name] = None
        elif attr.default is not NO_DEFAULT:
            values[name] = attr.default
        else:
            raise TypeError(f"{template.name} misses attribute {name!r} ({attr.kind}): give it")
    created = AttrSet(
        template.name, template.signature, values, output_types(template.signature, values)
    )
    if keys is not None:
        if len(table) >= _MAX_SETS_KEPT:
            table.clear()
        table[key] = created
    return created


def _memo_keys(
    template: OpTemplate, tensors: list[Any], explicit: dict[str, Any]
) -> tuple[dict[Any, AttrSet], Any] | None:
    if not template.simple:
        types: list[Any] = []
        for t in tensors:
            if type(t) is list:
                types.append(tuple([x.dtype.as_datatype_enum for x in t]))
            else:
                types.append(t.dtype.as_datatype_enum)
    else:
        types = [t.dtype.as_datatype_enum for t in tensors]
    if not explicit:
        return template.by_types, tuple(types)
    if template.needs_repr:
        for value in explicit.values():
            if not isinstance(value, (int, float, str, DType, type(None))):
                return None
        return template.by_attrs, (*types, repr(explicit))
    try:
        key = (*types, *explicit.items(), *map(type, explicit.values()))
        hash(key)
    except TypeError:
        return None
    for value in explicit.values():
        if not isinstance(value, (int, float, str, bytes, DType, tuple, type(None))):
            return None  # an array or a message: large, and rarely repeated
    return template.by_attrs, key


def _check_allowed(template: OpTemplate, attr: Any, value: Any) -> None:
    for v in value if isinstance(value, tuple) else (value,):
        if v not in attr.allowed:
            arg = next(
                (a.name for a in template.inputs if attr.name in (a.type_attr, a.type_list_attr)),
                attr.name,
            )
            allowed = ", ".join([as_dtype(a).name for a in attr.allowed])
            raise TypeError(
                f"Value passed to parameter '{arg}' of {template.name} has DataType "
                f"{as_dtype(v).name} not in list of allowed values: {allowed}"
            )


def output_types(signature: Signature, values: dict[str, Any]) -> tuple[DType, ...]:
    """Returns the DType of each output, from the attributes."""
    types: list[DType] = []
    for arg in signature.outputs:
        if arg.type_list_attr:
            numbers = values[arg.type_list_attr]
        else:
            number = arg.dtype or values[arg.type_attr]
            numbers = (number,) * (values[arg.number_attr] if arg.number_attr else 1)
        for number in numbers:
            types.append(as_dtype(number + 100 if arg.is_ref else number))
    return tuple(types)


def _result_shape(signature: Signature) -> Callable[..., Any] | None:
    """Returns the type of the result: a named tuple, list, or None for at most one output."""
    if len(signature.outputs) < 2:
        return list if signature.outputs and signature.outputs[0].is_list else None
    names = [arg.name for arg in signature.outputs]
    return namedtuple(signature.name.lstrip("_"), names, rename=True)


def pack_outputs(template: OpTemplate, attr_set: AttrSet, node: Operation) -> Any:
    outputs = node.outputs
    result = template.result
    if result is None:
        return outputs[0] if outputs else node
    if result is list:
        if not outputs and template.signature.outputs[0].type_list_attr:
            return node  # such as a call of a function without results
        return list(outputs)
    parts: list[Any] = []
    at = 0
    for arg in template.signature.outputs:
        if not arg.is_list:
            parts.append(outputs[at])
            at += 1
            continue
        count = (
            attr_set.values[arg.number_attr]
            if arg.number_attr
            else len(attr_set.values[arg.type_list_attr])
        )
        parts.append(list(outputs[at : at + count]))
        at += count
    return result(*parts)
