"""Columns that grow at their end and can be read without a copy."""

from __future__ import annotations

import numpy as np

_MIN_ROWS = 8


class GrowingColumns:
    """Columns of equal length. The rows of a snapshot never change: other changes copy the arrays.

    Args:
      dtypes: dtype of each column.
    """

    __slots__ = ("_arrays", "_dtypes", "n")

    def __init__(self, dtypes: tuple[np.dtype, ...]) -> None:
        self._dtypes = dtypes
        self._arrays = tuple(np.empty(0, dtype) for dtype in dtypes)
        self.n = 0

    def append(self, rows: tuple[np.ndarray, ...]) -> None:
        """Adds rows at the end."""
        count = len(rows[0])
        need = self.n + count
        if not self.n and count > _MIN_ROWS // 2:
            # The first rows get exact arrays: most series of a logdir are read in one pass.
            self._arrays = tuple(np.array(new, dtype) for new, dtype in zip(rows, self._dtypes))
            self.n = count
            return
        if need > len(self._arrays[0]):
            self._resize(max(need, _MIN_ROWS, 2 * self.n))
        for array, new in zip(self._arrays, rows):
            array[self.n : need] = new
        self.n = need

    def insert(self, at: int, rows: tuple[np.ndarray, ...]) -> None:
        """Adds rows before row `at`."""
        if at == self.n:
            self.append(rows)
            return
        self._arrays = tuple(
            np.concatenate([array[:at], np.asarray(new, array.dtype), array[at : self.n]])
            for array, new in zip(self._arrays, rows)
        )
        self.n += len(rows[0])

    def drop(self, begin: int, end: int) -> None:
        """Removes the rows begin:end."""
        self._arrays = tuple(
            np.concatenate([array[:begin], array[end : self.n]]) for array in self._arrays
        )
        self.n -= end - begin

    def widen(self, column: int, dtype: np.dtype) -> None:
        """Changes the dtype of a column."""
        self._dtypes = (*self._dtypes[:column], dtype, *self._dtypes[column + 1 :])
        arrays = list(self._arrays)
        arrays[column] = arrays[column].astype(dtype)
        self._arrays = tuple(arrays)

    def dtype(self, column: int) -> np.dtype:
        """Returns a column's dtype."""
        return self._dtypes[column]

    def last(self, column: int) -> np.generic:
        """Returns the last element of a column that is not empty."""
        return self._arrays[column][self.n - 1]

    def snapshot(self) -> tuple[np.ndarray, ...]:
        """Returns read-only views of all present rows."""
        views = tuple(array[: self.n] for array in self._arrays)
        for view in views:
            view.flags.writeable = False
        return views

    def memory_bytes(self) -> int:
        """Returns the memory that the columns occupy."""
        return sum(array.nbytes for array in self._arrays)

    def _resize(self, rows: int) -> None:
        arrays = []
        for old, dtype in zip(self._arrays, self._dtypes):
            new = np.empty(rows, dtype)
            new[: self.n] = old[: self.n]
            arrays.append(new)
        self._arrays = tuple(arrays)
