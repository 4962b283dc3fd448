"""Cases of the rules whose shapes an attribute, a value or another input gives."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


@rule(
    "unchanged", "each_unchanged", "as_input_1", "as_input_2", "as_input_3", "scalar", "ref_handle",
    "no_output", "batch_norm_global_grad", "decode_csv", "tensor_array", "vector_3",
    "extract_jpeg_shape", "sample_distorted_bounding_box", "switch",
)  # fmt: skip
def anything(m: Maker, name: str) -> None:
    for _ in range(5):
        m.input(m.some())
    fixed = {"no_output": 0, "batch_norm_global_grad": 5, "tensor_array": 2}
    fixed |= {"sample_distorted_bounding_box": 3, "vector_3": 1, "extract_jpeg_shape": 1}
    m.case.n_outputs = fixed.get(name, m.draw(st.integers(1, 3)))


@rule("shape_from_input_0", "shape_from_input_1", "shape_from_input_3")
def from_value(m: Maker, name: str) -> None:
    for _ in range(int(name[-1])):
        m.input(m.some())
    m.value(m.ints(m.draw(st.integers(0, 4))))


@rule("attr_shape")
def attr_shape(m: Maker, name: str) -> None:
    m.attr(shape=m.draw(st.none() | st.lists(st.none() | sizes, max_size=4).map(tuple)))


@rule("const")
def const(m: Maker, name: str) -> None:
    m.attr(value=np.zeros(m.some(), np.int8))


@rule("ensure_shape")
def ensure_shape(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.attr(shape=tuple(None if m.flag() else d for d in m.near(x)))
