"""Cases of the shape rules of reductions and counts."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule


@rule("reduce")
def reduce(m: Maker, name: str) -> None:
    x = m.input(m.some())
    n = m.draw(st.integers(0, len(x)))
    m.value(sorted({m.axis(len(x)) for _ in range(n)}), (-1,))
    m.attr(keep_dims=m.flag())


@rule("arg_reduce")
def arg_reduce(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.value(m.axis(len(x)))


@rule("bincount", "dense_bincount", "histogram_fixed_width")
def counts(m: Maker, name: str) -> None:
    m.input(m.some(0, 2))
    if name == "histogram_fixed_width":
        m.input((2,))
    m.value(m.draw(st.integers(-1, 5)))
    m.input(())


@rule("top_k", "top_k_v2")
def top_k(m: Maker, name: str) -> None:
    m.input(m.some(1))
    m.case.n_outputs = 2
    k = m.draw(st.integers(-1, 4))
    if name == "top_k":
        m.attr(k=k)
    else:
        m.value(k)


@rule("nth_element")
def nth_element(m: Maker, name: str) -> None:
    m.input(m.some(1))
    m.value(m.draw(st.integers(-1, 4)))
