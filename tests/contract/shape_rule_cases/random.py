"""Cases of the shape rules of random ops and samplers."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


@rule("random_gamma")
def random_gamma(m: Maker, name: str) -> None:
    m.value(m.ints(2))
    m.input(m.some())


@rule("multinomial")
def multinomial(m: Maker, name: str) -> None:
    m.input(m.some(2, 2))
    m.value(m.draw(st.integers(-1, 5)))


@rule("candidate_sampler")
def candidate_sampler(m: Maker, name: str) -> None:
    m.attr(num_true=m.draw(st.integers(1, 3)), num_sampled=m.draw(st.integers(1, 3)))
    m.input(m.near((m.draw(sizes), m.case.attrs["num_true"])))
    m.case.n_outputs = 3


@rule("ctc_loss", "ctc_decoder")
def ctc(m: Maker, name: str) -> None:
    m.input(m.some(3, 3))
    m.case.n_outputs = 2 if name == "ctc_loss" else 7
