"""Conversion of strings and bytes, and types of numbers: `hr.compat`."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from headrace.graph.typing.aliases import Path

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Converts str or bytes to bytes. Raises: TypeError for other types."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Converts str or bytes to str. Raises: TypeError for other types."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Converts any value to str; bytes are decoded."""
    return as_str(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Path) -> Any:
    """Converts a path object to str; returns other objects unchanged."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Returns whether graphs may be unreadable for older consumers; always True."""
    return True
