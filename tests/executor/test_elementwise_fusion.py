"""Elementwise steps on large tensors run as one pass over memory, with the same results.

Modules: plan/fuse_elementwise, plan/fused_nodes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace.graph as hr
from headrace.kernels.cpu._table import fused_instructions

ROWS, COLUMNS = 64, 96
SHAPES = [[ROWS, COLUMNS], [COLUMNS], [ROWS, 1], [1, COLUMNS], [], [1, 1]]
UNARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "neg": (hr.negative, np.negative),
    "square": (hr.square, np.square),
    "tanh": (hr.tanh, np.tanh),
    "abs": (hr.abs, np.abs),
    "relu": (hr.nn.relu, lambda a: np.maximum(a, 0)),
    "floor": (hr.floor, np.floor),
}
BINARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (hr.add, np.add),
    "sub": (hr.subtract, np.subtract),
    "mul": (hr.multiply, np.multiply),
    "max": (hr.maximum, np.maximum),
    "squared": (hr.squared_difference, lambda a, b: (a - b) ** 2),
}


def _fused(session: hr.Session, fetch: Any, feeds: list[hr.Tensor]) -> int:
    explained = session.explain(fetch, feeds)
    return int(re.findall(r"(\d+) fused", explained)[0])


def test_a_chain_is_one_kernel() -> None:
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    y = hr.tanh(x * 2.0 + 1.0) * x - hr.exp(-x)
    value = np.random.RandomState(0).rand(ROWS, COLUMNS).astype(np.float32)
    with hr.Session() as session:
        got = session.run(y, {x: value})
        assert _fused(session, y, [x]) == 6
        assert session.explain(y, [x]).count("_FusedElementwise") == 1
    np.testing.assert_allclose(
        got, np.tanh(value * 2 + 1) * value - np.exp(-value), rtol=2e-6, atol=1e-6
    )


def test_biases_sums_of_two_and_softplus_join_a_chain() -> None:
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    bias = np.arange(COLUMNS, dtype=np.float32) / COLUMNS
    y = hr.nn.softplus(hr.nn.bias_add(hr.add_n([x, x * 2.0]), bias)) ** 1.5
    value = np.random.RandomState(0).randn(ROWS, COLUMNS).astype(np.float32)
    with hr.Session() as session:
        got = session.run(y, {x: value})
        assert session.explain(y, [x]).count("_FusedElementwise") == 1
        assert _fused(session, y, [x]) == 4
    np.testing.assert_allclose(got, np.log1p(np.exp(3 * value + bias)) ** 1.5, rtol=2e-5)


def test_a_bias_along_the_second_axis_is_not_fused() -> None:
    x = hr.placeholder(hr.float32, [4, 16, 16, 16])
    y = hr.nn.bias_add(hr.tanh(x), np.arange(16, dtype=np.float32), data_format="NCHW")
    value = np.random.RandomState(0).randn(4, 16, 16, 16).astype(np.float32)
    with hr.Session() as session:
        got = session.run(y, {x: value})
    np.testing.assert_allclose(
        got, np.tanh(value) + np.arange(16)[:, None, None], rtol=1e-5, atol=1e-5
    )


def test_values_with_other_readers_are_not_fused_away() -> None:
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    middle = x * 3.0
    end = hr.square(middle + 1.0)
    value = np.ones([ROWS, COLUMNS], np.float32)
    with hr.Session() as session:
        for fetch in ([middle, end], [end, middle], [hr.reduce_sum(middle), end]):
            first, second = session.run(fetch, {x: value})
            assert {float(np.max(first)), float(np.max(second))} <= {3.0, 16.0, 3.0 * value.size}
        assert _fused(session, [middle, end], [x]) == 1  # the sum alone joins the square


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_small_tensors_and_other_types_are_not_fused() -> None:
    small = hr.placeholder(hr.float32, [8])
    whole = hr.placeholder(hr.uint8, [ROWS, COLUMNS])
    with hr.Session() as session:
        session.run(hr.tanh(small * 2.0 + 1.0), {small: np.ones(8)})
        for x, y in ((small, hr.tanh(small * 2.0)), (whole, whole * 2 + 1)):
            session.run(y, {x: np.ones(x.shape.as_list())})
            assert _fused(session, y, [x]) == 0


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_a_broadcast_value_is_computed_once_not_per_element() -> None:
    row = hr.placeholder(hr.float32, [COLUMNS])
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    y = x * hr.exp(row) + 1.0
    with hr.Session() as session:
        session.run(y, {x: np.ones([ROWS, COLUMNS]), row: np.zeros(COLUMNS)})
        assert _fused(session, y, [x, row]) == 1
        assert "Exp (cpu)" in session.explain(y, [x, row])


def test_a_traced_step_names_the_nodes_that_were_fused() -> None:
    x = hr.placeholder(hr.float32, [ROWS, COLUMNS])
    y = hr.tanh(hr.multiply(x, 2.0, name="double"), name="squash")
    metadata = hr.RunMetadata()
    with hr.Session() as session:
        session.run(
            y,
            {x: np.ones([ROWS, COLUMNS])},
            options=hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    labels = [n.timeline_label for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert "double = Mul; squash = Tanh" in labels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_expressions_agree_with_numpy(dtype: str, data: st.DataObject) -> None:
    random = np.random.RandomState(data.draw(st.integers(0, 2**31)))
    graph = hr.Graph()
    with graph.as_default():
        values = []
        feeds = {}
        for shape in data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=4)):
            value = random.uniform(-1, 1, shape).astype(dtype)
            x = hr.placeholder(dtype, shape)
            feeds[x] = value
            values.append((x, value.astype(np.float64)))
        for _ in range(data.draw(st.integers(2, 14))):
            name = data.draw(st.sampled_from([*UNARY, *BINARY]))
            a, b = (values[data.draw(st.integers(0, len(values) - 1))] for _ in range(2))
            if name in UNARY:
                ours, plain = UNARY[name]
                result = ours(a[0]), plain(a[1])
            else:
                ours, plain = BINARY[name]
                result = ours(a[0], b[0]), plain(a[1], b[1])
            if np.max(np.abs(result[1])) < 1e3 and name != "floor":
                values.append(result)
        fetches = [values[-1], values[data.draw(st.integers(0, len(values) - 1))]]
        with hr.Session(graph=graph) as session:
            for _ in range(2):
                got = session.run([f[0] for f in fetches], feeds)
                for one, (_, expected) in zip(got, fetches, strict=True):
                    tolerance = 2e-4 if dtype == "float32" else 1e-10
                    np.testing.assert_allclose(one, expected, rtol=tolerance, atol=tolerance)


_INITIALIZER = """
import headrace.graph as hr
with hr.Session() as session:
    for width in range(1, 9):
        with hr.variable_scope(f"v{width}", use_resource=True):
            for number in range(width):
                hr.get_variable(f"w{number}", initializer=hr.random_uniform([96, 96]) * 2.0 - 1.0)
        session.run(hr.global_variables_initializer())
print("initialized")
"""


def test_steps_without_outputs_own_no_argument() -> None:
    """An initializer of large resource variables ends in steps that have no output."""
    done = subprocess.run(
        [sys.executable, "-c", _INITIALIZER],
        # Memory that nothing wrote holds a pattern: an index read from it lies far outside.
        env={**os.environ, "MALLOC_PERTURB_": "165"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "initialized\n"), done.stderr


def test_every_instruction_of_the_kernel_can_be_fused() -> None:
    x = hr.placeholder(hr.float32, [128, 64])
    value = np.random.RandomState(0).uniform(0.1, 2.0, [128, 64]).astype(np.float32)
    vector = hr.constant(value[0])
    views = {"Identity", "StopGradient"}  # wherever they stand
    graph = hr.get_default_graph()
    with hr.Session() as session:
        for name, operands in sorted(fused_instructions().items()):
            # The last operand of these is an attribute of the op.
            inputs: list[Any] = [x] * (operands - name.startswith("LeakyRelu"))
            types = None
            if name in ("Select", "SelectV2"):
                inputs[0] = hr.less(x, 1.0)
            elif name.startswith("Logical"):
                inputs = [hr.less(x, 1.0), hr.greater(x, 0.5)][:operands]
            elif name == "BiasAdd":
                inputs[1] = vector
            if name == "AddN":
                y = hr.add_n(inputs)
            elif name == "Cast":
                y = hr.cast(x, hr.int32)
            else:
                y = graph.create_op(name, inputs, types).outputs[0]
            chain = hr.square(y if y.dtype == hr.float32 else hr.cast(y, hr.float32))
            got = session.run(chain, {x: value})
            explained = session.explain(chain, [x])
            assert ("_FusedElementwise" in explained) == (name not in views), (name, explained)
            assert name in views or f" {name} (" not in explained, (name, explained)
            apart = session.run([chain, y], {x: value})[0]
            np.testing.assert_array_equal(got, apart)


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_an_op_that_the_kernel_does_not_support_is_not_fused() -> None:
    x = hr.placeholder(hr.float32, [128, 64])
    y = hr.square(hr.exp(hr.tan(hr.square(hr.exp(x)))))
    with hr.Session() as session:
        session.run(y, {x: np.ones([128, 64])})
        assert "2  _FusedElementwise" in session.explain(y, [x])
        assert "Tan (cpu)" in session.explain(y, [x])
