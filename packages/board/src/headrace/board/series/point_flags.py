"""Flags of the points of a curve, as docs/board_api.md lists them."""

from __future__ import annotations

import numpy as np

from headrace.board.store.scalar_series import ScalarColumns

NAN, POSITIVE, NEGATIVE, RESTART, SUPERSEDED = 1, 2, 4, 8, 16


def flags_of_values(y: np.ndarray) -> np.ndarray:
    """Returns [n] u8: which values are NaN or infinite."""
    flags = np.zeros(len(y), np.uint8)
    if not np.isfinite(y).all():
        flags[np.isnan(y)] = NAN
        flags[y == np.inf] = POSITIVE
        flags[y == -np.inf] = NEGATIVE
    return flags


def flags_of_series(columns: ScalarColumns) -> np.ndarray:
    """Returns [n] u8: the flags of all points of a series."""
    flags = flags_of_values(columns.value)
    if columns.segments > 1:
        flags[1:][columns.segment[1:] != columns.segment[:-1]] |= RESTART
        flags[columns.superseded] |= SUPERSEDED
    return flags
