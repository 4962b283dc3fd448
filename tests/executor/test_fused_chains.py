"""Fused chains of many dtypes, with conditions and reductions, have the same bits as separate ops.

Modules: plan/fuse_elementwise.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace.graph as hr
from headrace.formats import dtypes
from headrace.formats.proto.op_pb2 import AttrValue

ROWS, COLUMNS = 70, 90
SHAPES = [[ROWS, COLUMNS], [ROWS, COLUMNS], [COLUMNS], [ROWS, 1], [1, COLUMNS], [], [1, 1]]
FLOATS = [hr.float32, hr.float64, hr.half, hr.bfloat16]
NUMBERS = [*FLOATS, hr.int32, hr.int64]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-41, 65520.0, -1.0, 3e8]
UNARY = [hr.negative, hr.square, hr.abs, hr.nn.relu, hr.sign]
UNARY_OF_FLOATS = [
    hr.tanh, hr.exp, hr.sigmoid, hr.nn.softplus, hr.nn.elu, hr.floor, hr.round, hr.erf, hr.sqrt,
    hr.math.log1p, hr.nn.selu, hr.math.reciprocal, hr.nn.relu6, hr.sin, hr.cos, hr.nn.leaky_relu,
]  # fmt: skip
BINARY = [hr.add, hr.subtract, hr.multiply, hr.maximum, hr.minimum, hr.math.squared_difference]
BINARY_OF_FLOATS = [hr.divide, hr.pow, hr.floordiv, hr.math.divide_no_nan]
COMPARISONS = [hr.equal, hr.not_equal, hr.less, hr.less_equal, hr.greater, hr.greater_equal]
LOGIC = [hr.logical_and, hr.logical_or]
REDUCTIONS = [hr.reduce_sum, hr.reduce_mean, hr.reduce_max, hr.reduce_min]


def _fused(session: hr.Session, fetch: Any, feeds: Any) -> int:
    return int(re.findall(r"(\d+) fused", session.explain(fetch, list(feeds)))[0])


def _array(random: np.random.RandomState, dtype: Any, shape: list[int]) -> np.ndarray:
    kind = dtype.as_numpy_dtype
    if dtype in (hr.int32, hr.int64):
        return random.randint(-50, 50, shape).astype(kind)
    value = np.array(random.uniform(-3, 3, shape))
    if value.size > 1:
        flat = value.reshape(-1)
        flat[random.randint(0, flat.size, 20)] = random.choice(SPECIAL, 20)
    with np.errstate(over="ignore"):
        return value.astype(kind)


class _Program:
    """Random ops over values of many dtypes; `feeds` are the fed ones among `values`."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.random = np.random.RandomState(data.draw(st.integers(0, 2**31)))
        self.values: list[Any] = []
        self.feeds: dict[Any, np.ndarray] = {}
        for dtype in data.draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3)):
            for shape in data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3)):
                x = hr.placeholder(dtype, shape)
                self.feeds[x] = _array(self.random, dtype, shape)
                self.values.append(x)

    def draw(self, options: list[Any]) -> Any:
        return options[self.data.draw(st.integers(0, len(options) - 1))]

    def some(self, dtypes: list[Any]) -> Any:
        """Recent values more often: chains, not bushes."""
        fit = [v for v in self.values if v.dtype in dtypes]
        return self.draw(fit[-3:] + fit) if fit else None

    def add(self) -> None:
        kind = self.data.draw(st.sampled_from("uuubbbcclswan"))
        x = self.some(NUMBERS)
        y = self.some([x.dtype])
        floats = x.dtype in FLOATS
        if kind == "u":
            result = self.draw(UNARY + (UNARY_OF_FLOATS if floats else []))(x)
        elif kind == "b":
            result = self.draw(BINARY + (BINARY_OF_FLOATS if floats else []))(x, y)
        elif kind == "c":
            result = self.draw(COMPARISONS)(x, y)
        elif kind == "n":
            result = (
                hr.add_n([x, x, x])
                if x is not y
                else hr.logical_not(hr.math.is_nan(x))
                if floats
                else hr.add_n([x, x])
            )
        elif kind == "a":
            result = hr.clip_by_value(x, *(hr.constant(v, x.dtype) for v in (-2, 2)))
        elif kind == "s":
            result = hr.cast(self.some([*NUMBERS, hr.bool]), self.draw([*NUMBERS, hr.bool]))
        else:
            condition = self.some([hr.bool])
            if condition is None:
                return
            result = (
                hr.where_v2(condition, x, y)
                if kind == "w"
                else self.draw(LOGIC)(condition, self.some([hr.bool]))
            )
        self.values.append(result)


def _assert_same_bits(one: np.ndarray, other: np.ndarray) -> None:
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    if one.dtype.kind in "biu":
        np.testing.assert_array_equal(one, other)
        return
    nan = np.isnan(other)
    np.testing.assert_array_equal(np.isnan(one), nan)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[one.dtype.itemsize]
    np.testing.assert_array_equal(
        np.atleast_1d(one)[~np.atleast_1d(nan)].view(bits),
        np.atleast_1d(other)[~np.atleast_1d(nan)].view(bits),
    )


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_random_chains_have_the_same_bits_as_separate_ops(data: st.DataObject) -> None:
    graph = hr.Graph()
    with graph.as_default(), np.errstate(all="ignore"):
        program = _Program(data)
        for _ in range(data.draw(st.integers(2, 12))):
            program.add()
        end = program.values[-1]
        if data.draw(st.booleans()) and end.shape.rank:
            axis = data.draw(st.sampled_from([None, [-1], list(range(end.shape.rank))]))
            keep = data.draw(st.booleans())
            reductions = [hr.reduce_all, hr.reduce_any] if end.dtype == hr.bool else REDUCTIONS
            end = program.draw(reductions)(end, axis=axis, keepdims=keep)
        threads = data.draw(st.sampled_from([1, 2]))
        config = hr.ConfigProto(intra_op_parallelism_threads=threads)
        with hr.Session(graph=graph, config=config) as session:
            result = [v for v in program.values if v not in program.feeds]
            # What is fetched is computed alone.
            apart = session.run([end, *result], program.feeds)[0]
            for _ in range(2):
                _assert_same_bits(session.run(end, program.feeds), apart)


LOSSES = {
    "squares": lambda a, b: hr.reduce_mean(hr.square(a - b)),
    "absolute": lambda a, b: hr.reduce_sum(hr.abs(a - b), axis=-1),
    "hinge": lambda a, b: hr.reduce_mean(hr.maximum(1.0 - a * b, 0.0), axis=1, keepdims=True),
    "entropy": lambda a, b: -hr.reduce_sum(hr.sigmoid(b) * hr.log(hr.sigmoid(a)), axis=1),
    "huber": lambda a, b: hr.reduce_mean(
        hr.where_v2(hr.abs(a - b) < 1.0, 0.5 * hr.square(a - b), hr.abs(a - b) - 0.5)
    ),
    "accuracy": lambda a, b: hr.reduce_mean(
        hr.cast(hr.equal(hr.round(a), hr.round(b)), hr.float32)
    ),
    "finite": lambda a, b: hr.reduce_all(hr.math.is_finite(a * b)),
    "largest": lambda a, b: hr.reduce_max(a - b, axis=[0, 1]),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_a_loss_is_one_pass(name: str, dtype: Any) -> None:
    random = np.random.RandomState(0)
    a, b = (hr.placeholder(dtype, [200, 500]) for _ in range(2))
    feeds = {x: random.randn(200, 500).astype(dtype) for x in (a, b)}
    loss = LOSSES[name](a, b)
    with hr.Session() as session:
        got = session.run(loss, feeds)
        explained = session.explain(loss, [a, b])
        assert (
            explained.count("_FusedReduction (cpu)") == 1
            and "1 kernels" in explained
            or name == "entropy"
        )
        everything = [
            t
            for op in hr.get_default_graph().get_operations()
            if op.type not in ("Placeholder", "Const", "Range", "Rank", "Shape")
            for t in op.outputs
        ]
        apart = session.run([loss, *everything], feeds)[0]
        assert "_FusedReduction" not in session.explain([loss, *everything], [a, b])
    _assert_same_bits(np.asarray(got), np.asarray(apart))


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_images_of_bytes_are_scaled_in_one_pass() -> None:
    x = hr.placeholder(hr.uint8, [4, 32, 32, 3])
    value = np.random.RandomState(0).randint(0, 256, [4, 32, 32, 3]).astype(np.uint8)
    mean = np.array([0.4, 0.5, 0.6], np.float32)
    y = (hr.cast(x, hr.float32) / 255.0 - mean) / 0.25
    with hr.Session() as session:
        got = session.run(y, {x: value})
        assert "1 kernels" in session.explain(y, [x])
    np.testing.assert_allclose(got, (value / np.float32(255) - mean) / np.float32(0.25), rtol=1e-6)


def test_the_output_lies_over_no_input_of_other_elements() -> None:
    """A half [n, 2] and a float [n, 1] have the same bytes, but not element by element."""
    a = hr.placeholder(hr.float32, [6000, 1])
    b = hr.placeholder(hr.half, [6000, 2])
    first = hr.exp(a * 2.0)
    y = hr.cast(first - 1.0, hr.half) * b + b
    random = np.random.RandomState(0)
    feeds = {a: random.rand(6000, 1), b: random.rand(6000, 2).astype(np.float16)}
    with hr.Session() as session:
        got = session.run(y, feeds)
        apart = session.run([y, first], feeds)[0]
        assert _fused(session, y, feeds) > 0
    expected = (np.exp(feeds[a].astype("f") * 2) - 1).astype(np.float16) * feeds[b] + feeds[b]
    np.testing.assert_allclose(got, expected, rtol=2e-3)
    _assert_same_bits(got, apart)


def test_a_condition_over_the_first_dimension_is_not_fused() -> None:
    c = hr.placeholder(hr.bool, [ROWS])
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    y = hr.square(hr.where(c, hr.exp(x), -x))
    values = np.random.RandomState(0).rand(ROWS, COLUMNS).astype(np.float32)
    condition = np.arange(ROWS) % 2 == 0
    with hr.Session() as session:
        got = session.run(y, {c: condition, x: values})
    expected = np.where(condition[:, None], np.exp(values), -values) ** 2
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_truncating_casts_and_reductions_of_first_dimensions_are_not_fused() -> None:
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    create = hr.get_default_graph().create_op
    attrs = {
        "SrcT": AttrValue(type=int(dtypes.as_dtype("float32"))),
        "DstT": AttrValue(type=int(dtypes.as_dtype("half"))),
        "Truncate": AttrValue(b=True),
    }
    cast = create("Cast", [x * 1.1], [hr.half], attrs=attrs).outputs[0]
    first = hr.reduce_sum(hr.square(x), axis=0)
    with hr.Session() as session:
        value = np.random.RandomState(0).rand(ROWS, COLUMNS).astype(np.float32)
        got = session.run(first, {x: value})
        assert "_FusedReduction" not in session.explain(first, [x])
        session.run(cast, {x: value})
        assert " Cast (" in session.explain(cast, [x])
    np.testing.assert_allclose(got, np.sum(value**2, axis=0), rtol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_angles_and_leaks_join_a_chain(dtype: Any) -> None:
    x = hr.placeholder(dtype, [ROWS, COLUMNS])
    leak = hr.nn.leaky_relu(x * x - x, alpha=0.3)
    parts = [hr.sin(leak), hr.cos(leak), hr.truncatediv(leak, x + 5.0), hr.floordiv(leak, x)]
    y = parts[0] * parts[1] + parts[2] * parts[3]
    (gradient,) = hr.gradients(hr.nn.leaky_relu(x, alpha=0.3) * x, x)
    feeds = {x: _array(np.random.RandomState(3), dtype, [ROWS, COLUMNS])}
    with hr.Session() as session:
        for fetch in (y, gradient):
            together = session.run(fetch, feeds)
            explained = session.explain(fetch, [x])
            assert "1  _FusedElementwise (cpu)" in explained
            for op in ("LeakyRelu", "LeakyReluGrad", "Sin", "Cos", "TruncateDiv", "FloorDiv"):
                assert f"{op} (cpu)" not in explained
            every = [t for node in hr.get_default_graph().get_operations() for t in node.outputs]
            every = [t for t in every if t.dtype == dtype and t is not fetch]
            apart = session.run([fetch, *every], feeds)[0]
            np.testing.assert_array_equal(together.astype(float), apart.astype(float))


def test_an_integer_division_by_zero_next_to_a_chain_is_an_error() -> None:
    x = hr.placeholder(hr.int32, [ROWS, COLUMNS])
    y = hr.floordiv(x * 2 + 1, x - 7) * 3 - 1
    value = np.arange(1000, 1000 + ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    with hr.Session() as session:
        np.testing.assert_array_equal(
            session.run(y, {x: value}), (value * 2 + 1) // (value - 7) * 3 - 1
        )
        assert "FloorDiv (cpu)" in session.explain(y, [x])
        value[-1, -1] = 7
        with pytest.raises(hr.errors.InvalidArgumentError, match="Integer division by zero"):
            session.run(y, {x: value})


@pytest.mark.parametrize("function", [hr.sqrt, hr.math.rsqrt, hr.math.reciprocal])
def test_no_gradient_passes_a_masked_pole(function: Any) -> None:
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    masked = hr.where(x > 0.0, function(x), hr.zeros_like(x))
    (gradient,) = hr.gradients(hr.reduce_sum(masked * 3.0), [x])
    fed = np.zeros((ROWS, COLUMNS), np.float32)
    fed[::2] = 4
    with hr.Session() as session:
        found = session.run(gradient, {x: fed})
        assert _fused(session, gradient, {x: fed}) > 0
    np.testing.assert_array_equal(found[1::2], 0)
    assert np.all(np.isfinite(found)) and np.all(found[::2] != 0)
