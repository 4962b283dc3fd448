"""Cases of the shape rules of convolutions and pooling."""

from __future__ import annotations

from hypothesis import strategies as st

from shape_rule_cases.maker import Maker, rule, sizes


def window(m: Maker, space: int) -> int:
    first = m.flag() and space != 0
    formats = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[space]
    m.attr(data_format=formats[0 if first else 1])
    m.attr(
        padding=m.draw(
            st.sampled_from(["SAME", "VALID", "EXPLICIT"] if space == 2 else ["SAME", "VALID"])
        )
    )
    n = 2 * (space + 2) if not m.rarely() else 3
    m.attr(explicit_paddings=tuple(m.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))))
    if m.case.attrs["padding"] != "EXPLICIT":
        m.attr(explicit_paddings=())
    return 1 if first else space + 1


def per_space(m: Maker, space: int, c: int, high: int = 3) -> tuple[int, ...]:
    values = [1 if i in (0, c) else m.draw(st.integers(1, high)) for i in range(space + 2)]
    if m.rarely():
        values = m.ints(space + 2, 0, 2)
    return tuple(values)


@rule("conv2d", "depthwise_conv2d", "conv3d")
def convolution(m: Maker, name: str) -> None:
    space = 3 if name == "conv3d" else 2
    c = window(m, space)
    depth = m.draw(st.integers(1, 4))
    x = [m.draw(st.integers(0, 9)) for _ in range(space + 2)]
    x[c] = depth * (2 if m.rarely() else 1)
    m.input(m.near(tuple(x)))
    m.input(m.near((*[m.draw(st.integers(1, 3)) for _ in range(space)], depth, m.draw(sizes))))
    m.attr(strides=per_space(m, space, c), dilations=per_space(m, space, c, 2))


@rule("dilation2d")
def dilation2d(m: Maker, name: str) -> None:
    m.input(m.near((2, m.draw(st.integers(0, 9)), m.draw(st.integers(0, 9)), 3)))
    m.input(m.near((m.draw(sizes), m.draw(sizes), 3)))
    m.attr(strides=per_space(m, 2, 3), rates=per_space(m, 2, 3, 2))
    m.attr(padding=m.draw(st.sampled_from(["SAME", "VALID"])))


@rule("extract_image_patches", "extract_volume_patches")
def patches(m: Maker, name: str) -> None:
    space = 2 if name == "extract_image_patches" else 3
    m.input(m.near((2, *[m.draw(st.integers(0, 7)) for _ in range(space)], 3)))
    m.attr(ksizes=per_space(m, space, space + 1), strides=per_space(m, space, space + 1))
    m.attr(rates=per_space(m, space, space + 1, 2))
    m.attr(padding=m.draw(st.sampled_from(["SAME", "VALID"])))


@rule("pool2d", "pool3d")
def pool(m: Maker, name: str) -> None:
    space = int(name[4])
    c = window(m, space)
    m.input(m.near(tuple(m.draw(st.integers(0, 9)) for _ in range(space + 2))))
    m.attr(ksize=per_space(m, space, c), strides=per_space(m, space, c))
    m.case.n_outputs = m.draw(st.integers(1, 2))


@rule("pool2d_v2")
def pool2d_v2(m: Maker, name: str) -> None:
    m.input(m.near((2, m.draw(st.integers(0, 9)), m.draw(st.integers(0, 9)), 3)))
    m.value(per_space(m, 2, 3))
    m.value(per_space(m, 2, 3))
    m.attr(padding=m.draw(st.sampled_from(["SAME", "VALID"])), data_format="NHWC")


@rule("fractional_pool")
def fractional_pool(m: Maker, name: str) -> None:
    m.input(m.near((2, m.draw(st.integers(0, 99)), m.draw(st.integers(0, 99)), 3)))
    ratio = st.sampled_from([1.0, 1.44, 1.73, 2.5])
    m.attr(pooling_ratio=(1.0, m.draw(ratio), m.draw(ratio), 1.0))
    m.case.n_outputs = 3


@rule("bias_add", "bias_add_grad")
def bias_add(m: Maker, name: str) -> None:
    x = m.input(m.some(2))
    first = m.flag()
    m.attr(data_format="NCHW" if first else "NHWC")
    m.input(m.near((x[1 if first else -1],)) if len(x) > 1 else (3,))
