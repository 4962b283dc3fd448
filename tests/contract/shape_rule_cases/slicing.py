"""Cases of the shape rules of slices."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule


@rule("slice")
def slice_rule(m: Maker, name: str) -> None:
    x = m.input(m.some())
    begin = [m.draw(st.integers(0, d)) for d in x]
    size = [m.draw(st.integers(-1, d - b)) for d, b in zip(x, begin, strict=True)]
    m.value(m.near(tuple(begin)), (-1,))
    m.value(m.near(tuple(size)), (-1,))


@rule("strided_slice")
def strided_slice(m: Maker, name: str) -> None:
    m.input(m.some())
    n = m.draw(st.integers(0, 4))
    masks = st.integers(0, 15)
    for numbers in (st.integers(-5, 5), st.integers(-5, 5), st.sampled_from([1, 1, 1, 2, -1, 3])):
        m.value(m.draw(st.lists(numbers, min_size=n, max_size=n)))
    m.attr(
        begin_mask=m.draw(masks), end_mask=m.draw(masks),
        ellipsis_mask=m.draw(st.sampled_from([0, 0, 1, 2, 4, 6])),
        new_axis_mask=m.draw(st.sampled_from([0, 0, 1, 2, 4, 7])),
        shrink_axis_mask=m.draw(st.sampled_from([0, 0, 1, 2, 4, 5])),
    )  # fmt: skip
