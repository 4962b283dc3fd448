"""Cases of the shape rules of normalisations and losses."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule


@rule("fused_batch_norm", "fused_batch_norm_grad")
def fused_batch_norm(m: Maker, name: str) -> None:
    first = m.flag()
    m.attr(data_format="NCHW" if first else "NHWC")
    x = m.some(4, 4)
    m.input(m.near(x))
    if name == "fused_batch_norm_grad":
        m.input(m.near(x))
    c = x[1 if first else -1] if len(x) > 1 else 1
    for _ in range(4):
        m.input(m.near((c,)))
    m.case.n_outputs = 5 if name != "fused_batch_norm" else m.draw(st.integers(5, 6))


@rule("softmax", "matrix", "encode_png")
def softmax(m: Maker, name: str) -> None:
    m.input(m.some(0, 4))


@rule("softmax_cross_entropy", "sparse_softmax_cross_entropy", "in_top_k")
def losses(m: Maker, name: str) -> None:
    x = m.input(m.some(2, 2))
    m.input(m.narrow(x) if name == "softmax_cross_entropy" else m.near(x[:1]))
    m.case.n_outputs = 1 if name == "in_top_k" else 2
