"""Converts the input values of a new node to tensors, and infers its type attributes."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.formats.op_signature import NO_DEFAULT, Arg
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.framework.attributes import plain_value
from headrace.graph.framework.op_template import OpTemplate
from headrace.graph.framework.operation import Tensor


def convert_inputs(
    template: OpTemplate, inputs: tuple[Any, ...], attrs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Converts inputs to tensors, and infers type and length attributes from them."""
    known: dict[str, Any] = {}
    for attr in template.attrs:
        if attr.name in attrs and attr.name in template.inferred:
            known[attr.name] = plain_value(template.name, attr, attrs[attr.name])
    _infer_from_later_inputs(template, inputs, known)
    inferred_from: dict[str, str] = {}
    tensors: list[Any] = []
    for arg, value in zip(template.inputs, inputs):
        if arg.type_list_attr:
            tensors.append(_convert_type_list(template, arg, value, known))
        elif arg.number_attr:
            tensors.append(_convert_list(template, arg, value, known, inferred_from))
        else:
            tensors.append(_convert_one(template, arg, value, known, inferred_from))
    return tensors, known


def _infer_from_later_inputs(
    template: OpTemplate, inputs: tuple[Any, ...], known: dict[str, Any]
) -> None:
    """Infers the dtype of a Python value from a later tensor, as in op("AddV2", 1, x)."""
    for arg, value in zip(template.inputs, inputs):
        attr = arg.type_attr
        if not attr or attr in known or arg.number_attr:
            continue
        first = _declared_type(value)
        if first is not None:
            continue  # it is handled in order
        for other, later in zip(template.inputs, inputs):
            if other.type_attr == attr:
                candidates = (
                    later if other.number_attr and isinstance(later, (list, tuple)) else (later,)
                )
                for candidate in candidates:
                    dtype = _declared_type(candidate)
                    if dtype is not None:
                        known[attr] = dtype
                        break
                if attr in known:
                    break


def _declared_type(value: Any) -> int | None:
    """Returns the DataType number of a tensor or variable; None for arrays and Python values."""
    dtype = getattr(value, "dtype", None)
    return dtype.base_dtype.as_datatype_enum if isinstance(dtype, DType) else None


def _convert_one(
    template: OpTemplate, arg: Arg, value: Any, known: dict[str, Any], inferred_from: dict[str, str]
) -> Tensor:
    attr = arg.type_attr
    requested: int | None = arg.dtype or known.get(attr)
    preferred = None
    if requested is None:
        default = template.signature.attr(attr).default
        preferred = None if default is NO_DEFAULT else default
    dtype = None if requested is None else as_dtype(requested)
    if type(value) is Tensor:
        tensor = value
    else:
        try:
            tensor = convert_to_tensor(
                value, dtype, name=arg.name, preferred_dtype=preferred, as_ref=arg.is_ref
            )
        except ValueError as error:
            raise ValueError(
                f"Tried to convert '{arg.name}' of {template.name} to a tensor and failed. "
                f"Error: {error}"
            ) from error
        except TypeError as error:
            if dtype is None:
                raise
            raise TypeError(
                f"Expected {dtype.name} passed to parameter '{arg.name}' of op '{template.name}', "
                f"got {value!r} of type '{type(value).__name__}' instead. Error: {error}"
            ) from error
    _check_type(template, arg, tensor, requested, inferred_from)
    if attr and attr not in known:
        number = tensor.dtype.base_dtype.as_datatype_enum
        known[attr] = plain_value(template.name, template.signature.attr(attr), number)
    if attr:
        inferred_from.setdefault(attr, arg.name)
    return tensor


def _check_type(
    template: OpTemplate,
    arg: Arg,
    tensor: Tensor,
    requested: int | None,
    inferred_from: dict[str, str],
) -> None:
    has = tensor.dtype
    if arg.is_ref and not has.is_ref_dtype:
        raise TypeError(
            f"'{template.name}' Op requires that input '{arg.name}' be a mutable tensor "
            f"(e.g.: a hr.Variable), got {tensor!r}"
        )
    if requested is not None and has.base_dtype.as_datatype_enum != requested:
        other = inferred_from.get(arg.type_attr)
        if other is not None:
            raise TypeError(
                f"Input '{arg.name}' of '{template.name}' Op has type {has.base_dtype.name} that "
                f"does not match type {as_dtype(requested).name} of argument '{other}'."
            )
        raise TypeError(
            f"Input '{arg.name}' of '{template.name}' Op has type {has.base_dtype.name} that does "
            f"not match expected type of {as_dtype(requested).name}."
        )


def _convert_list(
    template: OpTemplate,
    arg: Arg,
    values: Any,
    known: dict[str, Any],
    inferred_from: dict[str, str],
) -> list[Tensor]:
    values = _as_list(template, arg, values)
    attr = arg.type_attr
    requested: int | None = arg.dtype or known.get(attr)
    if requested is None:
        for value in values:
            requested = _declared_type(value)
            if requested is not None:
                break
    preferred = None
    if requested is None and attr:
        default = template.signature.attr(attr).default
        preferred = None if default is NO_DEFAULT else default
    tensors = []
    for i, value in enumerate(values):
        if type(value) is Tensor:
            tensor = value
        else:
            dtype = None if requested is None else as_dtype(requested)
            tensor = convert_to_tensor(
                value,
                dtype,
                name=f"{arg.name}_{i}",
                preferred_dtype=preferred,
                as_ref=arg.is_ref,
            )
            if requested is None:
                requested = tensor.dtype.base_dtype.as_datatype_enum
        tensors.append(tensor)
    for tensor in tensors:
        if requested is not None and tensor.dtype.base_dtype.as_datatype_enum != requested:
            types = ", ".join([t.dtype.name for t in tensors])
            raise TypeError(
                f"Tensors in list passed to '{arg.name}' of '{template.name}' Op have types "
                f"[{types}] that don't all match {as_dtype(requested).name}."
            )
        if arg.is_ref:
            _check_type(template, arg, tensor, requested, inferred_from)
    if attr and attr not in known and requested is not None:
        known[attr] = plain_value(template.name, template.signature.attr(attr), requested)
    if attr:
        inferred_from.setdefault(attr, arg.name)
    number = arg.number_attr
    if number in known and known[number] != len(tensors):
        raise ValueError(
            f"List argument '{arg.name}' to '{template.name}' Op with length {len(tensors)} must "
            f"match length {known[number]} of argument '{inferred_from.get(number, number)}'."
        )
    known[number] = plain_value(template.name, template.signature.attr(number), len(tensors))
    inferred_from.setdefault(number, arg.name)
    return tensors


def _convert_type_list(
    template: OpTemplate, arg: Arg, values: Any, known: dict[str, Any]
) -> list[Tensor]:
    values = _as_list(template, arg, values)
    requested = known.get(arg.type_list_attr)
    if requested is not None and len(requested) != len(values):
        raise TypeError(
            f"{template.name}: input {arg.name!r} has {len(values)} tensors, "
            f"its type list {len(requested)}"
        )
    tensors = []
    for i, value in enumerate(values):
        dtype = None if requested is None else as_dtype(requested[i])
        tensor = value
        if type(value) is not Tensor:
            tensor = convert_to_tensor(value, dtype, name=f"{arg.name}_{i}", as_ref=arg.is_ref)
        if dtype is not None and tensor.dtype.base_dtype is not dtype:
            raise TypeError(
                f"Input '{arg.name}' of '{template.name}' Op has type {tensor.dtype.name} at "
                f"position {i} that does not match expected type of {dtype.name}."
            )
        tensors.append(tensor)
    known[arg.type_list_attr] = plain_value(
        template.name,
        template.signature.attr(arg.type_list_attr),
        [t.dtype.base_dtype.as_datatype_enum for t in tensors],
    )
    return tensors


def _as_list(template: OpTemplate, arg: Arg, values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return list(values)
    if isinstance(values, (Tensor, str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(
            f"Expected list for '{arg.name}' argument to '{template.name}' Op, not {values!r}."
        )
    return list(values)


def flatten_inputs(template: OpTemplate, tensors: list[Any]) -> tuple[Tensor, ...]:
    if template.simple:
        return tuple(tensors)
    flat: list[Tensor] = []
    for tensor in tensors:
        if type(tensor) is list:
            flat.extend(tensor)
        else:
            flat.append(tensor)
    return tuple(flat)
