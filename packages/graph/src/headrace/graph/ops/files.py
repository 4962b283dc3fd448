"""Files read, written and found by a graph as it runs."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.typing.aliases import Path, TensorLike


def read_file(filename: Path, name: str | None = None) -> Tensor:
    """A file's bytes. Args: filename: [] string."""
    return op("ReadFile", filename, name=name)


def write_file(filename: Path, contents: TensorLike, name: str | None = None) -> Operation:
    """An operation that writes a file anew, making the folders that it is in."""
    return op("WriteFile", filename, contents, name=name)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """The paths that a pattern, or each of a vector of patterns, matches, sorted."""
    return op("MatchingFiles", pattern, name=name)
