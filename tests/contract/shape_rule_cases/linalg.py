"""Cases of the shape rules of matrix ops and transforms."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


@rule("square", "determinant", "lu", "self_adjoint_eig", "self_adjoint_eig_v2")
def square(m: Maker, name: str) -> None:
    n = m.draw(sizes)
    m.input(m.near((*m.some(0, 2), n, n)))
    m.case.n_outputs = 2 if name in ("lu", "self_adjoint_eig_v2") else 1
    m.attr(compute_v=m.flag())


@rule("qr", "svd", "matrix_diag", "matrix_diag_part")
def matrices(m: Maker, name: str) -> None:
    m.input(m.some(1, 4))
    m.attr(full_matrices=m.flag(), compute_uv=m.flag())
    m.case.n_outputs = {"qr": 2, "svd": 3}.get(name, 1)


@rule("matrix_solve", "matrix_solve_ls")
def matrix_solve(m: Maker, name: str) -> None:
    batch, n = m.some(0, 2), m.draw(sizes)
    m.input(m.near((*m.narrow(batch), n, n if name == "matrix_solve" else m.draw(sizes))))
    m.input(m.near((*m.narrow(batch), n, m.draw(sizes))))


@rule("matrix_diag_part_v2")
def matrix_diag_part_v2(m: Maker, name: str) -> None:
    m.input(m.some(2, 3))
    m.value(sorted(m.draw(st.lists(st.integers(-2, 2), min_size=1, max_size=2))))


@rule("matrix_diag_v2")
def matrix_diag_v2(m: Maker, name: str) -> None:
    k = sorted(m.draw(st.lists(st.integers(-2, 2), min_size=1, max_size=2)))
    bands = () if k[0] == k[-1] else (k[-1] - k[0] + 1,)
    m.input(m.near((*m.some(0, 1), *bands, m.draw(sizes))))
    m.value(k)
    m.value(m.draw(st.integers(-1, 6)))
    m.value(m.draw(st.integers(-1, 6)))


@rule("rfft", "irfft")
def fft(m: Maker, name: str) -> None:
    n = m.draw(st.integers(1, 3))
    m.input(m.some(n, 4))
    m.value(m.ints(n))
