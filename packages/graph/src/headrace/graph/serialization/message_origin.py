"""The file of a MetaGraphDef, for errors with path and offset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.formats.errors import DataLossError, OpError
from headrace.formats.wire import BYTES, fields
from headrace.graph.platform import gfile

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
            with gfile.GFile(self.path, "rb") as stream:
                data = stream.read()
            start, end = 0, len(data)
            if self.number is not None:
                graphs = [f for f in fields(data, 0, end) if f[:2] == (_META_GRAPHS, BYTES)]
                start, end = graphs[self.number][2:]
            for number, kind, first, last in fields(data, start, end):
                if (number, kind) != (field, BYTES):
                    continue
                if key is None or _key(data, first, last) == key:
                    return first
        except (OpError, OSError, IndexError, ValueError):
            pass
        return 0


def _key(data: bytes, start: int, end: int) -> str | None:
    """Returns the key of a map entry."""
    for number, kind, first, last in fields(data, start, end):
        if kind == BYTES and number == 1:
            return data[first:last].decode(errors="replace")
    return None
