"""Random cases of the shape rules, mostly close to valid ones, so that both outcomes occur."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

sizes = st.integers(0, 4)
shapes = st.lists(sizes, max_size=4).map(tuple)
axes = st.integers(-5, 5)


@dataclass
class Case:
    """One question.

    Attributes:
      inputs: complete shapes.
      values: arrays by input, where the value is known.
      missing: whether a value that the rule asks for is not.
      attrs: as ShapeQuery has them.
    """

    inputs: list[tuple[int, ...]]
    attrs: dict[str, Any] = field(default_factory=dict)
    values: dict[int, np.ndarray] = field(default_factory=dict)
    n_outputs: int = 1
    missing: bool = False


class Maker:
    """Builds a case from a hypothesis draw."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.case = Case([])

    def some(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        """Draws a shape of rank low to high, sometimes of any rank."""
        if self.rarely():
            return self.draw(shapes)
        return tuple(self.draw(st.lists(sizes, min_size=low, max_size=high)))

    def rarely(self) -> bool:
        return self.draw(st.integers(0, 11)) == 0

    def near(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape, sometimes changed."""
        if not self.rarely():
            return tuple(shape)
        how, changed = self.draw(st.integers(0, 2)), list(shape)
        if how == 0 or not changed:
            changed.insert(self.draw(st.integers(0, len(changed))), self.draw(sizes))
        elif how == 1:
            del changed[self.draw(st.integers(0, len(changed) - 1))]
        else:
            changed[self.draw(st.integers(0, len(changed) - 1))] = self.draw(sizes)
        return tuple(changed)

    def narrow(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Draws a shape that usually broadcasts to this one."""
        kept = [1 if self.draw(st.integers(0, 3)) == 0 else d for d in shape]
        return self.near(tuple(kept[self.draw(st.integers(0, len(kept))) :]))

    def input(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        self.case.inputs.append(tuple(shape[:8]))
        return self.case.inputs[-1]

    def value(self, numbers: Any, shape: tuple[int, ...] | None = None) -> None:
        """Draws an input, usually with a known value."""
        array = np.asarray(numbers, self.draw(st.sampled_from([np.int32, np.int64])))
        if shape is not None:
            array = array.reshape(shape)
        if self.rarely():
            array = array[None]
        if self.rarely():
            self.case.missing = True
        else:
            self.case.values[len(self.case.inputs)] = array
        self.case.inputs.append(array.shape)

    def ints(self, n: int, low: int = 0, high: int = 4) -> list[int]:
        if self.rarely():
            n, low = self.draw(st.integers(0, 4)), low - 2
        return self.draw(st.lists(st.integers(low, high), min_size=n, max_size=n))

    def axis(self, rank: int, more: int = 0) -> int:
        n = rank + more
        if n == 0 or self.rarely():
            return self.draw(axes)
        return self.draw(st.integers(-n, n - 1))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def attr(self, **attrs: Any) -> None:
        self.case.attrs.update(attrs)


RULES: dict[str, Any] = {}


def rule(*names: str) -> Any:
    def register(make: Any) -> Any:
        for name in names:
            RULES[name] = (name, make)
        return make

    return register


def cases(name: str) -> st.SearchStrategy[Case]:
    """Returns the strategy of cases of a rule."""

    @st.composite
    def build(draw: Any) -> Case:
        maker = Maker(draw)
        RULES[name][1](maker, name)
        return maker.case

    return build()


def elements(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


# ---- given -------------------------------------------------------------------------------------


@rule(
    "unchanged", "each_unchanged", "as_input_1", "as_input_2", "as_input_3", "scalar", "ref_handle",
    "no_output", "unknown", "batch_norm_global_grad", "decode_csv", "tensor_array", "vector_3",
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


# ---- elementwise, matmul, reduction ------------------------------------------------------------


@rule("broadcast")
def broadcast(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(m.draw(st.integers(1, 3))):
        m.input(m.narrow(x))
    m.attr(incompatible_shape_error=not m.rarely())


@rule("merge")
def merge(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(m.draw(st.integers(1, 3))):
        m.input(m.near(x))


@rule("merge_or_scalar")
def merge_or_scalar(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(3):
        m.input(() if m.flag() else m.near(x))


@rule("select")
def select(m: Maker, name: str) -> None:
    x = m.some()
    m.input(m.draw(st.sampled_from([x, (), x[:1]])) if not m.rarely() else m.some())
    m.input(m.near(x))
    m.input(m.near(x))


@rule("clip_by_value")
def clip_by_value(m: Maker, name: str) -> None:
    x = m.input(m.some())
    for _ in range(2):
        m.input(() if m.flag() else m.near(x))


@rule("bitcast")
def bitcast(m: Maker, name: str) -> None:
    types = st.sampled_from([1, 2, 4, 5, 9, 18])
    m.attr(T=m.draw(types), type=m.draw(types))
    m.input((*m.some(), m.draw(st.sampled_from([2, 4, 8]))))


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


@rule("reduce")
def reduce(m: Maker, name: str) -> None:
    x = m.input(m.some())
    n = m.draw(st.integers(0, len(x)))
    m.value(sorted({m.axis(len(x)) for _ in range(n)}), (-1,))
    m.attr(keep_dims=m.flag())


@rule("arg_reduce")
def arg_reduce(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.value(m.axis(len(x)))


@rule("bincount", "dense_bincount", "histogram_fixed_width")
def counts(m: Maker, name: str) -> None:
    m.input(m.some(0, 2))
    if name == "histogram_fixed_width":
        m.input((2,))
    m.value(m.draw(st.integers(-1, 5)))
    m.input(())


@rule("top_k", "top_k_v2")
def top_k(m: Maker, name: str) -> None:
    m.input(m.some(1))
    m.case.n_outputs = 2
    k = m.draw(st.integers(-1, 4))
    if name == "top_k":
        m.attr(k=k)
    else:
        m.value(k)


@rule("nth_element")
def nth_element(m: Maker, name: str) -> None:
    m.input(m.some(1))
    m.value(m.draw(st.integers(-1, 4)))


# ---- arrays ------------------------------------------------------------------------------------


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


# ---- joining, slicing, gather, scatter, segment ------------------------------------------------


@rule("concat", "concat_v2")
def concat(m: Maker, name: str) -> None:
    x = m.some(1)
    axis = m.axis(len(x))
    if name == "concat":
        m.value(axis)
    for _ in range(m.draw(st.integers(1, 3))):
        y = list(x)
        if -len(x) <= axis < len(x):
            y[axis] = m.draw(sizes)
        m.input(m.near(tuple(y)))
    if name == "concat_v2":
        m.value(axis)


@rule("pack")
def pack(m: Maker, name: str) -> None:
    x = m.some()
    for _ in range(m.draw(st.integers(1, 3))):
        m.input(m.near(x))
    m.attr(axis=m.axis(len(x), 1))


@rule("unpack")
def unpack(m: Maker, name: str) -> None:
    x = m.input(m.some(1))
    axis = m.axis(len(x))
    m.attr(axis=axis)
    m.case.n_outputs = x[axis] if -len(x) <= axis < len(x) and x[axis] and not m.rarely() else 2


@rule("split")
def split(m: Maker, name: str) -> None:
    x = tuple(2 * d for d in m.some(1))
    m.value(m.axis(len(x)))
    m.input(x)
    m.case.n_outputs = m.draw(st.integers(1, 3))


@rule("split_v")
def split_v(m: Maker, name: str) -> None:
    x = list(m.some(1))
    pieces = m.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    axis = m.axis(len(x))
    if -len(x) <= axis < len(x):
        x[axis] = sum(pieces)
    m.input(m.near(tuple(x)))
    m.case.n_outputs = len(pieces)
    if m.flag():
        pieces[0] = -1
    m.value(m.near(tuple(pieces)), (-1,))
    m.value(axis)


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


@rule("gather", "gather_v2")
def gather(m: Maker, name: str) -> None:
    batch = m.some(0, 1) if name == "gather_v2" else ()
    x = m.input(batch + m.some(1, 3))
    m.input(m.near(batch) + m.some(0, 2))
    if name == "gather_v2":
        m.value(m.axis(len(x)))
        m.attr(batch_dims=m.draw(st.sampled_from([len(batch), len(batch), 0, -1, 1])))


@rule("gather_nd")
def gather_nd(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.input((*m.some(0, 2), m.draw(st.integers(0, len(x) + 1))))


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


@rule("segment", "sparse_segment", "sparse_segment_grad_v2")
def segment(m: Maker, name: str) -> None:
    x = m.input(m.some(1))
    m.input(m.near(x[:1]))
    m.input(m.near(m.case.inputs[1]))
    m.case.n_outputs = 2 if name == "sparse_segment_grad_v2" else 1


@rule("unsorted_segment")
def unsorted_segment(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.input(m.near(x[: m.draw(st.integers(0, len(x)))]))
    m.value(m.draw(st.integers(-1, 4)))


@rule("sparse_segment_counted", "sparse_segment_grad")
def counted(m: Maker, name: str) -> None:
    segment(m, name)
    m.value(m.draw(st.integers(-1, 4)))


# ---- windows -----------------------------------------------------------------------------------


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


# ---- normalisation, losses, random -------------------------------------------------------------


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


@rule("random_crop", "resize", "resize_by_input_2")
def resize(m: Maker, name: str) -> None:
    m.input(m.some(3, 3) if name == "random_crop" else m.some(4, 4))
    if name == "resize_by_input_2":
        m.input((2, 8))
    m.value(m.ints(2, 0, 5))


@rule("random_gamma")
def random_gamma(m: Maker, name: str) -> None:
    m.value(m.ints(2))
    m.input(m.some())


@rule("multinomial")
def multinomial(m: Maker, name: str) -> None:
    m.input(m.some(2, 2))
    m.value(m.draw(st.integers(-1, 5)))


@rule("candidate_sampler")
def candidate_sampler(m: Maker, name: str) -> None:
    m.attr(num_true=m.draw(st.integers(1, 3)), num_sampled=m.draw(st.integers(1, 3)))
    m.input(m.near((m.draw(sizes), m.case.attrs["num_true"])))
    m.case.n_outputs = 3


@rule("ctc_loss", "ctc_decoder")
def ctc(m: Maker, name: str) -> None:
    m.input(m.some(3, 3))
    m.case.n_outputs = 2 if name == "ctc_loss" else 7


# ---- linalg, image, state, sparse --------------------------------------------------------------


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


@rule("crop_and_resize")
def crop_and_resize(m: Maker, name: str) -> None:
    n = m.draw(sizes)
    m.input(m.near((2, 5, 5, 3)))
    m.input(m.near((n, 4)))
    m.input(m.near((n,)))
    m.value(m.ints(2, 0, 5))


@rule("non_max_suppression", "combined_non_max_suppression")
def non_max_suppression(m: Maker, name: str) -> None:
    m.input(m.some(2, 2) if name == "non_max_suppression" else m.some(4, 4))
    m.input((3,))
    m.value(m.draw(st.integers(0, 5)))
    m.attr(pad_to_max_output_size=m.flag())
    m.case.n_outputs = 3 if name == "non_max_suppression" else 4


@rule("assign", "assign_update")
def assign(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.input(m.near(x))
    m.attr(validate_shape=not m.rarely())


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
