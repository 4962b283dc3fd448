"""Random programs give the same on a kernel schedule, on the dynamic executor and in NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from program_backends import InAGraph, InNumPy
from random_programs import Program, programs, run

import headrace.graph as hr


def _config(dynamic: bool) -> hr.ConfigProto:
    config = hr.ConfigProto()
    if dynamic:
        config.experimental.executor_type = "dynamic"
    return config


def _expected(program: Program, fed: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """The fetches, and the variables after them, of each run."""
    backend = InNumPy([np.zeros(shape) for shape, _ in program.variables])
    found = []
    for values in fed:
        result = run(program.statements, values, backend)
        found.append([result[i] for i in program.fetches] + [v.copy() for v in backend.variables])
    return found


@settings(max_examples=150, deadline=None)
@given(programs(), st.booleans())
def test_a_program_gives_the_same_as_a_schedule_on_the_executor_and_in_numpy(
    program: Program, shapes_known: bool
) -> None:
    rng = np.random.default_rng(program.seed)
    fed = [[rng.normal(size=shape) for shape in program.feeds] for _ in range(3)]
    fed.append(fed[0])
    expected = _expected(program, fed)
    with hr.Graph().as_default():
        places = [
            hr.placeholder(hr.float64, shape if shapes_known else [None] * len(shape))
            for shape in program.feeds
        ]
        backend = InAGraph(program.variables)
        values = run(program.statements, places, backend)
        fetches = [values[i] for i in program.fetches]
        # All that touches a variable runs, also what no fetch needs: as it does in NumPy.
        everything = [*fetches, hr.group(*backend.last)]
        reads = [variable.read_value() for variable in backend.variables]
        init = hr.global_variables_initializer()
        for dynamic in (False, True):
            with hr.Session(config=_config(dynamic)) as session:
                session.run(init)
                for number, arrays in enumerate(fed):
                    feeds = dict(zip(places, arrays, strict=True))
                    got = session.run(everything, feeds)[:-1] + session.run(reads)
                    for one, other in zip(got, expected[number], strict=True):
                        assert np.shape(one) == other.shape
                        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
