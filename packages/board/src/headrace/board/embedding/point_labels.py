"""Labels of points, from a metadata file."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headrace.board.embedding.config_folder import ConfigFolder
from headrace.board.embedding.embedding_error import EmbeddingError

_MAX_BYTES = 256 << 20
_MAX_COLUMNS = 64
_MAX_CELL = 500
_MAX_SENT_CHARACTERS = 64 << 20


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """name; values: a text for each row; numeric: whether all non-empty texts are numbers."""

    name: str
    values: list[str]
    numeric: bool
    distinct: int


@dataclass(frozen=True, slots=True)
class PointLabels:
    """columns; rows: of the file, without the header; notes: sentences for the user."""

    columns: list[LabelColumn]
    rows: int
    notes: tuple[str, ...]


def read_labels(folder: ConfigFolder, path: str, requested: np.ndarray, rows: int) -> PointLabels:
    """Reads a metadata file: one column, or several with a header line.

    Args:
      folder, path: where the file lies.
      wanted: [n] row numbers of the embedding.
      rows: number of rows of the embedding.
    Raises: EmbeddingError.
    """
    text = folder.read(path, _MAX_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.split("\n")
    while lines and lines[-1].strip("\r") == "":
        lines.pop()
    # As in TensorBoard, a single column has no header, even if its first line looks like one.
    names = ["label"]
    first = 0
    if lines and "\t" in lines[0]:
        names = [name.strip() or f"column {i}" for i, name in enumerate(lines[0].split("\t"))]
        first = 1
    notes = []
    found = len(lines) - first
    if found != rows:
        notes.append(f"The metadata has {found:,} rows, the tensor {rows:,}.")
    if len(names) > _MAX_COLUMNS:
        notes.append(f"{_MAX_COLUMNS} of {len(names)} columns of the metadata are shown.")
        names = names[:_MAX_COLUMNS]
    columns: list[list[str]] = [[] for _ in names]
    characters = 0
    for row in requested.tolist():
        at = row + first
        cells = lines[at].rstrip("\r").split("\t") if at < len(lines) else []
        for i, column in enumerate(columns):
            cell = cells[i] if i < len(cells) else ""
            column.append(cell if len(cell) <= _MAX_CELL else cell[:_MAX_CELL] + "…")
            characters += len(column[-1])
    if characters > _MAX_SENT_CHARACTERS:
        raise EmbeddingError(f"{path} has {characters:,} characters, more than can be shown")
    return PointLabels(
        [_described(n, v) for n, v in zip(_unique(names), columns, strict=True)],
        found,
        tuple(notes),
    )


def _described(name: str, values: list[str]) -> LabelColumn:
    different = set(values)
    there = [value for value in different if value.strip()]
    return LabelColumn(name, values, bool(there) and all(map(_is_number, there)), len(different))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def _unique(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
