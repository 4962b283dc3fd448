"""Signatures that are placed again while many threads run them, extend the graph, and close.

Modules: session/moving_step, session/local_session, passes/state_devices, passes/step_costs.
"""

from __future__ import annotations

import os
import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_backends import InAGraph
from random_programs import Program, programs, run

import headrace.graph as hr
from headrace.formats import errors


def _config(period: int = 0) -> hr.ConfigProto:
    config = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=1)
    config.placement_period = period
    return config


class Model:
    """Two heavy branches, a variable, a random op, and a check that fails for some feeds."""

    def __init__(self) -> None:
        with hr.Graph().as_default() as self.graph:
            self.x = hr.placeholder(hr.float32, [None, None])
            self.v = hr.get_variable("v", initializer=1.0, use_resource=True)
            ends = []
            for _ in range(4):
                y = hr.matmul(hr.matmul(self.x, self.x), self.x)
                ends.append(hr.reduce_sum(y) * self.v)
            noise = hr.reduce_sum(hr.random_uniform([64])) * 0.0
            self.fetches = [hr.check_numerics(end, "bad") + noise for end in ends]
            self.total = hr.add_n(self.fetches)
            self.count = hr.get_variable("count", initializer=0, dtype=hr.int32, use_resource=True)
            self.counted = self.count.assign_add(1)
            self.init = hr.global_variables_initializer()


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_fail_and_graphs_that_grow(seed: int) -> None:
    model = Model()
    value = np.random.default_rng(seed).normal(size=[200, 200]).astype(np.float32) / 20
    one = float((value @ value @ value).sum())
    bad = np.full([4, 4], np.nan, np.float32)
    wrong: list[Any] = []
    good = [0] * 8

    def work(session: hr.Session, number: int) -> None:
        rng = random.Random(8 * seed + number)
        options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
        try:
            for k in range(25):
                some = rng.sample(model.fetches, rng.randint(1, 4))
                fed = {model.x: bad if rng.random() < 0.2 else value}
                traced = [options, hr.RunMetadata()] if rng.random() < 0.2 else []
                try:
                    got = session.run([*some, model.counted], fed, *traced)[:-1]
                    np.testing.assert_allclose(got, [one] * len(some), rtol=1e-2, atol=1e-2)
                    assert fed[model.x] is value
                    good[number] += 1
                except errors.InvalidArgumentError:
                    assert fed[model.x] is bad
                if k % 8 == 7:
                    with model.graph.as_default():
                        more = model.total * float(number)
                    session.run(more, {model.x: value})
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            wrong.append(error)

    with hr.Session(graph=model.graph, config=_config()) as session:
        session.run(model.init)
        threads = [threading.Thread(target=work, args=(session, i)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[0]
        assert session.run(model.v) == 1.0
        assert session.run(model.count) >= sum(good)


def test_sessions_that_close_while_their_steps_are_placed_again() -> None:
    model = Model()
    value = np.eye(150, dtype=np.float32)
    ended: list[BaseException] = []

    def work(session: hr.Session) -> None:
        try:
            while True:
                session.run(model.fetches, {model.x: value})
        except BaseException as error:  # noqa: BLE001 - what it is, is the test's question
            ended.append(error)

    for k in range(12):
        session = hr.Session(graph=model.graph, config=_config(8))
        session.run(model.init)
        threads = [threading.Thread(target=work, args=(session,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        threading.Event().wait(0.01 * (1 + k % 6))
        session.close()
        for thread in threads:
            thread.join(30.0)
            assert not thread.is_alive()
    assert len(ended) == 12 * 8
    for error in ended:
        assert isinstance(error, (errors.CancelledError, RuntimeError)), error


@settings(max_examples=int(os.environ.get("HEADRACE_PLACEMENTS", "25")), deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_random_programs_under_partial_requests_in_one_session(program: Program, seed: int) -> None:
    """Signatures in any order, some traced, with nodes that are added in between."""
    rng = np.random.default_rng(program.seed)
    chosen = random.Random(seed)
    with hr.Graph().as_default() as graph:
        places = [hr.placeholder(hr.float64, shape) for shape in program.feeds]
        backend = InAGraph(program.variables)
        values = run(program.statements, places, backend)
        everything = hr.group(*backend.last)
        fetches = [values[i] for i in program.fetches]
        reads = [variable.read_value() for variable in backend.variables]
        init = hr.global_variables_initializer()
    placed = graph.as_graph_def()
    for node in placed.node:
        node.device = chosen.choice(["", "", "/cpu:0", "/cpu:1", "/device:CPU:1", "/gpu:0"])
    one, two = hr.ConfigProto(), _config(8)
    one.allow_soft_placement = two.allow_soft_placement = True
    two.graph_options.enable_recv_scheduling = chosen.random() < 0.5
    results: list[list[Any]] = []
    fed = [[rng.normal(size=shape) for shape in program.feeds] for _ in range(3)]
    order = [chosen.randrange(4) for _ in range(14)]
    for config in (one, two):
        got: list[Any] = []
        with hr.Graph().as_default():
            hr.import_graph_def(placed, name="")
            with hr.Session(config=config) as session:
                session.run(init.name)
                for k, kind in enumerate(order):
                    feeds = {x.name: a for x, a in zip(places, fed[k % 3], strict=True)}
                    options = hr.RunOptions(trace_level=3 if kind == 2 else 0)
                    names = [t.name for t in (fetches if kind % 2 else fetches[:1])]
                    more = hr.constant(float(k)) if kind == 3 else names[0]
                    found = session.run([names, more, everything.name], feeds, options)
                    got += [*found[0], found[1], *session.run([t.name for t in reads])]
        results.append(got)
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
