"""Cases of the shape rules of ops that join and split tensors."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


@rule("concat", "concat_v2")
def concat(m: Maker, name: str) -> None:
    x = m.some(1)
    axis = m.axis(len(x))
    if name == "concat":
        m.value(axis)
    for _ in range(m.draw(st.integers(1, 3))):
        y = list(x)
        if -len(x) <= axis < len(x):
            y[axis] = m.draw(sizes)
        m.input(m.near(tuple(y)))
    if name == "concat_v2":
        m.value(axis)


@rule("pack")
def pack(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(m.draw(st.integers(1, 3))):
        m.input(m.near(x))
    m.attr(axis=m.axis(len(x), 1))


@rule("unpack")
def unpack(m: Maker, name: str) -> None:
    x = m.input(m.some(1))
    axis = m.axis(len(x))
    m.attr(axis=axis)
    m.case.n_outputs = x[axis] if -len(x) <= axis < len(x) and x[axis] and not m.rarely() else 2


@rule("split")
def split(m: Maker, name: str) -> None:
    x = tuple(2 * d for d in m.some(1))
    m.value(m.axis(len(x)))
    m.input(x)
    m.case.n_outputs = m.draw(st.integers(1, 3))


@rule("split_v")
def split_v(m: Maker, name: str) -> None:
    x = list(m.some(1))
    pieces = m.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    axis = m.axis(len(x))
    if -len(x) <= axis < len(x):
        x[axis] = sum(pieces)
    m.input(m.near(tuple(x)))
    m.case.n_outputs = len(pieces)
    if m.flag():
        pieces[0] = -1
    m.value(m.near(tuple(pieces)), (-1,))
    m.value(axis)
