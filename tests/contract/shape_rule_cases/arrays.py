"""Cases of the shape rules of ops that reshape, create and reorder arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, axes, elements, rule, sizes


@rule("shape", "vector_unchanged", "where", "diag", "sparse_triplet", "vectors", "unknown")
def one(m: Maker, name: str) -> None:
    m.input(m.some(1, 2))


@rule("shape_n")
def shape_n(m: Maker, name: str) -> None:
    m.case.n_outputs = 2
    m.input(m.some())
    m.input(m.some())


@rule("broadcast_args", "list_diff")
def two_vectors(m: Maker, name: str) -> None:
    m.input(m.some(1, 1))
    m.input(m.some(1, 1))
    m.case.n_outputs = 2 if name == "list_diff" else 1


@rule("broadcast_gradient_args")
def broadcast_gradient_args(m: Maker, name: str) -> None:
    x = m.some()
    m.value(m.narrow(x), (-1,))
    m.value(m.narrow(x), (-1,))
    m.case.n_outputs = 2


@rule("concat_offset")
def concat_offset(m: Maker, name: str) -> None:
    m.input(())
    m.input((3,))
    m.input((3,))
    m.case.n_outputs = 2


@rule("unravel_index")
def unravel_index(m: Maker, name: str) -> None:
    m.input(m.some(0, 1))
    m.input(m.some(1, 1))


@rule("reshape")
def reshape(m: Maker, name: str) -> None:
    x = m.input(m.some())
    n, target = elements(x), list(x)
    m.draw(st.randoms(use_true_random=False)).shuffle(target)
    if m.flag():
        target = [n]
    if target and m.flag():
        target[m.draw(st.integers(0, len(target) - 1))] = -1
    m.value(m.near(tuple(target)), (-1,))


@rule("expand_dims")
def expand_dims(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.value(m.axis(len(x), 1))


@rule("squeeze")
def squeeze(m: Maker, name: str) -> None:
    x = m.input(tuple(m.draw(st.lists(st.sampled_from([1, 1, 2, 0]), max_size=4))))
    ones = [i for i, d in enumerate(x) if d == 1]
    m.attr(squeeze_dims=tuple(m.draw(st.lists(st.sampled_from(ones), max_size=2)) if ones else ()))
    if m.rarely():
        m.attr(squeeze_dims=(m.draw(axes),))


@rule("broadcast_to")
def broadcast_to(m: Maker, name: str) -> None:
    x = m.some()
    m.input(m.narrow(x))
    m.value(x, (-1,))


@rule("tile", "tile_grad")
def tile(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.value(m.ints(len(x), 0, 3))


@rule("transpose")
def transpose(m: Maker, name: str) -> None:
    x = m.input(m.some())
    order = list(m.draw(st.permutations(range(len(x)))))
    if m.rarely():
        order = m.ints(len(x))
    m.value(order)


@rule("space_to_batch", "batch_to_space")
def blocks_v1(m: Maker, name: str) -> None:
    m.input(m.near((4 * m.draw(sizes), m.draw(sizes), 2 * m.draw(sizes), 3)))
    m.value([m.draw(st.integers(-1 if m.rarely() else 0, 1)) for _ in range(4)], (2, 2))
    m.attr(block_size=m.draw(st.sampled_from([1, 2, 2, 0])))


@rule("space_to_batch_nd", "batch_to_space_nd")
def blocks_nd(m: Maker, name: str) -> None:
    n = m.draw(st.integers(0, 2))
    m.input(m.near((m.draw(st.sampled_from([0, 2, 4, 6])), *[2 * m.draw(sizes) for _ in range(n)])))
    m.value(m.ints(n, 1, 2))
    low = -1 if m.rarely() else 0
    m.value([m.draw(st.integers(low, 1)) for _ in range(2 * n)], (n, 2))


@rule("space_to_depth", "depth_to_space")
def depth(m: Maker, name: str) -> None:
    m.input(m.near((1, *[2 * m.draw(sizes) for _ in range(3)])))
    m.attr(block_size=2, data_format=m.draw(st.sampled_from(["NHWC", "NCHW"])))


@rule("pad", "pad_grad")
def pad(m: Maker, name: str) -> None:
    x = m.input(m.some())
    pads = m.draw(st.lists(st.integers(0, 2), min_size=2 * len(x), max_size=2 * len(x)))
    if m.rarely() and pads:
        pads[0] = -1
    m.value(pads, (len(x), 2))


@rule("range")
def range_rule(m: Maker, name: str) -> None:
    dtype = m.draw(st.sampled_from([np.int32, np.int64, np.float32, np.float64]))
    for i, low in enumerate((-5, -5, -3)):
        number = m.draw(st.integers(low, 6))
        if np.dtype(dtype).kind == "f":
            number /= m.draw(st.sampled_from([1, 3, 7]))
        if m.rarely():
            m.case.missing = True
        else:
            m.case.values[i] = np.asarray(number, dtype)
        m.case.inputs.append(())


@rule("linspace")
def linspace(m: Maker, name: str) -> None:
    m.input(())
    m.input(())
    m.value(m.draw(st.integers(-1, 4)))


@rule("one_hot")
def one_hot(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.value(m.draw(st.integers(-1, 4)))
    m.attr(axis=m.axis(len(x), 1))


@rule("diag_part")
def diag_part(m: Maker, name: str) -> None:
    x = m.some(1, 2)
    m.input(m.near(x + x))


@rule("unique")
def unique(m: Maker, name: str) -> None:
    x = m.input(m.some(1, 2))
    if m.flag():
        m.value([m.axis(len(x))] if m.flag() else [], (-1,))
    m.case.n_outputs = m.draw(st.integers(2, 3))
