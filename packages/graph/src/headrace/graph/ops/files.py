"""Ops that read, write and list files."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.typing.aliases import Path, TensorLike


def read_file(filename: Path, name: str | None = None) -> Tensor:
    """Reads the contents of a file. Args: filename: [] string. Returns: [] string."""
    return op("ReadFile", filename, name=name)


def write_file(filename: Path, contents: TensorLike, name: str | None = None) -> Operation:
    """Creates an operation that writes a file, and creates its folders."""
    return op("WriteFile", filename, contents, name=name)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sorted paths that match a glob pattern, or one of a vector of patterns."""
    return op("MatchingFiles", pattern, name=name)
