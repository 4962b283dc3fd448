"""The file of a MetaGraphDef, for errors with path and offset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.formats.errors import DataLossError, OpError

GRAPH_DEF, SAVER_DEF, COLLECTION_DEF = 2, 3, 4  # fields of MetaGraphDef
_META_GRAPHS = 2  # of SavedModel


@dataclass(frozen=True)
class MessageOrigin:
    """A file, and the index of the MetaGraphDef in a SavedModel (None for a MetaGraphDef file)."""

    path: str
    number: int | None = None

    @contextlib.contextmanager
    def blamed(self, field: int, key: str | None = None) -> Iterator[None]:
        """Converts exceptions in the block to DataLossErrors about the file.

        Corruption is often detected only when a part of the message is used.

        Args:
          field: field of MetaGraphDef whose offset the error reports.
          key: key of a collection.
        """
        what = "" if key is None else f"collection {key!r}: "
        try:
            yield
        except OpError as error:
            if error.path is None:
                error.path, error.offset = self.path, self._offset(field, key)
                error.message = f"{self.path}: at byte {error.offset}: {what}{error.message}"
                error.args = (error.message,)
            raise
        except MemoryError:
            raise
        except Exception as error:  # corruption may cause any error: KeyError, DecodeError, ...
            offset = self._offset(field, key)
            text = error.args[0] if error.args else type(error).__name__
            raise DataLossError(
                None,
                None,
                f"{self.path}: at byte {offset}: {what}{text}",
                path=self.path,
                offset=offset,
            ) from error

    def _offset(self, field: int, key: str | None) -> int:
        """Returns the offset of a field; 0 for a text file or an unreadable one."""
        try:
            with open(self.path, "rb") as stream:
                data = stream.read()
            start, end = 0, len(data)
            if self.number is not None:
                graphs = [span for n, *span in _fields(data, 0, end) if n == _META_GRAPHS]
                start, end = graphs[self.number]
            for number, first, last in _fields(data, start, end):
                if number == field and (key is None or _key(data, first, last) == key):
                    return first
        except (OSError, IndexError, ValueError):
            pass
        return 0


def _key(data: bytes, start: int, end: int) -> str | None:
    """Returns the key of a map entry."""
    for number, first, last in _fields(data, start, end):
        if number == 1:
            return data[first:last].decode(errors="replace")
    return None


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yields (number, start, end) of each length-delimited field of a message.

    Raises: ValueError or IndexError for invalid messages.
    """
    at = start
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            yield tag >> 3, at, at + size
            at += size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
