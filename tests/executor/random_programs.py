"""Random programs: their statements, how hypothesis draws them, and how a back end runs them.

A program is a list of statements over a growing list of float64 values. `run` executes it on a back
end, which builds a graph or computes with NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Shape = tuple[int, ...]
SIZES = (1, 2, 3, 5)
LIMIT = 0.1234567  # what predicates compare with: no value comes to lie on it by chance

UNARY = ("negative", "tanh", "sin", "abs", "relu", "reverse", "masked_sum")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "select")
REDUCTIONS = ("sum", "mean", "max", "min", "prod")


@dataclass(frozen=True)
class Statement:
    """One statement of a program; its value, of a known shape, is appended to the list."""

    kind: str
    arguments: tuple[Any, ...]
    shape: Shape


@dataclass(frozen=True)
class Program:
    feeds: tuple[Shape, ...]
    variables: tuple[tuple[Shape, bool], ...]  # shape, and whether it is a resource
    statements: tuple[Statement, ...]
    fetches: tuple[int, ...]  # of the list of feeds and statements
    seed: int


@st.composite
def programs(draw: Any, depth: int = 2) -> Program:
    """Programs of 4 to 12 statements, with branches and loops of up to 4 nested to `depth`."""
    shapes = st.lists(st.sampled_from(SIZES), max_size=3).map(tuple)
    matrix = (draw(st.sampled_from(SIZES)), draw(st.sampled_from(SIZES)))
    feeds = (matrix, *draw(st.lists(shapes, max_size=2)))
    variables = tuple(draw(st.lists(st.tuples(shapes, st.booleans()), min_size=1, max_size=2)))
    values = list(feeds)
    statements = _statements(draw, values, variables, depth, 4, 12)
    # The last values hang on the most; any others with them.
    others = st.lists(st.integers(0, len(values) - 1), max_size=3)
    fetches = tuple(dict.fromkeys([*range(len(values) - 1, len(feeds) - 1, -2), *draw(others)]))
    return Program(feeds, variables, statements, fetches, draw(st.integers(0, 99)))


def _statements(
    draw: Any, values: list[Shape], variables: Any, depth: int, least: int, most: int
) -> Any:
    created = []
    for _ in range(draw(st.integers(least, most))):
        statement = _statement(draw, values, variables, depth)
        created.append(statement)
        values.append(statement.shape)
    return tuple(created)


def _statement(draw: Any, values: list[Shape], variables: Any, depth: int) -> Statement:
    kinds = ["unary", "binary", "reduce", "slice", "transpose", "flatten", "concat", "matmul"]
    kinds += ["read", "assign", "assign_add", "after"]
    if depth:
        kinds += ["cond", "while"] * 2
    kind = draw(st.sampled_from(kinds))
    at = draw(st.integers(0, len(values) - 1))
    shape = values[at]
    axes = st.lists(st.sampled_from(range(len(shape))), unique=True) if shape else st.just([])
    if kind == "binary":
        others = [i for i, other in enumerate(values) if _broadcast(shape, other) is not None]
        other = draw(st.sampled_from(others))
        result = _broadcast(shape, values[other])
        assert result is not None
        return Statement("binary", (draw(st.sampled_from(BINARY)), at, other), result)
    if kind == "reduce":
        over, keep = tuple(sorted(draw(axes))), draw(st.booleans())
        left = tuple(1 if i in over else n for i, n in enumerate(shape) if keep or i not in over)
        return Statement("reduce", (draw(st.sampled_from(REDUCTIONS)), at, over, keep), left)
    if kind == "slice" and shape:
        cut = tuple(
            slice(draw(st.integers(0, n - 1)), None, draw(st.sampled_from([1, 2]))) for n in shape
        )
        return Statement("slice", (at, cut), np.zeros(shape)[cut].shape)
    if kind == "transpose":
        order = tuple(draw(st.permutations(range(len(shape)))))
        return Statement("transpose", (at, order), tuple(shape[i] for i in order))
    if kind == "after":  # waits for values that nothing may read otherwise
        waits = st.lists(st.integers(0, len(values) - 1), max_size=3)
        return Statement("after", (at, tuple(draw(waits))), shape)
    if kind == "flatten":
        return Statement("flatten", (at,), (int(np.prod(shape)),))
    if kind == "concat" and shape:
        axis = draw(st.sampled_from(range(len(shape))))
        grown = tuple(2 * n if i == axis else n for i, n in enumerate(shape))
        return Statement("concat", (at, axis), grown)
    if kind == "matmul":
        pairs = [
            (i, j, turned)
            for i, a in enumerate(values)
            for j, b in enumerate(values)
            for turned in (False, True)
            if len(a) == len(b) == 2 and a[1] == b[turned]
        ]
        if pairs:
            i, j, turned = draw(st.sampled_from(pairs))
            return Statement(
                "matmul", (i, j, turned), (values[i][0], values[j][0 if turned else 1])
            )
    if kind in ("read", "assign", "assign_add"):
        number = draw(st.integers(0, len(variables) - 1))
        fitting = [i for i, other in enumerate(values) if other == variables[number][0]]
        if kind == "read" or not fitting:
            return Statement("read", (number,), variables[number][0])
        return Statement(kind, (number, draw(st.sampled_from(fitting))), variables[number][0])
    if kind == "cond":
        branches = [_block(draw, values, variables, depth, shape) for _ in range(2)]
        return Statement("cond", (at, *branches), shape)
    if kind == "while":
        body = _block(draw, [*values, shape], variables, depth, shape)
        return Statement("while", (at, draw(st.integers(0, 4)), body), shape)
    op = draw(st.sampled_from(UNARY))
    return Statement("unary", (op, at), () if op == "masked_sum" else shape)


def _block(draw: Any, values: list[Shape], variables: Any, depth: int, shape: Shape) -> Any:
    """Nested statements, and the value of one shape that they result in."""
    inside = list(values)
    statements = _statements(draw, inside, variables, depth - 1, 1, 4)
    fitting = [i for i, other in enumerate(inside) if other == shape]
    return statements, draw(st.sampled_from(fitting[-3:]))


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def run(statements: tuple[Statement, ...], values: list[Any], backend: Any) -> list[Any]:
    """The values, followed by the values of the statements."""
    values = list(values)
    for statement in statements:
        created = _one(statement.kind, statement.arguments, values, backend)
        values.append(created)
    return values


def _one(kind: str, arguments: tuple[Any, ...], values: list[Any], backend: Any) -> Any:
    if kind == "unary":
        return backend.unary(arguments[0], values[arguments[1]])
    if kind == "binary":
        return backend.binary(arguments[0], values[arguments[1]], values[arguments[2]])
    if kind == "reduce":
        name, at, axes, keep = arguments
        return backend.reduce(name, values[at], axes, keep)
    if kind == "matmul":
        return backend.matmul(values[arguments[0]], values[arguments[1]], arguments[2])
    if kind == "after":
        return backend.after(values[arguments[0]], [values[i] for i in arguments[1]])
    if kind == "read":
        return backend.read(arguments[0])
    if kind in ("assign", "assign_add"):
        return backend.write(kind, arguments[0], values[arguments[1]])
    if kind == "cond":
        at, *blocks = arguments
        true, false = (
            lambda block=block: run(block[0], values, backend)[block[1]] for block in blocks
        )
        return backend.cond(values[at], true, false)
    if kind == "while":
        at, times, (statements, result) = arguments
        body = lambda value: run(statements, [*values, value], backend)[result]  # noqa: E731
        return backend.repeat(times, body, values[at])
    return getattr(backend, kind)(values[arguments[0]], *arguments[1:])
