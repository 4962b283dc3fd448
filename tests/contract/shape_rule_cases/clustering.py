"""Cases of the shape rules of clustering."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule


@rule("nearest_neighbors")
def nearest_neighbors(m: Maker, name: str) -> None:
    points = m.input(m.some(1, 3))
    m.input(m.near((m.draw(st.integers(0, 4)), *points[1:])))
    m.case.n_outputs = 2
    m.value(m.draw(st.integers(-1, 4)))


@rule("sampled_points")
def sampled_points(m: Maker, name: str) -> None:
    m.input(m.some(1, 3))
    m.value(m.draw(st.integers(-1, 4)))
    m.input(())
    m.input(m.near(()))


@rule("chosen_point")
def chosen_point(m: Maker, name: str) -> None:
    m.input(m.some(0, 2))
    m.input(m.near(()))
