"""Builds a node from an op's name, inputs and attributes, as its line in the catalogue says.

    product = op("MatMul", a, b, transpose_b=True, name="logits")

The catalogue's signature is turned into a `Recipe` once. What a call infers from the types of its
inputs (attributes, output types) is remembered by those types, so that most calls look up, name
and link, and decide nothing anew.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from headrace.formats import op_catalogue
from headrace.formats.dtypes import DType, as_dtype
from headrace.formats.op_signature import NO_DEFAULT, Arg, Signature
from headrace.graph.attributes import AttrSet, plain_value, type_name
from headrace.graph.graph import get_default_graph
from headrace.graph.node_factory import add_node
from headrace.graph.operation import Operation, Tensor
from headrace.graph.scopes import Scope, check_op_name, graph_stack

_MAX_SETS_KEPT = 512  # attribute sets remembered per op


class Recipe:
    """An op's signature, prepared for building nodes of it.

    Attributes:
      simple: every input is one tensor.
      has_ref: an input is a variable's reference.
      pair: the inputs are two tensors of one type.
      by_types: attribute sets by input DataType numbers, for calls without attributes.
      by_attrs: the same for calls with attributes.
    """

    __slots__ = (
        "attr_names",
        "attrs",
        "by_attrs",
        "by_types",
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
        # 0.0 and -0.0 are equal keys of different attributes.
        self.needs_repr = any("float" in a.kind for a in signature.attrs)
        self.by_types: dict[Any, AttrSet] = {}
        self.by_attrs: dict[Any, AttrSet] = {}
        self.result = _result_shape(signature)


_recipes: dict[str, Recipe] = {}


def recipe(op_type: str) -> Recipe:
    """The recipe of an op. Raises: NotFoundError for an op nobody has."""
    found = _recipes.get(op_type)
    if found is None:
        found = _recipes[op_type] = Recipe(op_catalogue.signature(op_type))
    return found


def op(op_type: str, /, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
    """Adds a node to the default graph (or the graph of its inputs).

    Args:
      op_type: name of an op in the catalogue.
      inputs: one value per input of its signature, a list for a list; anything but a tensor is
        converted, to the type that the signature and the other inputs imply.
      name: name of the node, made unique; the op's name where None; one that ends in "/" is a
        scope entered already, and is taken as it is.
      attrs: attributes; those that are missing come from the inputs' types or the defaults.
    Returns: the output Tensor; a list for one list output; a named tuple for several outputs; the
      Operation where there are none.
    Raises: TypeError for a wrong type or number of inputs or attributes; ValueError where shapes
      contradict the op.
    """
    found = _recipes.get(op_type)
    if found is None:
        found = recipe(op_type)
    graph = graph_stack.graph
    if graph is None:
        graph = get_default_graph()
    attr_set = None
    if found.simple and len(inputs) == found.n_inputs:
        types = []
        for t in inputs:
            if type(t) is not Tensor or t.op.graph is not graph:
                break
            types.append(t.dtype.as_datatype_enum)
        else:
            if not attrs:
                attr_set = found.by_types.get(tuple(types))
            elif not found.needs_repr:
                try:
                    attr_set = found.by_attrs.get(
                        (*types, *attrs.items(), *map(type, attrs.values()))
                    )
                except TypeError:  # a list among the attributes
                    pass
    scope = graph._local.scope
    if scope.context is not None or found.has_ref:
        return _build(found, graph, inputs, name, attrs)
    if attr_set is None:
        if not (found.pair and len(inputs) == 2 and not attrs):
            return _build(found, graph, inputs, name, attrs)
        return _build_with_number(found, graph, scope, inputs, name)

    if name is None:
        name = op_type
    elif name[-1:] == "/":
        return _packed(
            found, attr_set, add_node(graph, scope, op_type, inputs, attr_set, name[:-1])
        )
    else:
        check_op_name(name)
    prefix = scope.name
    full = f"{prefix}/{name}" if prefix else name
    key = full.lower()
    used = graph._names_in_use
    with graph._lock:
        if key in used:
            full = graph._unique(full)
        else:
            used[key] = 1
    node = add_node(graph, scope, op_type, inputs, attr_set, full)
    outputs = node._outputs
    if type(outputs) is Tensor and found.result is None:
        return outputs
    return _packed(found, attr_set, node)


def _build_with_number(
    found: Recipe, graph: Any, scope: Scope, inputs: tuple[Any, ...], name: str | None
) -> Any:
    """x ∘ 0.5, where x is a tensor of a float or int type and the number fits it; else all else."""
    x, y = inputs
    if type(x) is Tensor:
        tensor, number, arg = x, y, found.inputs[1].name
    else:
        tensor, number, arg = y, x, found.inputs[0].name
    if type(tensor) is Tensor and tensor.op.graph is graph:
        wanted = tensor.dtype._base
        kind = type(number)
        if (kind is float and wanted.is_floating) or (
            kind is int and (wanted.is_floating or wanted.is_integer)
        ):
            pair = (tensor.dtype.as_datatype_enum, wanted.as_datatype_enum)
            attr_set = found.by_types.get(pair if tensor is x else pair[::-1])
            if attr_set is not None:
                from headrace.graph.conversion import scalar_attrs

                value = scalar_attrs(number, wanted)
                full = _node_name(graph, found.name if name is None else name)
                const = add_node(
                    graph, scope, "Const", (), value, graph._unique(f"{full}/{arg}")
                )._outputs
                both = (tensor, const) if tensor is x else (const, tensor)
                return add_node(graph, scope, found.name, both, attr_set, full)._outputs
    return _build(found, graph, inputs, name, {})


def _build(
    found: Recipe, graph: Any, inputs: tuple[Any, ...], name: str | None, attrs: dict[str, Any]
) -> Any:
    """The general way: converts inputs, infers and checks attributes, looks at every scope."""
    if len(inputs) != found.n_inputs:
        raise TypeError(
            f"{found.name} takes {found.n_inputs} inputs "
            f"({', '.join([a.name for a in found.inputs])}), got {len(inputs)}"
        )
    unknown = attrs.keys() - found.attr_names
    if unknown:
        raise TypeError(
            f"{found.name} got unexpected attributes {', '.join(sorted(unknown))}: it has "
            f"{', '.join([a.name for a in found.attrs]) or 'none'}"
        )
    owner = _graph_of_inputs(graph, inputs)
    if owner is not graph:
        with owner.as_default():
            return _build_in(found, owner, inputs, name, attrs)
    return _build_in(found, graph, inputs, name, attrs)


def _build_in(
    found: Recipe, graph: Any, inputs: tuple[Any, ...], name: str | None, attrs: dict[str, Any]
) -> Any:
    full = _node_name(graph, found.name if name is None else name)
    local = graph._local
    scope = local.scope
    local.scope = scope.named(full)  # what conversion makes is named under the node
    try:
        tensors, types = _convert(found, inputs, attrs)
        attr_set = attr_set_of(found, tensors, types, attrs)
        flat = _flatten(found, tensors)
        if scope.context is not None:
            # The loop or branch may have to hand a tensor in; that is named under the node, too.
            flat = scope.context.adapt_inputs(found.name, flat)
    finally:
        local.scope = scope
    if found.has_ref:
        scope = _beside_refs(found, tensors, scope)
    return _packed(found, attr_set, add_node(graph, scope, found.name, flat, attr_set, full))


def _beside_refs(found: Recipe, tensors: list[Any], scope: Scope) -> Scope:
    """What acts on a reference must be on the device of what it refers to."""
    owners: list[Operation] = []
    for arg, value in zip(found.inputs, tensors):
        if arg.is_ref:
            owners.extend([t.op for t in (value if type(value) is list else [value])])
    new = tuple([o for o in dict.fromkeys(owners) if o not in scope.colocation])
    return scope.changed(colocation=scope.colocation + new, device="", devices=())


def _node_name(graph: Any, name: str) -> str:
    if name[-1:] == "/":
        return name[:-1]
    check_op_name(name)
    return graph.unique_name(name)


def _graph_of_inputs(default: Any, inputs: Any) -> Any:
    """The one graph of all inputs that have one. Raises: ValueError where they differ."""
    owner = first = None
    for value in inputs:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            graph = getattr(item, "graph", None)
            if graph is None or not hasattr(graph, "_by_name"):
                continue
            if owner is None:
                owner, first = graph, item
            elif graph is not owner:
                raise ValueError(
                    f"{item!r} must be from the same graph as {first!r}: build both under one "
                    "`with graph.as_default():`"
                )
    return default if owner is None else owner


# ---- inputs --------------------------------------------------------------------------------


def _convert(
    found: Recipe, inputs: tuple[Any, ...], attrs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Converts inputs to tensors, and infers the attributes that they decide."""
    known: dict[str, Any] = {}
    for attr in found.attrs:
        if attr.name in attrs and attr.name in found.inferred:
            known[attr.name] = plain_value(found.name, attr, attrs[attr.name])
    _look_ahead(found, inputs, known)
    decided_by: dict[str, str] = {}
    tensors: list[Any] = []
    for arg, value in zip(found.inputs, inputs):
        if arg.type_list_attr:
            tensors.append(_convert_type_list(found, arg, value, known))
        elif arg.number_attr:
            tensors.append(_convert_list(found, arg, value, known, decided_by))
        else:
            tensors.append(_convert_one(found, arg, value, known, decided_by))
    return tensors, known


def _look_ahead(found: Recipe, inputs: tuple[Any, ...], known: dict[str, Any]) -> None:
    """Lets a later tensor decide the type of an earlier Python value: op("AddV2", 1, x)."""
    for arg, value in zip(found.inputs, inputs):
        attr = arg.type_attr
        if not attr or attr in known or arg.number_attr:
            continue
        first = _declared_type(value)
        if first is not None:
            continue  # it decides by itself, in its turn
        for other, later in zip(found.inputs, inputs):
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
    """The DataType of what carries one of ours: tensors and variables, not arrays."""
    dtype = getattr(value, "dtype", None)
    return dtype.base_dtype.as_datatype_enum if isinstance(dtype, DType) else None


def _convert_one(
    found: Recipe, arg: Arg, value: Any, known: dict[str, Any], decided_by: dict[str, str]
) -> Tensor:
    from headrace.graph.conversion import convert_to_tensor

    attr = arg.type_attr
    wanted: int | None = arg.dtype or known.get(attr)
    preferred = None
    if wanted is None:
        default = found.signature.attr(attr).default
        preferred = None if default is NO_DEFAULT else default
    dtype = None if wanted is None else as_dtype(wanted)
    if type(value) is Tensor:
        tensor = value
    else:
        try:
            tensor = convert_to_tensor(
                value, dtype, name=arg.name, preferred_dtype=preferred, as_ref=arg.is_ref
            )
        except (TypeError, ValueError) as error:
            if dtype is None:
                raise
            raise _conversion_error(found, arg, value, dtype, error) from error
    _check_type(found, arg, tensor, wanted, decided_by)
    if attr and attr not in known:
        number = tensor.dtype.base_dtype.as_datatype_enum
        known[attr] = plain_value(found.name, found.signature.attr(attr), number)
    if attr:
        decided_by.setdefault(attr, arg.name)
    return tensor


def _conversion_error(
    found: Recipe, arg: Arg, value: Any, dtype: DType, error: Exception
) -> Exception:
    message = (
        f"{found.name}: input {arg.name!r} must be of type {dtype.name}, got {value!r}: {error}"
    )
    return TypeError(message) if isinstance(error, TypeError) else ValueError(message)


def _check_type(
    found: Recipe, arg: Arg, tensor: Tensor, wanted: int | None, decided_by: dict[str, str]
) -> None:
    has = tensor.dtype
    if arg.is_ref and not has.is_ref_dtype:
        raise TypeError(
            f"'{found.name}' Op requires that input '{arg.name}' be a mutable tensor "
            f"(e.g.: a hr.Variable), got {tensor!r}"
        )
    if wanted is not None and has.base_dtype.as_datatype_enum != wanted:
        other = decided_by.get(arg.type_attr)
        if other is not None:
            raise TypeError(
                f"Input '{arg.name}' of '{found.name}' Op has type {has.base_dtype.name} that "
                f"does not match type {as_dtype(wanted).name} of argument '{other}'."
            )
        raise TypeError(
            f"Input '{arg.name}' of '{found.name}' Op has type {has.base_dtype.name} that does "
            f"not match expected type of {as_dtype(wanted).name}."
        )


def _convert_list(
    found: Recipe, arg: Arg, values: Any, known: dict[str, Any], decided_by: dict[str, str]
) -> list[Tensor]:
    from headrace.graph.conversion import convert_to_tensor

    values = _as_list(found, arg, values)
    attr = arg.type_attr
    wanted: int | None = arg.dtype or known.get(attr)
    if wanted is None:
        for value in values:
            wanted = _declared_type(value)
            if wanted is not None:
                break
    preferred = None
    if wanted is None and attr:
        default = found.signature.attr(attr).default
        preferred = None if default is NO_DEFAULT else default
    tensors = []
    for i, value in enumerate(values):
        if type(value) is Tensor:
            tensor = value
        else:
            dtype = None if wanted is None else as_dtype(wanted)
            tensor = convert_to_tensor(
                value,
                dtype,
                name=f"{arg.name}_{i}",
                preferred_dtype=preferred,
                as_ref=arg.is_ref,
            )
            if wanted is None:
                wanted = tensor.dtype.base_dtype.as_datatype_enum
        tensors.append(tensor)
    for tensor in tensors:
        if wanted is not None and tensor.dtype.base_dtype.as_datatype_enum != wanted:
            types = ", ".join([t.dtype.name for t in tensors])
            raise TypeError(
                f"Tensors in list passed to '{arg.name}' of '{found.name}' Op have types "
                f"[{types}] that don't all match {as_dtype(wanted).name}."
            )
        if arg.is_ref:
            _check_type(found, arg, tensor, wanted, decided_by)
    if attr and attr not in known and wanted is not None:
        known[attr] = plain_value(found.name, found.signature.attr(attr), wanted)
    if attr:
        decided_by.setdefault(attr, arg.name)
    number = arg.number_attr
    if number in known and known[number] != len(tensors):
        raise ValueError(
            f"List argument '{arg.name}' to '{found.name}' Op with length {len(tensors)} must "
            f"match length {known[number]} of argument '{decided_by.get(number, number)}'."
        )
    known[number] = plain_value(found.name, found.signature.attr(number), len(tensors))
    decided_by.setdefault(number, arg.name)
    return tensors


def _convert_type_list(found: Recipe, arg: Arg, values: Any, known: dict[str, Any]) -> list[Tensor]:
    from headrace.graph.conversion import convert_to_tensor

    values = _as_list(found, arg, values)
    wanted = known.get(arg.type_list_attr)
    if wanted is not None and len(wanted) != len(values):
        raise TypeError(
            f"{found.name}: input {arg.name!r} has {len(values)} tensors, "
            f"its types say {len(wanted)}"
        )
    tensors = []
    for i, value in enumerate(values):
        dtype = None if wanted is None else as_dtype(wanted[i])
        tensor = value
        if type(value) is not Tensor:
            tensor = convert_to_tensor(value, dtype, name=f"{arg.name}_{i}", as_ref=arg.is_ref)
        if dtype is not None and tensor.dtype.base_dtype is not dtype:
            raise TypeError(
                f"Input '{arg.name}' of '{found.name}' Op has type {tensor.dtype.name} at "
                f"position {i} that does not match expected type of {dtype.name}."
            )
        tensors.append(tensor)
    known[arg.type_list_attr] = plain_value(
        found.name,
        found.signature.attr(arg.type_list_attr),
        [t.dtype.base_dtype.as_datatype_enum for t in tensors],
    )
    return tensors


def _as_list(found: Recipe, arg: Arg, values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return list(values)
    if isinstance(values, (Tensor, str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(
            f"Expected list for '{arg.name}' argument to '{found.name}' Op, not {values!r}."
        )
    return list(values)


def _flatten(found: Recipe, tensors: list[Any]) -> tuple[Tensor, ...]:
    if found.simple:
        return tuple(tensors)
    flat: list[Tensor] = []
    for tensor in tensors:
        if type(tensor) is list:
            flat.extend(tensor)
        else:
            flat.append(tensor)
    return tuple(flat)


# ---- attributes --------------------------------------------------------------------------------


def attr_set_of(
    found: Recipe, tensors: list[Any], inferred: dict[str, Any], given: dict[str, Any]
) -> AttrSet:
    """The attribute set of a node; the same object for the same attributes.

    Args:
      tensors: converted inputs, in order.
      inferred: what they decide.
      given: what the caller gave.
    Raises: TypeError for an attribute that is missing or of another kind, or a type not allowed.
    """
    keys = _memo_keys(found, tensors, given)
    if keys is not None:
        table, key = keys
        kept = table.get(key)
        if kept is not None:
            return kept
    values: dict[str, Any] = {}
    for attr in found.attrs:
        name = attr.name
        if name in inferred:
            values[name] = inferred[name]
            if attr.allowed and name not in given:
                _check_allowed(found, attr, inferred[name])
        elif name in given and given[name] is not None:
            values[name] = plain_value(found.name, attr, given[name])
        elif name in given and attr.kind == "shape":
            values[name] = None
        elif attr.default is not NO_DEFAULT:
            values[name] = attr.default
        else:
            raise TypeError(f"{found.name} misses attribute {name!r} ({attr.kind}): give it")
    made = AttrSet(found.name, found.signature, values, output_types(found.signature, values))
    if keys is not None:
        if len(table) >= _MAX_SETS_KEPT:
            table.clear()
        table[key] = made
    return made


def _memo_keys(
    found: Recipe, tensors: list[Any], given: dict[str, Any]
) -> tuple[dict[Any, AttrSet], Any] | None:
    if not found.simple:
        types: list[Any] = []
        for t in tensors:
            if type(t) is list:
                types.append(tuple([x.dtype.as_datatype_enum for x in t]))
            else:
                types.append(t.dtype.as_datatype_enum)
    else:
        types = [t.dtype.as_datatype_enum for t in tensors]
    if not given:
        return found.by_types, tuple(types)
    if found.needs_repr:
        for value in given.values():
            if not isinstance(value, (int, float, str, DType, type(None))):
                return None
        return found.by_attrs, (*types, repr(given))
    try:
        key = (*types, *given.items(), *map(type, given.values()))
        hash(key)
    except TypeError:
        return None
    for value in given.values():
        if not isinstance(value, (int, float, str, bytes, DType, tuple, type(None))):
            return None  # an array or a message: large, and seldom met twice
    return found.by_attrs, key


def _check_allowed(found: Recipe, attr: Any, value: Any) -> None:
    for v in value if isinstance(value, tuple) else (value,):
        if v not in attr.allowed:
            arg = next(
                (a.name for a in found.inputs if attr.name in (a.type_attr, a.type_list_attr)),
                attr.name,
            )
            allowed = ", ".join([as_dtype(a).name for a in attr.allowed])
            raise TypeError(
                f"Value passed to parameter '{arg}' of {found.name} has DataType "
                f"{as_dtype(v).name} not in list of allowed values: {allowed}"
            )


def output_types(signature: Signature, values: dict[str, Any]) -> tuple[DType, ...]:
    """The type of each output tensor, from an op's attributes."""
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


# ---- results -----------------------------------------------------------------------------------


def _result_shape(signature: Signature) -> Callable[..., Any] | None:
    """How to hand out several outputs: a named tuple's class; None for one output or fewer."""
    if len(signature.outputs) < 2:
        return list if signature.outputs and signature.outputs[0].is_list else None
    names = [arg.name for arg in signature.outputs]
    return namedtuple(signature.name.lstrip("_"), names, rename=True)


def _packed(found: Recipe, attr_set: AttrSet, node: Operation) -> Any:
    outputs = node.outputs
    result = found.result
    if result is None:
        return outputs[0] if outputs else node
    if result is list:
        return list(outputs)
    parts: list[Any] = []
    at = 0
    for arg in found.signature.outputs:
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


def build_checked(
    graph: Any, scope: Scope, op_type: str, inputs: Any, values: dict[str, Any], name: str
) -> Operation:
    """Adds a node whose inputs are tensors and whose attributes are plain, complete and right."""
    signature = recipe(op_type).signature
    attrs = AttrSet(op_type, signature, values, output_types(signature, values))
    return add_node(graph, scope, op_type, tuple(inputs), attrs, name)


__all__ = ["Recipe", "attr_set_of", "build_checked", "op", "output_types", "recipe", "type_name"]
