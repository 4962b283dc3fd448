"""Cases of the shape rules of scatters, partitions and stitches."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, elements, rule, sizes


@rule("scatter")
def scatter(m: Maker, name: str) -> None:
    x, indices = m.input(m.some(1)), m.input(m.some(0, 2))
    m.input(() if m.flag() else m.near(indices + x[1:]))


@rule("scatter_nd", "tensor_scatter")
def scatter_nd(m: Maker, name: str) -> None:
    x, indices = m.some(), m.some(0, 2)
    k = m.draw(st.integers(0, len(x)))
    if name == "tensor_scatter":
        m.input(x)
    m.input(m.near((*indices, k)))
    m.input(m.near(indices + x[k:]) if not m.rarely() else ())
    if name == "scatter_nd":
        m.value(x, (-1,))


@rule("dynamic_partition")
def dynamic_partition(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.input(m.near(x[: m.draw(st.integers(0, len(x)))]))
    m.case.n_outputs = 2


@rule("dynamic_stitch")
def dynamic_stitch(m: Maker, name: str) -> None:
    rest, datas = m.some(0, 2), []
    n = m.draw(st.integers(1, 3))
    for _ in range(n):
        shape = m.some(0, 1)
        m.value(m.draw(st.lists(sizes, min_size=elements(shape), max_size=elements(shape))), shape)
        datas.append(m.case.inputs[-1] + m.near(rest))
    for data in datas:
        m.input(data)
