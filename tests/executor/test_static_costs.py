"""What nodes are expected to take before they have run: from shapes that the graph states.

Modules: passes/step_costs, passes/static_shapes, passes/known_values, passes/op_flops.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planned_graphs import ONE_EACH, planner, report

import headrace.graph as hr
from headrace.runtime.session.local_session import open_session

NS_PER_KERNEL, NS_PER_FLOP, NS_PER_BYTE = 100, 0.03, 0.1  # threads/cost_model.hpp

Build = Callable[..., hr.Tensor]

OPS: dict[str, tuple[list[list[int]], Build]] = {
    "matmul": ([[30, 40], [40, 50]], hr.matmul),
    "transposed": ([[40, 30], [50, 40]], lambda a, b: hr.matmul(a, b, True, True)),
    "batch": ([[3, 30, 40], [3, 40, 50]], hr.matmul),
    "adjoint": ([[3, 40, 30], [3, 40, 50]], lambda a, b: hr.matmul(a, b, True)),
    "einsum": ([[30, 4, 40], [4, 40, 50]], lambda a, b: hr.einsum("iab,abk->ik", a, b)),
    "convolution": (
        [[2, 12, 12, 8], [3, 3, 8, 16]],
        lambda x, f: hr.nn.conv2d(x, f, [1, 2, 2, 1], "SAME"),
    ),
    "valid": (
        [[2, 12, 12, 8], [3, 3, 8, 16]],
        lambda x, f: hr.nn.conv2d(x, f, [1, 1, 1, 1], "VALID"),
    ),
    "sum": ([[64, 64]], lambda x: hr.reduce_sum(x, [1])),
    "add": ([[64, 64], [64, 64]], hr.add),
}


def _node(graph: hr.Graph, feeds: list[str], name: str) -> Any:
    nodes = report(planner(graph), feeds, [name]).node
    (node,) = [node for node in nodes if node.name == name]
    return node


@pytest.mark.parametrize("name", OPS)
def test_operations_are_those_that_the_kernel_reports(name: str) -> None:
    shapes, build = OPS[name]
    with hr.Graph().as_default() as graph:
        feeds = [hr.placeholder(hr.float32, shape) for shape in shapes]
        out = hr.identity(build(*feeds))
        made = out.op.inputs[0].op
    session = open_session("", b"")
    session.extend(graph.as_graph_def().SerializeToString())
    step = session.prepare([t.name for t in feeds], [out.name], [])
    step([np.ones(shape, np.float32) for shape in shapes])
    (flops,) = re.findall(r"(\S+) flops", step.explain())
    session.close()
    node = _node(graph, [t.name for t in feeds], made.name)
    assert node.device == ONE_EACH[0]
    size = sum(4 * int(np.prod(shape)) for shape in shapes) + node.output_bytes
    ns = NS_PER_KERNEL + NS_PER_FLOP * float(flops) + NS_PER_BYTE * size
    assert node.expected_us * 1000 == pytest.approx(ns, rel=0.01)
    assert node.output_bytes == 4 * int(np.prod(out.shape.as_list()))


def test_a_gradient_has_the_sizes_of_what_it_differentiates() -> None:
    """Through Shape, BroadcastGradientArgs, Sum and Reshape, whose sizes the graph computes."""
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [32, 20], name="x")
        w = hr.placeholder(hr.float32, [20, 10], name="w")
        bias = hr.placeholder(hr.float32, [10], name="bias")
        loss = hr.reduce_mean(hr.square(hr.matmul(x, w) + bias))
        gradients = hr.gradients(loss, [x, w, bias])
    feeds = [t.name for t in (x, w, bias)]
    for gradient, expected in zip(gradients, (32 * 20, 20 * 10, 10), strict=True):
        assert _node(graph, feeds, gradient.op.name).output_bytes == 4 * expected


def test_sizes_that_the_graph_computes_are_known() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [6, 4, 2], name="x")
        shape = hr.shape(x)
        flat = hr.reshape(x, hr.stack([shape[0], shape[1] * shape[2]]))
        rows = hr.tile(flat, hr.concat([shape[:1], [3]], 0))
        hr.identity(rows, name="out")
        hr.identity(hr.zeros(hr.stack([hr.size(x) // 2, 5])), name="filled")
    assert _node(graph, ["x"], "out").output_bytes == 4 * 6 * 6 * 8 * 3
    assert _node(graph, ["x"], "filled").output_bytes == 4 * 24 * 5


def test_variables_have_the_sizes_that_they_declare() -> None:
    with hr.Graph().as_default() as graph:
        for resource in (False, True):
            v = hr.get_variable(f"v{resource}", [50, 20], use_resource=resource)
            hr.matmul(v, v, transpose_b=True, name=f"out{resource}")
    for name in ("outFalse", "outTrue"):
        assert _node(graph, [], name).output_bytes == 4 * 50 * 50


def test_what_is_computed_once_costs_nothing() -> None:
    with hr.Graph().as_default() as graph:
        hr.matmul(hr.ones([500, 500]), hr.ones([500, 500]), name="folded")
        hr.matmul(hr.random_uniform([500, 500]), hr.ones([500, 500]), name="computed")
    assert _node(graph, [], "folded").expected_us == 0.0
    assert _node(graph, [], "computed").expected_us > 1000.0
