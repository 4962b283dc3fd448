"""Cases of the shape rules of segment reductions."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule


@rule("segment", "sparse_segment", "sparse_segment_grad_v2")
def segment(m: Maker, name: str) -> None:
    x = m.input(m.some(1))
    m.input(m.near(x[:1]))
    m.input(m.near(m.case.inputs[1]))
    m.case.n_outputs = 2 if name == "sparse_segment_grad_v2" else 1


@rule("unsorted_segment")
def unsorted_segment(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.input(m.near(x[: m.draw(st.integers(0, len(x)))]))
    m.value(m.draw(st.integers(-1, 4)))


@rule("sparse_segment_counted", "sparse_segment_grad")
def counted(m: Maker, name: str) -> None:
    segment(m, name)
    m.value(m.draw(st.integers(-1, 4)))
