"""A program with functions, its runs, and what they must compute."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

X = np.array([0.5, 2.0, 3.0], np.float32)


@dataclasses.dataclass
class Run:
    """One run of a program: what it fetches and feeds, and what the results must be.

    expected is a list of values, or a function that raises AssertionError for wrong ones.
    """

    fetches: list[Any]
    expected: list[Any] | Callable[..., None]
    feeds: dict[Any, Any] = dataclasses.field(default_factory=dict)

    def check(self, values: list[Any]) -> None:
        if callable(self.expected):
            self.expected(*values)
            return
        for value, expected in zip(values, self.expected, strict=True):
            close(value, expected)


def close(value: Any, expected: Any) -> None:
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-6)


PROGRAMS: dict[str, Callable[[], list[Run]]] = {}


def program(build: Callable[[], list[Run]]) -> Callable[[], list[Run]]:
    PROGRAMS[build.__name__] = build
    return build
