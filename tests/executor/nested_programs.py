"""Random programs of loops, branches, calls and arrays inside each other: drawn, and in NumPy.

A program changes a state of two vectors x[0], x[1]; w is a vector that no statement changes:

    ("mix", i): x[i] = sin(x[0] * x[1] + w)       ("scale", i): x[i] = x[i] * w + 0.5
    ("swap",)                                     ("rows", i): x[i] = x[i] * w[0]
    ("loop", how, n, i, body): the body runs n times, once more if x[i][0] > 0 before
    ("branch", how, i, then, other): by x[i][0] > 0
    ("call", how, body)
    ("written", how, n, body): an array keeps x[0] of each of n runs of the body; then
        x[1] = tanh(x[1] + the weighted sum of its elements)
    ("read", how, body): the body runs once for each element of the array [x[0], x[1], x[0]],
        which replaces x[1] before; `rows` of NumPy is what map_fn, scan and foldl give
    ("stack", how, n, body): a list keeps x[0] before each of n runs of the body; then its elements
        come back, the last one first: x[1] = sin(x[1] * element + w)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

LEAVES = st.one_of(
    st.tuples(st.sampled_from(["mix", "scale", "rows"]), st.integers(0, 1)),
    st.tuples(st.just("swap")),
)
LOOPS = ("while_loop", "While", "For")
BRANCHES = ("cond", "case", "If", "Case")
CALLS = ("Defun", "function", "PartitionedCall", "StatefulPartitionedCall")
WRITTEN = ("while_loop", "scan", "dynamic_size")
READ = ("while_loop", "map_fn", "foldl", "foldr")
STACKS = ("while_loop", "While", "function")


@st.composite
def programs(draw: Any, least: int = 3, most: int = 4) -> Any:
    """Programs whose statements are nested to a depth from `least` to `most`."""
    depth = draw(st.integers(least, most))
    return draw(st.lists(LEAVES, max_size=1)) + [_nested(draw, depth)] + draw(_block(depth - 1))


@st.composite
def _block(draw: Any, depth: int) -> Any:
    """One or two statements, of which at most one has bodies."""
    if depth and draw(st.integers(0, 2)):
        return [*draw(st.lists(LEAVES, max_size=1)), _nested(draw, draw(st.integers(1, depth)))]
    return draw(st.lists(LEAVES, min_size=1, max_size=2))


def _nested(draw: Any, depth: int) -> Any:
    if not depth:
        return draw(LEAVES)
    deep = [*draw(st.lists(LEAVES, max_size=1)), _nested(draw, depth - 1)]
    kind = draw(st.sampled_from(["loop", "branch", "call", "written", "read", "stack"]))
    times, i = st.integers(0, 2), draw(st.integers(0, 1))
    if kind == "loop":
        return (kind, draw(st.sampled_from(LOOPS)), draw(times), i, deep)
    if kind == "branch":
        bodies = [deep, draw(_block(depth - 1))]
        return (
            kind,
            draw(st.sampled_from(BRANCHES)),
            i,
            *bodies[:: draw(st.sampled_from([1, -1]))],
        )
    if kind == "call":
        return (kind, draw(st.sampled_from(CALLS)), deep)
    if kind == "written":
        return (kind, draw(st.sampled_from(WRITTEN)), 1 + draw(times), deep)
    if kind == "read":
        return (kind, draw(st.sampled_from(READ)), deep)
    return (kind, draw(st.sampled_from(STACKS)), draw(times), deep)


def depth_of(program: Any) -> int:
    """The depth to which statements are nested: 0 without bodies."""
    bodies = [part for s in program for part in s if isinstance(part, list)]
    return max((1 + depth_of(body) for body in bodies), default=0)


class InNumPy:
    """Computes programs; complex values carry a derivative in their imaginary part.

    Attributes:
      margin: the least distance of a predicate's value from where it changes.
    """

    def __init__(self) -> None:
        self.margin = np.inf

    def run(self, program: Any, x: list[Any], w: Any) -> list[Any]:
        for statement in program:
            x = self._statement(statement, list(x), w)
        return x

    def _statement(self, statement: Any, x: list[Any], w: Any) -> list[Any]:
        kind = statement[0]
        if kind == "swap":
            return [x[1], x[0]]
        if kind in ("mix", "scale", "rows"):
            i = statement[1]
            x[i] = {
                "mix": lambda: np.sin(x[0] * x[1] + w),
                "scale": lambda: x[i] * w + 0.5,
                "rows": lambda: x[i] * w[0],
            }[kind]()
            return x
        if kind == "loop":
            _, _, n, i, body = statement
            for _ in range(n + self._positive(x[i])):
                x = self.run(body, x, w)
            return x
        if kind == "branch":
            _, _, i, then, other = statement
            return self.run(then if self._positive(x[i]) else other, x, w)
        if kind == "call":
            return self.run(statement[2], x, w)
        return getattr(self, "_" + kind)(*statement[1:], x, w)

    def _positive(self, value: Any) -> bool:
        self.margin = min(self.margin, abs(value[0].real))
        return bool(value[0].real > 0.0)

    def _written(self, how: str, n: int, body: Any, x: list[Any], w: Any) -> list[Any]:
        elements = []
        for _ in range(n):
            x = self.run(body, x, w)
            elements.append(x[0])
        total = sum((i + 1) * 0.1 * element for i, element in enumerate(elements))
        return [x[0], np.tanh(x[1] + total)]

    def _read(self, how: str, body: Any, x: list[Any], w: Any) -> list[Any]:
        elements = [x[0], x[1], x[0]]
        if how == "map_fn":
            found = [self.run(body, [e, 0.5 * e], w) for e in elements]
            return [sum(f[0] for f in found), np.tanh(sum(f[1] for f in found))]
        for element in elements[::-1] if how == "foldr" else elements:
            x = self.run(body, [x[0], element], w)
        return x

    def _stack(self, how: str, n: int, body: Any, x: list[Any], w: Any) -> list[Any]:
        elements = []
        for _ in range(n):
            elements.append(x[0])
            x = self.run(body, x, w)
        for element in elements[::-1]:
            x = [x[0], np.sin(x[1] * element + w)]
        return x


STEP = 1e-30  # of differences along the imaginary axis, which no cancellation disturbs
REAL_STEP = 1e-5


class Function:
    """A program as a function of six numbers: x[0], x[1] and w."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self.margin = np.inf

    def value(self, at: Any) -> Any:
        backend = InNumPy()
        x0, x1, w = at.reshape(3, 2)
        x = backend.run(self._program, [x0, x1], w)
        self.margin = min(self.margin, backend.margin)
        return np.sum(x[0] * 2.0 + x[1])

    def gradient(self, at: Any) -> Any:
        steps = np.eye(len(at)) * STEP * 1j
        return np.array([self.value(at + step).imag / STEP for step in steps])

    def second(self, at: Any) -> Any:
        """The gradient of the sum of the gradient's squares."""
        grad = self.gradient(at)
        size = float(np.linalg.norm(grad)) or 1.0  # a step of that length would be too long
        step = REAL_STEP / size * grad
        return (self.gradient(at + step) - self.gradient(at - step)) * (size / REAL_STEP)
