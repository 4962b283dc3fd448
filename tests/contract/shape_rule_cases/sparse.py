"""Cases of the shape rules of sparse tensors."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


@rule("sparse_reshape")
def sparse_reshape(m: Maker, name: str) -> None:
    m.input(m.some(2, 2))
    m.input(m.some(1, 1))
    m.input(m.some(1, 1))
    m.case.n_outputs = 2


@rule("sparse_concat")
def sparse_concat(m: Maker, name: str) -> None:
    rank, n = m.draw(sizes), m.draw(st.integers(1, 3))
    for _ in range(n):
        m.input(m.near((m.draw(sizes), rank)))
    for _ in range(2 * n):
        m.input((3,))
    m.case.n_outputs = 3


@rule("sparse_fill_empty_rows", "sparse_fill_empty_rows_grad")
def sparse_rows(m: Maker, name: str) -> None:
    m.input(m.some(2, 2) if name == "sparse_fill_empty_rows" else m.some(1, 1))
    m.input(m.some(1, 1))
    m.value(m.ints(2))
    m.case.n_outputs = 4 if name == "sparse_fill_empty_rows" else 2


@rule("sparse_add_grad")
def sparse_add_grad(m: Maker, name: str) -> None:
    m.input((3,))
    m.input(m.some(2, 2))
    m.input(m.some(2, 2))
    m.case.n_outputs = 2


@rule("sparse_dense_matmul")
def sparse_dense_matmul(m: Maker, name: str) -> None:
    a, b, c = m.draw(sizes), m.draw(sizes), m.draw(sizes)
    ta, tb = m.flag(), m.flag()
    m.attr(adjoint_a=ta, adjoint_b=tb)
    m.input((3, 2))
    m.input((3,))
    m.value(m.near((b, a) if ta else (a, b)), (-1,))
    m.input(m.near((c, b) if tb else (b, c)))
