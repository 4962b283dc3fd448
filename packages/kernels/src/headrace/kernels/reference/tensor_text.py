"""Tensors as TensorFlow prints them."""

from __future__ import annotations

from typing import Any

import numpy as np

_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "'": "\\'", "\\": "\\\\"}
_ESCAPES = str.maketrans({chr(c): f"\\{c:03o}" for c in (*range(32), 127)} | _NAMED)


def one_element(value: Any, quoted: bool = False) -> str:
    """One element: floats in as few digits as say which one it is."""
    if isinstance(value, bytes):
        # Each byte as one letter: `encoded` has them back.
        text = value.decode("latin-1").translate(_ESCAPES)
        return f'"{text}"' if quoted else text
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (complex, np.complexfloating)):
        return f"({one_element(value.real)},{one_element(value.imag)})"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return _float_text(value)


def _float_text(value: Any) -> str:
    number = float(value)
    if np.isnan(number) or np.isinf(number):
        return "nan" if np.isnan(number) else ("inf" if number > 0 else "-inf")
    double = np.asarray(value).dtype == np.float64
    few, many = (15, 17) if double else (6, 9)
    text = f"{number:.{few}g}"
    read = float(text) if double else np.float32(text)  # half is shown as the float that it is
    return text if read == number else f"{number:.{many}g}"


def summary_of(x: np.ndarray, edge: int) -> str:
    """As PrintV2 and StringFormat show it: `edge` elements at each end of each axis."""
    if x.ndim == 0:
        return one_element(x[()], quoted=True)
    edge = x.size if edge < 0 else min(edge, x.size)
    return _nested(x, edge, 0)


def _nested(x: np.ndarray, edge: int, depth: int) -> str:
    last = x.ndim == 1
    between = " " if last else "\n" * (x.ndim - 1) + " " * (depth + 1)

    def one(i: int) -> str:
        return one_element(x[i], quoted=True) if last else _nested(x[i], edge, depth + 1)

    n = len(x)
    if n <= 2 * edge:
        return "[" + between.join(one(i) for i in range(n)) + "]"
    head = [one(i) for i in range(edge)]
    tail = [one(i) for i in range(n - edge, n)]
    return "[" + between.join(head) + between + between.join(["...", *tail]) + "]"


def flat_summary_of(x: np.ndarray, most: int) -> str:
    """As Print and Assert show it: the first `most` elements, row by row."""
    if x.ndim == 0:
        return f"[{one_element(x[()])}]"
    count = x.size if most < 0 else min(most, x.size)
    return _flat(x, [count], cut=count < x.size)


def _flat(x: np.ndarray, left: list[int], cut: bool) -> str:
    """Rows while there are elements left to show; `cut` says so at the outermost and innermost."""
    if x.ndim == 1:
        shown = x[: left[0]]
        left[0] -= len(shown)
        return "[" + " ".join(one_element(v) for v in shown) + "..." * (len(shown) < len(x)) + "]"
    rows = []
    for row in x:
        if left[0] <= 0:
            break
        rows.append(_flat(row, left, cut=False))
    return "[" + "".join(rows) + "..." * cut + "]"


def encoded(text: str) -> bytes:
    """The bytes that a text of this module stands for."""
    return text.encode("latin-1")
