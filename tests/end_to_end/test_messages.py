"""Ops that print, and checks that end a run."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import headrace.graph as hr


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


def _printed(operation, capfd):
    with hr.Session() as session:
        session.run(operation)
    sys.stdout.flush()
    return capfd.readouterr()


def test_print_writes_text_and_tensors(capfd):
    x = hr.constant([[1.5, 2.0], [3.0, 4.0]])
    printed = _printed(hr.print("x is", x, {"a": [x[0, 0], 7]}, output_stream=sys.stdout), capfd)
    assert printed.out == "x is [[1.5 2]\n [3 4]] {'a': [1.5, 7]}\n" and printed.err == ""


def test_print_summarizes_long_tensors(capfd):
    printed = _printed(
        hr.print(hr.range(20), hr.constant("a"), summarize=2, sep="|", end="!"), capfd
    )
    assert printed.err == '[0 1 ... 18 19]|"a"!' and printed.out == ""


def test_print_writes_the_components_of_a_sparse_tensor(capfd):
    x = hr.SparseTensor([[0, 1]], [3.0], [2, 2])
    printed = _printed(hr.print(x), capfd)
    assert printed.err == "SparseTensor(indices=[[0 1]], values=[3], shape=[2 2])\n"


def test_print_rejects_unknown_streams_and_keywords():
    with pytest.raises(ValueError, match="output_stream must be"):
        hr.print("a", output_stream="somewhere")
    with pytest.raises(ValueError, match="Unrecognized keyword"):
        hr.print("a", color="red")


def test_print_op_passes_value_and_gradient_through(capfd):
    x = hr.placeholder(hr.float32, [2])
    y = hr.Print(x * 2.0, [x, "words"], message="x: ", summarize=1)
    (gradient,) = hr.gradients(y, x)
    with hr.Session() as session:
        value, grad = session.run([y, gradient], {x: [1.0, 5.0]})
    assert value.tolist() == [2.0, 10.0] and grad.tolist() == [2.0, 2.0]
    assert capfd.readouterr().err.strip() == "x: [1...][words]"


def test_check_numerics_fails_the_run_at_nan_and_infinity():
    x = hr.placeholder(hr.float32, [None])
    y = hr.check_numerics(hr.log(x), "the log")
    (gradient,) = hr.gradients(y, x)
    everywhere = hr.add_check_numerics_ops()
    with hr.Session() as session:
        np.testing.assert_allclose(session.run(y, {x: [1.0]}), [0.0])
        with pytest.raises(hr.errors.InvalidArgumentError, match="the log : Tensor had NaN"):
            session.run(y, {x: [-1.0]})
        with pytest.raises(hr.errors.InvalidArgumentError, match="Inf"):
            session.run(everywhere, {x: [0.0]})
        assert session.run(gradient, {x: [2.0]}).tolist() == [0.5]


def test_failed_assertion_shows_its_data():
    x = hr.placeholder(hr.float32, [None])
    with hr.control_dependencies([hr.assert_positive(x, message="weights")]):
        y = hr.identity(x)
    with hr.Session() as session:
        assert session.run(y, {x: [1.0]}).tolist() == [1.0]
        with pytest.raises(hr.errors.InvalidArgumentError, match="(?s)weights.*Condition x > 0"):
            session.run(y, {x: [1.0, -2.0]})
