"""Shape rules of linear algebra and Fourier transforms."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    broadcast,
    ints,
    same,
    show,
    with_rank,
)

Shapes = list[Shape]


def _square(op: ShapeQuery, i: int = 0) -> Shape:
    x = at_least(op.inputs[i], 2, "input")
    if x is None:
        return None
    if not same(x[-1], x[-2]):
        raise ValueError(f"matrices must be square, are {show(x)}")
    n = x[-1] if x[-2] is None else x[-2]
    return (*x[:-2], n, n)


@shape_rule("square")
def square(op: ShapeQuery) -> Shapes:
    return [_square(op)]


@shape_rule("matrix")
def matrix(op: ShapeQuery) -> Shapes:
    return [at_least(op.inputs[0], 2, "input")]


@shape_rule("determinant")
def determinant(op: ShapeQuery) -> Shapes:
    x = _square(op)
    return [None if x is None else x[:-2]] * op.n_outputs


@shape_rule("lu")
def lu(op: ShapeQuery) -> Shapes:
    x = _square(op)
    return [x, None if x is None else x[:-1]]


def _smaller(m: int | None, n: int | None) -> int | None:
    if m == 0 or n == 0:
        return 0
    return None if m is None or n is None else min(m, n)


@shape_rule("qr")
def qr(op: ShapeQuery) -> Shapes:
    x = at_least(op.inputs[0], 2, "input")
    if x is None:
        return [None, None]
    m, n = x[-2:]
    p = m if op.attrs["full_matrices"] else _smaller(m, n)
    return [(*x[:-2], m, p), (*x[:-2], p, n)]


@shape_rule("svd")
def svd(op: ShapeQuery) -> Shapes:
    x = at_least(op.inputs[0], 2, "input")
    if x is None:
        return [None, None, None] if op.attrs["compute_uv"] else [None, (0,), (0,)]
    m, n = x[-2:]
    p = _smaller(m, n)
    if not op.attrs["compute_uv"]:
        return [(*x[:-2], p), (0,), (0,)]
    full = op.attrs["full_matrices"]
    return [(*x[:-2], p), (*x[:-2], m, m if full else p), (*x[:-2], n, n if full else p)]


@shape_rule("self_adjoint_eig")
def self_adjoint_eig(op: ShapeQuery) -> Shapes:
    x = _square(op)
    if x is None:
        return [None]
    n = x[-1]
    return [(*x[:-2], None if n is None else n + 1, n)]


@shape_rule("self_adjoint_eig_v2")
def self_adjoint_eig_v2(op: ShapeQuery) -> Shapes:
    x = _square(op)
    return [None if x is None else x[:-1], x if op.attrs["compute_v"] else (0,)]


@shape_rule("matrix_solve")
def matrix_solve(op: ShapeQuery) -> Shapes:
    a, b = _square(op), at_least(op.inputs[1], 2, "rhs")
    if a is None or b is None:
        return [None]
    return [_solved(op, a, b, a[-1])]


@shape_rule("matrix_solve_ls")
def matrix_solve_ls(op: ShapeQuery) -> Shapes:
    a, b = at_least(op.inputs[0], 2, "matrix"), at_least(op.inputs[1], 2, "rhs")
    if a is None or b is None:
        return [None]
    return [_solved(op, a, b, a[-1])]


def _solved(op: ShapeQuery, a: Shape, b: Shape, rows: int | None) -> Shape:
    assert a is not None and b is not None
    if not same(a[-2], b[-2]):
        raise ValueError(f"rows differ: matrix is {show(a)}, rhs is {show(b)}")
    try:
        batch = broadcast(a[:-2], b[:-2])
    except ValueError:
        raise ValueError(
            f"batch sizes do not broadcast: matrix is {show(a)}, rhs is {show(b)}"
        ) from None
    return (*batch, rows, b[-1])  # type: ignore[misc]


@shape_rule("matrix_diag")
def matrix_diag(op: ShapeQuery) -> Shapes:
    x = at_least(op.inputs[0], 1, "diagonal")
    return [None if x is None else (*x, x[-1])]


@shape_rule("matrix_diag_part")
def matrix_diag_part(op: ShapeQuery) -> Shapes:
    x = at_least(op.inputs[0], 2, "input")
    return [None if x is None else (*x[:-2], _smaller(x[-2], x[-1]))]


def _band(op: ShapeQuery, i: int) -> tuple[int, int] | None:
    k = ints(op, i)
    if k is None:
        return None
    if not 1 <= len(k) <= 2 or k[0] > k[-1]:
        raise ValueError(f"k must be one diagonal or the lowest and the highest, is {show(k)}")
    return k[0], k[-1]


@shape_rule("matrix_diag_part_v2")
def matrix_diag_part_v2(op: ShapeQuery) -> Shapes:
    x, band = at_least(op.inputs[0], 2, "input"), _band(op, 1)
    if x is None or band is None:
        return [None]
    low, high = band
    m, n = x[-2:]
    for d in band:
        if d != 0 and ((m is not None and -m >= d) or (n is not None and d >= n)):
            raise ValueError(f"diagonal {d} is outside of {show(x)}")
    length = _smaller(
        None if m is None else m + min(high, 0), None if n is None else n - max(low, 0)
    )
    return [(*x[:-2], *(() if low == high else (high - low + 1,)), length)]


@shape_rule("matrix_diag_v2")
def matrix_diag_v2(op: ShapeQuery) -> Shapes:
    x, band = at_least(op.inputs[0], 1, "diagonal"), _band(op, 1)
    rows, columns = ints(op, 2), ints(op, 3)
    if x is None or band is None:
        return [None]
    low, high = band
    lead = x[:-1]
    if low != high:
        at_least(x, 2, "diagonal")
        if not same(x[-2], high - low + 1):
            raise ValueError(f"diagonals {show(x)} are not the {high - low + 1} that k says")
        lead = x[:-2]
    if rows is None or columns is None or x[-1] is None:
        return [(*lead, None, None)]
    m, n, length = rows[0], columns[0], x[-1]
    least_m, least_n = length - min(high, 0), length + max(low, 0)
    if m == -1 and n == -1:
        m = n = max(least_m, least_n)
    m, n = least_m if m == -1 else m, least_n if n == -1 else n
    if m < least_m or n < least_n or (m != least_m and n != least_n):
        raise ValueError(f"diagonals {show(x)} do not fit matrices of [{m}, {n}]")
    return [(*lead, m, n)]


def _fft(op: ShapeQuery, half: bool) -> Shapes:
    x, operand, length = op.inputs[0], with_rank(op.inputs[1], 1, "fft_length"), ints(op, 1)
    rank = operand[0]
    if rank is None:
        return [None if x is None else (None,) * len(x)]
    x = at_least(x, rank, "input")
    if x is None:
        return [None]
    inner: list[int | None] = [None] * rank
    if length:
        inner = list(length)
        if min(length) < 0:
            raise ValueError(f"fft_length must not be negative, is {show(length)}")
        if half and length[-1]:
            inner[-1] = length[-1] // 2 + 1
    return [(*x[: len(x) - rank], *inner)]


@shape_rule("rfft")
def rfft(op: ShapeQuery) -> Shapes:
    return _fft(op, half=True)


@shape_rule("irfft")
def irfft(op: ShapeQuery) -> Shapes:
    return _fft(op, half=False)
