"""Creates nodes from tensors and AttrValue messages."""

from __future__ import annotations

from typing import Any

from headrace.formats.op_signature import NO_DEFAULT
from headrace.graph.framework.attributes import AttrSet, plain_from_message, type_name
from headrace.graph.framework.create_op import add_node
from headrace.graph.framework.function_library import signature_of
from headrace.graph.framework.op_template import output_types, template_of
from headrace.graph.framework.operation import Operation


def create_from_messages(
    graph: Any, op_type: str, inputs: Any, name: str | None, attrs: Any, dtypes: Any
) -> Operation:
    """Creates a node from tensors and AttrValue messages; see Graph.create_op."""
    graph._check_not_finalized()
    signature = callable_signature(graph, op_type)
    tensors = tuple(inputs)
    if graph.building_function:
        tensors = graph.captured(tensors)
    values = attr_values(op_type, signature, attrs)
    values = {**_inferred_attrs(signature, tensors, values), **values}
    for attr in signature.attrs:
        if attr.name not in values:
            raise TypeError(f"{op_type} misses attribute {attr.name!r} ({attr.kind}): give it")
    attr_set = AttrSet(op_type, signature, values, output_types(signature, values))
    problem = input_problem(signature, attr_set, [t.dtype for t in tensors])
    if problem:
        raise TypeError(f"{op_type}: {problem}")
    if name is None:
        name = op_type
    full = name[:-1] if name.endswith("/") else graph.unique_name(name)
    scope = graph._local.scope
    if scope.context is not None:
        graph._local.scope = scope.named(full)
        try:
            tensors = scope.context.adapt_inputs(op_type, tensors)
        finally:
            graph._local.scope = scope
    return add_node(graph, scope, op_type, tensors, attr_set, full)


def callable_signature(graph: Any, op_type: str) -> Any:
    """Returns the signature of an op, or of a function of the graph.

    Raises: NotFoundError for an unknown op.
    """
    function = graph._get_function(op_type)
    if function is None:
        return graph._declared.get(op_type) or template_of(op_type).signature
    return (
        function.signature if hasattr(function, "signature") else signature_of(function.definition)
    )


def attr_values(op_type: str, signature: Any, messages: Any) -> dict[str, Any]:
    """Converts AttrValue messages to plain values, adding defaults; undeclared ones stay raw.

    Raises: TypeError or ValueError for a message that does not match the signature.
    """
    known = {attr.name: attr for attr in signature.attrs} if signature is not None else {}
    values: dict[str, Any] = {}
    for key, message in messages.items():
        values[key] = plain_from_message(op_type, known.get(key), message)
    for attr in known.values():
        if attr.name not in values and attr.default is not NO_DEFAULT:
            values[attr.name] = attr.default
    return values


def _inferred_attrs(signature: Any, tensors: Any, explicit: dict[str, Any]) -> dict[str, Any]:
    """Infers type attributes from inputs that are not lists."""
    found: dict[str, Any] = {}
    if not any(arg.is_list for arg in signature.inputs):
        for arg, tensor in zip(signature.inputs, tensors):
            if arg.type_attr and arg.type_attr not in explicit:
                found.setdefault(arg.type_attr, tensor.dtype.base_dtype.as_datatype_enum)
    return found


def expected_types(signature: Any, values: dict[str, Any]) -> list[tuple[str, int, bool]]:
    """Returns (argument name, DataType number, is_ref) of each input tensor."""
    expected: list[tuple[str, int, bool]] = []
    for arg in signature.inputs:
        if arg.type_list_attr:
            numbers = values[arg.type_list_attr]
        else:
            number = arg.dtype or values[arg.type_attr]
            numbers = (number,) * (values[arg.number_attr] if arg.number_attr else 1)
        expected.extend([(arg.name, number, arg.is_ref) for number in numbers])
    return expected


def input_problem(signature: Any, attrs: AttrSet, dtypes: list[Any]) -> str | None:
    """Returns an error message for the dtypes of a node's inputs, or None if they are valid."""
    numbers = tuple([t.as_datatype_enum for t in dtypes])
    if attrs.checked_inputs == numbers:
        return None
    expected = expected_types(signature, attrs.values)
    if len(expected) != len(dtypes):
        listed = ", ".join([type_name(number + 100 * is_ref) for _, number, is_ref in expected])
        return (
            f"NodeDef expected inputs '{listed}' do not match {len(dtypes)} inputs specified: it "
            f"takes {len(expected)} inputs, got {len(dtypes)}"
        )
    for i, ((arg, number, is_ref), dtype) in enumerate(zip(expected, dtypes)):
        if dtype.base_dtype.as_datatype_enum != number or (is_ref and not dtype.is_ref_dtype):
            requested = type_name(number + 100 if is_ref else number)
            return (
                f"input {i} ({arg}) was passed {type_name(dtype.as_datatype_enum)} incompatible "
                f"with expected {requested}"
            )
    attrs.checked_inputs = numbers
    return None
