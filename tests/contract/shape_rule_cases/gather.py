"""Cases of the shape rules of gathers."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule


@rule("gather", "gather_v2")
def gather(m: Maker, name: str) -> None:
    batch = m.some(0, 1) if name == "gather_v2" else ()
    x = m.input(batch + m.some(1, 3))
    m.input(m.near(batch) + m.some(0, 2))
    if name == "gather_v2":
        m.value(m.axis(len(x)))
        m.attr(batch_dims=m.draw(st.sampled_from([len(batch), len(batch), 0, -1, 1])))


@rule("gather_nd")
def gather_nd(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.input((*m.some(0, 2), m.draw(st.integers(0, len(x) + 1))))


@rule("gather_tree")
def gather_tree(m: Maker, name: str) -> None:
    ids = m.input(m.some(3, 3))
    m.input(m.near(ids))
    m.input(m.near(ids[1:2]))
    m.input(m.near(()))
