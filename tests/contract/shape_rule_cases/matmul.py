"""Cases of the shape rules of products."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


@rule("matmul")
def matmul(m: Maker, name: str) -> None:
    a, b, c = m.draw(sizes), m.draw(sizes), m.draw(sizes)
    ta, tb = m.flag(), m.flag()
    m.attr(transpose_a=ta, transpose_b=tb)
    m.input(m.near((b, a) if ta else (a, b)))
    m.input(m.near((c, b) if tb else (b, c)))


@rule("batch_matmul")
def batch_matmul(m: Maker, name: str) -> None:
    a, b, c, batch = m.draw(sizes), m.draw(sizes), m.draw(sizes), m.some(0, 2)
    ta, tb = m.flag(), m.flag()
    m.attr(adj_x=ta, adj_y=tb)
    m.input(m.near(m.narrow(batch) + ((b, a) if ta else (a, b))))
    m.input(m.near(m.narrow(batch) + ((c, b) if tb else (b, c))))


@rule("einsum")
def einsum(m: Maker, name: str) -> None:
    size = {label: m.draw(sizes) for label in "abcd"}
    terms, dots = [], m.some(0, 2)
    for _ in range(m.draw(st.integers(1, 3))):
        labels = m.draw(st.lists(st.sampled_from("abcd"), max_size=3))
        at = m.draw(st.none() | st.integers(0, len(labels)))
        shape: list[int] = []
        text = ""
        for i in range(len(labels) + 1):
            if i == at:
                text += "..."
                shape += m.narrow(dots)
            if i < len(labels):
                text += labels[i]
                shape.append(size[labels[i]])
        terms.append(text)
        m.input(m.near(tuple(shape)))
    used = sorted(set("".join(terms).replace("...", "")))
    out = "".join(label for label in used if m.flag())
    out = out + "..." if any("..." in term for term in terms) or m.rarely() else out
    equation = ",".join(terms) + "->" + out
    if m.rarely():
        equation = m.draw(st.text(alphabet="ab.,-> 1", max_size=8))
    m.attr(equation=equation)
