"""Cases of the shape rules of elementwise ops."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule


@rule("broadcast")
def broadcast(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(m.draw(st.integers(1, 3))):
        m.input(m.narrow(x))
    m.attr(incompatible_shape_error=not m.rarely())


@rule("merge")
def merge(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(m.draw(st.integers(1, 3))):
        m.input(m.near(x))


@rule("merge_or_scalar")
def merge_or_scalar(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(3):
        m.input(() if m.flag() else m.near(x))


@rule("select")
def select(m: Maker, name: str) -> None:
    x = m.some()
    m.input(m.draw(st.sampled_from([x, (), x[:1]])) if not m.rarely() else m.some())
    m.input(m.near(x))
    m.input(m.near(x))


@rule("clip_by_value")
def clip_by_value(m: Maker, name: str) -> None:
    x = m.input(m.some())
    for _ in range(2):
        m.input(() if m.flag() else m.near(x))


@rule("bitcast")
def bitcast(m: Maker, name: str) -> None:
    types = st.sampled_from([1, 2, 4, 5, 9, 18])
    m.attr(T=m.draw(types), type=m.draw(types))
    m.input((*m.some(), m.draw(st.sampled_from([2, 4, 8]))))
