"""A graph under any placement over six devices of three processes gives what one device gives.

`HEADRACE_PLACEMENTS=1000 pytest tests/distributed/test_three_processes.py` tries many.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_processes import Cluster
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_backends import InAGraph
from random_programs import Program, programs, run

import headrace.graph as hr
from headrace.graph.functions import Defun

COUNT = int(os.environ.get("HEADRACE_PLACEMENTS", "20"))
DEVICES = [f"/job:worker/task:{task}/device:CPU:{i}" for task in range(3) for i in range(2)]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = Cluster(Path(tmp_path_factory.mktemp("cluster")), 0, 3)
    try:
        for i in range(3):
            cluster.start_task("worker", i)
        for i in range(3):
            cluster.until(f"worker:{i}", lambda event: event.get("event") == "serving")
        yield f"grpc://{cluster.jobs['worker'][0]}"
    finally:
        cluster.close()


def _scattered(graph: hr.Graph, seed: int) -> hr.Graph:
    """A copy of a graph with each node on a random device."""
    rng = random.Random(seed)
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        node.device = rng.choice(DEVICES)
    with hr.Graph().as_default() as copy:
        hr.import_graph_def(graph_def, name="")
    return copy


def _config() -> Any:
    return hr.ConfigProto(allow_soft_placement=True, isolate_session_state=True)


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(), placement=st.integers(0, 2**31))
def test_random_programs(target: str, program: Program, placement: int) -> None:
    rng = np.random.default_rng(program.seed)
    fed = [[rng.normal(size=shape) for shape in program.feeds] for _ in range(2)]
    with hr.Graph().as_default() as graph:
        places = [hr.placeholder(hr.float64, shape) for shape in program.feeds]
        backend = InAGraph(program.variables)
        values = run(program.statements, places, backend)
        everything = hr.group(*backend.last)
        fetches = [values[i].name for i in program.fetches]
        reads = [variable.read_value().name for variable in backend.variables]
        init = hr.global_variables_initializer()
    with (
        hr.Session(graph=graph) as local,
        hr.Session(target, graph=_scattered(graph, placement), config=_config()) as cluster,
    ):
        local.run(init)
        cluster.run(init.name)
        for arrays in fed:
            feeds = {t.name: value for t, value in zip(places, arrays, strict=True)}
            for names in ([*fetches, everything.name], reads):
                expected = local.run(names, feeds if names is not reads else None)
                got = cluster.run(names, feeds if names is not reads else None)
                for one, other in zip(got, expected, strict=True):
                    if other is not None:
                        assert np.shape(one) == np.shape(other)
                        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@settings(max_examples=max(COUNT // 4, 3), deadline=None, suppress_health_check=list(HealthCheck))
@given(placement=st.integers(0, 2**31))
def test_loops_branches_functions_and_their_gradients(target: str, placement: int) -> None:
    with hr.Graph().as_default() as graph:
        x = hr.constant([0.3, -0.4])
        w = hr.constant([1.1, 0.7])

        @Defun(hr.float32)
        def cube(a: Any) -> Any:
            return a * a * a

        def cubed(a: Any) -> Any:
            result = cube(a)
            result.set_shape(a.shape)
            return result

        def inner(j: Any, b: Any) -> Any:
            return j + 1, hr.cond(hr.equal(j % 2, 0), lambda: hr.tanh(b * w), lambda: cubed(b) + w)

        def outer(i: Any, a: Any) -> Any:
            return i + 1, hr.while_loop(lambda j, _: j < i, inner, [0, a + x])[1]

        y = hr.while_loop(lambda i, _: i < 4, outer, [0, x])[1]
        names = [t.name for t in [y, *hr.gradients(hr.reduce_sum(y), [x, w])]]
    with (
        hr.Session(graph=graph) as local,
        hr.Session(target, graph=_scattered(graph, placement), config=_config()) as cluster,
    ):
        for one, other in zip(cluster.run(names), local.run(names), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
