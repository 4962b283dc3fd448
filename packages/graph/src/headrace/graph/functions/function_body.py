"""A function as a part of a graph: its operations, arguments and results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.graph.framework.function_library import LibraryFunction, called_names
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.functions.graph_to_function import graph_to_function_def, name_with_hash


@dataclasses.dataclass
class FunctionBody:
    """The part of a graph that a function consists of.

    Several functions may share a graph: a function, and the gradients that were added to it.

    Attributes:
      graph: the graph.
      inputs: the tensors that are arguments; their operations need not be placeholders.
      outputs: the tensors that are results.
      operations: the operations.
      control_outputs: operations that every call runs.
      replaced: tensors that the operations read, and what they read instead in this function.
    """

    graph: Any
    inputs: list[Tensor]
    outputs: list[Tensor]
    operations: list[Operation]
    control_outputs: list[Operation] = dataclasses.field(default_factory=list)
    replaced: Mapping[Tensor, Tensor] = dataclasses.field(default_factory=dict)

    def definition(self, name: str, out_names: Sequence[str] | None = None) -> Any:
        """Returns the FunctionDef message."""
        return graph_to_function_def(
            name,
            self.operations,
            self.inputs,
            self.outputs,
            out_names,
            self.control_outputs,
            self.replaced,
        )


def make_function(
    body: FunctionBody,
    base: str,
    name: str | None = None,
    out_names: Sequence[str] | None = None,
    attrs: dict[str, Any] | None = None,
    description: str | None = None,
    **gradient: Any,
) -> LibraryFunction:
    """Returns the function of a body.

    Args:
      base: begin of the name; a hash of the definition follows.
      name: the whole name, instead of base.
      out_names: names of the results.
      attrs: AttrValue messages of the FunctionDef by name.
      gradient: grad_func_name or python_grad_func of the LibraryFunction.
    """
    definition = body.definition("", out_names)
    for key, value in (attrs or {}).items():
        definition.attr[key].CopyFrom(value)
    if name is None:
        names = called_names(definition.node_def)
        called = [n for n in names if body.graph._is_function(n)]
        name = name_with_hash(base, definition, called)
    definition.signature.name = name
    if description:
        definition.signature.description = description
    return LibraryFunction(definition, body=body, **gradient)
