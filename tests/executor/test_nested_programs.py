"""Random nested programs and their gradients give what NumPy gives, whichever way they run.

`HEADRACE_PROGRAMS=5000 pytest tests/executor/test_nested_programs.py` runs many.

Modules: executor/native_loop, executor/dynamic_step, graph/expand_calls, session/function_compiler.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from nested_program_graphs import F64, InAGraph
from nested_programs import Function, depth_of, programs

import headrace.graph as hr
from headrace.graph.functions import Defun

COUNT = int(os.environ.get("HEADRACE_PROGRAMS", "8"))
AT = np.array([0.4, -0.3, -0.7, 0.9, 1.1, 0.8])


def outcome(build: Any, sources: Any, order: int) -> list[Any]:
    """The result of a program, and its gradients of an order."""
    x = build(sources[:2], sources[2])
    value = y = hr.reduce_sum(x[0] * 2.0 + x[1])
    grads: list[Any] = []
    for _ in range(order):
        grads = [
            hr.zeros_like(s) if g is None else hr.convert_to_tensor(g)
            for s, g in zip(sources, hr.gradients(y, sources), strict=True)
        ]
        y = hr.add_n([hr.reduce_sum(g * g) for g in grads])
    return [value, *grads]


def fetched(way: str, program: Any, order: int) -> list[Any]:
    """What a session fetches for a program that is built in one of the ways."""
    calls = InAGraph(way != "without calls")

    def build(x: Any, w: Any) -> Any:
        return calls.run(program, x, w)

    parts = [hr.constant(part) for part in AT.reshape(3, 2)]
    if way == "a dataset's function":  # a program of its own, which a kernel calls
        dataset = hr.data.Dataset.from_tensors(tuple(parts))
        dataset = dataset.map(lambda *parts: tuple(outcome(build, list(parts), order)))
        return list(hr.data.make_one_shot_iterator(dataset).get_next())
    if way == "in a call":
        whole = Defun(F64, F64, F64)(lambda x0, x1, w: calls.run(program, [x0, x1], w))
        return outcome(lambda x, w: whole(*x, w), parts, order)
    return outcome(build, parts, order)


WAYS = ("calls", "without calls", "in a call", "a dataset's function")


@settings(
    max_examples=COUNT,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(programs(), st.sampled_from([1, 1, 2]))
def test_a_nested_program_and_its_gradients_give_what_numpy_gives(program: Any, order: int) -> None:
    assert depth_of(program) >= 3
    function = Function(program)
    expected = [function.value(AT), function.gradient(AT)]
    if order == 2:
        expected[1] = function.second(AT)
    assume(function.margin > (1e-9 if order == 1 else 1e-2))
    assume(np.all(np.abs(expected[1]) < 1e6))
    for way in WAYS:
        for executor in ("", "dynamic"):
            config = hr.ConfigProto()
            config.experimental.executor_type = executor
            with hr.Graph().as_default():
                fetches = fetched(way, program, order)
                with hr.Session(config=config) as session:
                    value, *grads = session.run(fetches)
            np.testing.assert_allclose(value, expected[0], 1e-9, 1e-9, err_msg=(way, executor))
            exact = {"rtol": 1e-8, "atol": 1e-8} if order == 1 else {"rtol": 1e-4, "atol": 1e-4}
            np.testing.assert_allclose(
                np.ravel(grads), expected[1], **exact, err_msg=(way, executor)
            )
