"""Programs over the devices of several tasks, to compare with what one device gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from program_backends import InAGraph
from random_programs import Program, run

import headrace.graph as hr


def compare_with_one_device(program: Program, open_tasks: Callable[[hr.Graph], Any]) -> None:
    """Runs a program twice, its variables included, over tasks and in a session of one device.

    Args:
      open_tasks: called with the graph; returns what has `run` and `close` as worker_steps.Tasks.
    """
    rng = np.random.default_rng(program.seed)
    fed = [[rng.normal(size=shape) for shape in program.feeds] for _ in range(2)]
    with hr.Graph().as_default() as graph:
        places = [hr.placeholder(hr.float64, shape) for shape in program.feeds]
        backend = InAGraph(program.variables)
        values = run(program.statements, places, backend)
        everything = hr.group(*backend.last)
        fetches = [values[i] for i in program.fetches]
        reads = [variable.read_value() for variable in backend.variables]
        init = hr.global_variables_initializer()
        tasks = open_tasks(graph)
        with hr.Session() as session:
            session.run(init)
            tasks.run([], {}, [init.name])
            for arrays in fed:
                feeds = dict(zip(places, arrays, strict=True))
                expected = session.run([*fetches, everything], feeds)[:-1] + session.run(reads)
                by_name = {t.name: value for t, value in feeds.items()}
                got = tasks.run([t.name for t in fetches], by_name, [everything.name])
                got += tasks.run([t.name for t in reads], {})
                for one, other in zip(got, expected, strict=True):
                    assert np.shape(one) == np.shape(other)
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        tasks.close()


def nested_loops() -> tuple[list[hr.Tensor], list[hr.Tensor]]:
    """Nested loops with branches and constants from outside, and their gradients."""
    x = hr.constant([0.3, -0.4])
    w = hr.constant([1.1, 0.7])

    def inner(j: Any, b: Any) -> tuple[Any, Any]:
        return j + 1, hr.cond(hr.equal(j % 2, 0), lambda: hr.tanh(b * w), lambda: b + w * 0.1)

    def outer(i: Any, a: Any) -> tuple[Any, Any]:
        return i + 1, hr.while_loop(lambda j, _: j < i, inner, [0, a + x])[1]

    y = hr.while_loop(lambda i, _: i < 4, outer, [0, x])[1]
    none = hr.while_loop(lambda i, _: i < 0, outer, [0, x])[1]
    return [y, none], hr.gradients(hr.reduce_sum(y), [x, w])
