"""Cases of the shape rules of image ops."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


@rule("random_crop", "resize", "resize_by_input_2")
def resize(m: Maker, name: str) -> None:
    m.input(m.some(3, 3) if name == "random_crop" else m.some(4, 4))
    if name == "resize_by_input_2":
        m.input((2, 8))
    m.value(m.ints(2, 0, 5))


@rule("crop_and_resize")
def crop_and_resize(m: Maker, name: str) -> None:
    n = m.draw(sizes)
    m.input(m.near((2, 5, 5, 3)))
    m.input(m.near((n, 4)))
    m.input(m.near((n,)))
    m.value(m.ints(2, 0, 5))


@rule("non_max_suppression", "combined_non_max_suppression")
def non_max_suppression(m: Maker, name: str) -> None:
    m.input(m.some(2, 2) if name == "non_max_suppression" else m.some(4, 4))
    m.input((3,))
    m.value(m.draw(st.integers(0, 5)))
    m.attr(pad_to_max_output_size=m.flag())
    m.case.n_outputs = 3 if name == "non_max_suppression" else 4
