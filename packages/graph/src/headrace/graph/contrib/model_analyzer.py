"""contrib.slim.model_analyzer: the sizes of variables and of the outputs of operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.framework.graph import Graph

_LINE = "---------"


def tensor_description(var: Any) -> str:
    """Returns a tensor's dtype and shape, such as "(float32_ref 3x2)"."""
    sizes = "x".join(str(size) for size in var.get_shape())
    return f"({as_dtype(var.dtype).name} {sizes})"


def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """Returns the number of elements of all outputs of a graph's operations.

    Args:
      graph: the graph.
      print_info: print a line for each operation.
    """
    rows = []
    for operation in graph.get_operations():
        shapes = [output.get_shape() for output in operation.outputs]
        size = sum(shape.num_elements() or 0 for shape in shapes)
        described = [tensor_description(o) for o, shape in zip(operation.outputs, shapes) if shape]
        rows.append((operation.name, ", ".join(described), size))
    total = sum(size for _, _, size in rows)
    if print_info:
        print(f"{_LINE}\nOperations: name -> (type shapes) [size]\n{_LINE}")
        for name, described_outputs, size in rows:
            print(f"{name} \t-> {described_outputs} [{size}]")
        print(f"{_LINE}\nTotal size: {total}")
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Returns the number of elements, and of bytes, of variables.

    Args:
      variables: the variables.
      print_info: print a line for each variable.
    """
    rows = []
    for variable in variables:
        size = variable.get_shape().num_elements() or 0
        rows.append((variable, size, size * as_dtype(variable.dtype).size))
    total = sum(size for _, size, _ in rows)
    total_bytes = sum(count for _, _, count in rows)
    if print_info:
        print(f"{_LINE}\nVariables: name (type shape) [size]\n{_LINE}")
        for variable, size, count in rows:
            print(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {count}]")
        print(f"Total size of variables: {total}\nTotal bytes of variables: {total_bytes}")
    return total, total_bytes
