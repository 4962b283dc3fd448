"""Where a MetaGraphDef comes from, so that what is wrong in it is said with file and offset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.formats.errors import DataLossError, OpError

GRAPH_DEF, SAVER_DEF, COLLECTION_DEF = 2, 3, 4  # fields of MetaGraphDef
_META_GRAPHS = 2  # of SavedModel


@dataclass(frozen=True)
class MessageOrigin:
    """A file, and which of its MetaGraphDefs: None where the file is one, else its number in a
    SavedModel."""

    path: str
    number: int | None = None

    @contextlib.contextmanager
    def blamed(self, field: int, key: str | None = None) -> Iterator[None]:
        """Raises what goes wrong inside as an error about the file: damage shows where its parts
        are put to use.

        Args:
          field: of MetaGraphDef, whose offset the message names.
          key: of a collection.
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
        except Exception as error:  # whatever damage brings about: KeyError, DecodeError, ...
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
        """The byte at which a field begins; 0 where the file is text or cannot be read again."""
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
    """The key of an entry of a map."""
    for number, first, last in _fields(data, start, end):
        if number == 1:
            return data[first:last].decode(errors="replace")
    return None


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, begin and end of the bytes of each field of length-delimited type in a message.

    Raises: ValueError or IndexError for what is no message.
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
