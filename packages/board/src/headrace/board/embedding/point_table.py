"""Reads the points of an embedding as float32, evenly sampled if there are too many to send."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from headrace.board.embedding.checkpoint_tensors import (
    CheckpointTensors,
    StoredTensor,
    read_rows,
)
from headrace.board.embedding.config_folder import ConfigFolder
from headrace.board.embedding.embedding_error import EmbeddingError

MAX_ROWS = 1_000_000
MAX_SENT = 100_000
MAX_DIMS = 512
_MAX_SOURCE_DIMS = 1 << 16
_MAX_SOURCE_BYTES = 256 << 20
_MAX_TEXT_BYTES = 1 << 30
_SEED = 2016  # of the random projection, so that every request gives the same points


@dataclass(frozen=True, slots=True)
class PointTable:
    """points: [n, dims] f32, finite; row: [n] i32, their row numbers; rows, dims: of the source.

    notes: sentences about what was left out.
    """

    points: np.ndarray
    row: np.ndarray
    rows: int
    dims: int
    notes: tuple[str, ...]


def chosen_rows(rows: int, most: int) -> np.ndarray:
    """Returns [min(rows, most)] i64: evenly spaced row numbers, including the first and the last.

    >>> chosen_rows(10, 4).tolist()
    [0, 3, 6, 9]
    """
    if rows <= most:
        return np.arange(rows, dtype=np.int64)
    return np.linspace(0, rows - 1, most).round().astype(np.int64)


def read_text_table(folder: ConfigFolder, path: str, most: int) -> PointTable:
    """Reads a .tsv file of numbers, one row per line. Raises: EmbeddingError."""
    data = folder.read(path, _MAX_TEXT_BYTES)
    found = data.count(b"\n")
    if found > 2 * MAX_ROWS:  # some of them may be empty lines
        raise EmbeddingError(f"{path} has {found:,} lines, more than {2 * MAX_ROWS:,}")
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else np.empty(0, np.int64)
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    lines = [i for i, (begin, end) in enumerate(spans) if data[begin:end].strip()]
    _check_rows(path, len(lines))
    first = data[starts[lines[0]] : ends[lines[0]]].strip(b"\r\n")
    dims = first.count(b"\t") + 1 if b"\t" in first else len(first.split())
    _check_dims(path, dims)
    requested = chosen_rows(len(lines), _fitting(most, dims * 4))
    parts = [data[starts[lines[i]] : ends[lines[i]]] for i in requested.tolist()]
    values = _numbers(parts)
    if values is None or values.shape != (len(requested), dims):
        raise EmbeddingError(_first_bad_line(path, parts, requested, dims))
    return _finished(values, requested, len(lines))


def read_raw_table(
    folder: ConfigFolder, path: str, shape: tuple[int, ...], most: int
) -> PointTable:
    """Reads a .bytes file of float32 in the config's shape. Raises: EmbeddingError."""
    if len(shape) != 2 or min(shape) < 1:
        raise EmbeddingError(f"{path} needs a tensor_shape of two dimensions, not {list(shape)}")
    rows, dims = shape
    _check_rows(path, rows)
    _check_dims(path, dims)
    fd = folder.open(path)
    try:
        size = os.fstat(fd).st_size
        if size != rows * dims * 4:
            raise EmbeddingError(
                f"{path} has {size:,} bytes, but [{rows}, {dims}] float32 takes {rows * dims * 4:,}"
            )
        requested = chosen_rows(rows, _fitting(most, dims * 4))
        data = read_rows(fd, 0, dims * 4, requested)
    except OSError as error:
        raise EmbeddingError(f"{path} cannot be read: {error.strerror}") from None
    finally:
        os.close(fd)
    if len(data) != len(requested) * dims * 4:
        raise EmbeddingError(f"{path} was cut off while it was read")
    return _finished(np.frombuffer(data, "<f4").reshape(-1, dims), requested, rows)


def read_checkpoint_table(
    checkpoint: CheckpointTensors, tensor: StoredTensor, most: int
) -> PointTable:
    """Reads a matrix of a checkpoint. Raises: EmbeddingError."""
    _check_rows(tensor.name, tensor.rows)
    _check_dims(tensor.name, tensor.dims)
    requested = chosen_rows(tensor.rows, _fitting(most, tensor.dims * 4))
    return _finished(checkpoint.rows(tensor, requested), requested, tensor.rows)


def _finished(values: np.ndarray, requested: np.ndarray, rows: int) -> PointTable:
    dims = values.shape[1]
    notes = []
    if len(requested) < rows:
        notes.append(f"{len(requested):,} of {rows:,} points are drawn, evenly chosen.")
    with np.errstate(over="ignore"):
        points = np.ascontiguousarray(values, dtype=np.float32)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        lost = int(len(points) - finite.sum())
        points, requested = points[finite], requested[finite]
        notes.append(f"{lost:,} points with NaN or infinite values are left out.")
    if dims > MAX_DIMS:
        axes = np.random.default_rng(_SEED).standard_normal((dims, MAX_DIMS), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            points = points @ (axes / np.float32(np.sqrt(MAX_DIMS)))
        points[~np.isfinite(points)] = 0
        notes.append(
            f"{dims:,} dimensions are projected onto {MAX_DIMS} at random, which changes"
            " distances by a few percent."
        )
    return PointTable(points, requested.astype(np.int32), rows, dims, tuple(notes))


def _fitting(most: int, row_bytes: int) -> int:
    return max(1, min(most, MAX_SENT, _MAX_SOURCE_BYTES // row_bytes))


def _check_rows(path: str, rows: int) -> None:
    if not 1 <= rows <= MAX_ROWS:
        raise EmbeddingError(f"{path} has {rows:,} rows, not within 1 and {MAX_ROWS:,}")


def _check_dims(path: str, dims: int) -> None:
    if not 1 <= dims <= _MAX_SOURCE_DIMS:
        raise EmbeddingError(
            f"{path} has {dims:,} dimensions, not within 1 and {_MAX_SOURCE_DIMS:,}"
        )


def _numbers(lines: list[bytes]) -> np.ndarray | None:
    """Returns [rows, numbers per row] float64; None if the lines are not a table of numbers."""
    texts = (line.decode("latin-1") for line in lines)
    try:
        return np.loadtxt(texts, np.float64, comments=None, ndmin=2)
    except ValueError:
        return None


def _first_bad_line(path: str, parts: list[bytes], requested: np.ndarray, dims: int) -> str:
    for part, row in zip(parts, requested.tolist(), strict=True):
        cells = part.split()
        if len(cells) != dims:
            return f"row {row} of {path} has {len(cells)} numbers, not {dims}"
        for cell in cells:
            try:
                float(cell)
            except ValueError:
                shown = cell[:40].decode("utf-8", "replace")
                return f"row {row} of {path} has {shown!r}, not a number"
    return f"{path} has something that is not a number"
