"""`explain()` and the log describe how a step runs: kernels, fused nodes, native loops, NumPy.

Modules: executor/explain.
"""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

import headrace.graph as hr

IN_PYTHON = """
import logging, sys
import numpy as np
import headrace.graph as hr
if len(sys.argv) > 1:
    logging.basicConfig(format="%(name)s %(levelname)s %(message)s", stream=sys.stdout)
data = hr.placeholder(hr.float32, [])
first, second = (hr.raw_ops.Dawsn(x=data, name=name) for name in ("first", "second"))
plain = hr.py_func(lambda v: v, [hr.constant(1.0)], hr.float32)
with hr.Session() as session:
    session.run(plain)
    for fetch in (first, second, first):
        session.run(fetch, {data: 1.0})
"""


def _output(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", IN_PYTHON, *arguments], capture_output=True, text=True, check=True
    )


def test_a_kernel_in_python_is_logged_once_per_op() -> None:
    lines = _output("configured").stdout.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("headrace.runtime WARNING Dawsn '")
    assert "library 'reference', which is slow" in lines[0]


def test_without_any_logging_set_up_it_is_on_standard_error() -> None:
    assert "runs on the Python kernel of library 'reference'" in _output().stderr


def test_compiled_kernels_are_not_logged(caplog) -> None:
    with hr.Graph().as_default(), hr.Session() as session, caplog.at_level(logging.DEBUG):
        session.run(hr.matmul(hr.ones([3, 3]), hr.ones([3, 3])) + 1.0)
    assert not [r for r in caplog.records if r.name.startswith("headrace.runtime")]


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_explain_names_kernels_and_the_nodes_that_a_fused_one_was_made_of() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.placeholder(hr.float32, [None], name="x")
        y = hr.tanh(hr.exp(x, name="grown") + 1.0, name="bent")
        assert "it has not run" in session.explain(y, [x])
        session.run(y, {x: np.zeros(100_000, np.float32)})
        explanation = session.explain(y, [x])
    assert "_FusedElementwise (cpu)" in explanation
    (line,) = [line for line in explanation.splitlines() if "made of" in line]
    assert "grown = Exp" in line and "bent = Tanh" in line


@pytest.mark.host_execution("asserts that the loop runs as a native loop of the host")
def test_explain_shows_a_native_loop_with_the_kernels_of_its_parts() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.placeholder(hr.float32, [3, 3])
        _, out = hr.while_loop(
            lambda i, v: i < 5, lambda i, v: (i + 1, hr.matmul(v, v)), [hr.constant(0), x]
        )
        session.run(out, {x: np.eye(3)})
        explanation = session.explain(out, [x])
    loop = explanation[explanation.index("native loop of") :]
    assert loop.index("condition:") < loop.index("Less (cpu)") < loop.index("body:")
    assert loop.index("body:") < loop.index("MatMul (cpu)")
