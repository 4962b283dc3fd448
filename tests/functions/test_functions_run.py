"""Functions, called and differentiated, give what their bodies give."""

from __future__ import annotations

from typing import Any

import pytest
from programs import PROGRAMS, X, close

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.services import SESSIONS, find_service
from headrace.graph.functions import Defun


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_functions(name: str) -> None:
    runs = PROGRAMS[name]()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for run in runs:
            run.check(session.run(run.fetches, run.feeds))


def test_functions_of_a_file_are_called_and_differentiated() -> None:
    @hr.function
    def f(x: Any) -> Any:
        return x * hr.sin(x)

    @Defun(hr.float32)
    def g(x: Any) -> Any:
        return f(x) + 1.0

    hr.identity(g(hr.placeholder(hr.float32, [3], name="x")), name="y")
    wire = hr.get_default_graph().as_graph_def().SerializeToString()
    with hr.Graph().as_default() as graph, hr.Session() as session:
        hr.import_graph_def(wire, name="")
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        (grad,) = hr.gradients(y, x)
        value, gradient = session.run([y, grad], {x: X})
        reference = hr.constant(X)
        expected = reference * hr.sin(reference) + 1.0
        close(value, session.run(expected))
        close(gradient, session.run(hr.gradients(expected, reference)[0]))


def test_a_gradient_that_cannot_be_made_fails_the_run() -> None:
    f = Defun(hr.float32)(lambda x: hr.while_loop(lambda a: a < 9.0, lambda a: a * a, [x]))
    hr.identity(f(hr.constant(2.0, name="x")), name="y")
    wire = hr.get_default_graph().as_graph_def()
    with hr.Graph().as_default() as graph, hr.Session() as session:
        hr.import_graph_def(wire, name="")
        (grad,) = hr.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))
        assert grad.op.type == "SymbolicGradient"
        with pytest.raises(NotFoundError, match="there is no gradient through it"):
            session.run(grad)


def test_a_function_that_calls_itself_has_no_gradient() -> None:
    f = Defun(hr.float32)(lambda x: hr.sin(x))
    hr.identity(f(hr.constant(2.0, name="x")), name="y")
    graph_def = hr.get_default_graph().as_graph_def()
    (function,) = graph_def.library.function
    (sine,) = [node for node in function.node_def if node.op == "Sin"]
    sine.op = "SymbolicGradient"
    sine.input.append(sine.input[0])
    sine.attr.clear()
    sine.attr["f"].func.name = function.signature.name
    sine.attr["Tin"].list.type.extend([1, 1])
    sine.attr["Tout"].list.type.append(1)
    for key in function.ret:
        function.ret[key] = f"{sine.name}:output:0"
    session = find_service(SESSIONS, "local")("", b"")
    session.extend(graph_def.SerializeToString())
    with pytest.raises(InvalidArgumentError, match="calls itself"):
        session.prepare([], ["y:0"], [])([])
    session.close()


def test_a_gradient_that_changes_a_call_needs_a_new_session() -> None:
    f = hr.function(lambda x: hr.nn.dropout(x, 0.5))
    x = hr.constant(X)
    y = f(x)
    with hr.Session() as session:
        session.run(y)
        (grad,) = hr.gradients(y, x)
        with pytest.raises(RuntimeError, match="was changed after this session ran"):
            session.run(grad)
    with hr.Session() as session:
        value, gradient = session.run([y, grad])
        close(value, gradient * X)


def test_functions_are_added_between_runs() -> None:
    x = hr.constant(3.0)
    with hr.Session() as session:
        for factor in (2.0, 3.0):
            assert session.run(hr.function(lambda x, k: x * k)(x, factor)) == 3.0 * factor


def test_a_call_without_results_runs_in_a_loop_that_waits_for_an_outer_operation() -> None:
    v = hr.get_variable("v", initializer=0.0, use_resource=True)
    before = hr.constant(1.0)

    @hr.function
    def add() -> None:
        v.assign_add(1.0, read_value=False)

    def body(i: hr.Tensor) -> hr.Tensor:
        with hr.control_dependencies([before.op]):
            call = add()
        assert call.type == "StatefulPartitionedCall"
        with hr.control_dependencies([call]):
            return i + 1

    loop = hr.while_loop(lambda i: i < 3, body, [hr.constant(0)])
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        assert session.run(loop) == 3
        assert session.run(v) == 3.0


def test_a_python_function_without_results_runs_in_a_loop_that_waits() -> None:
    before = hr.constant(1.0)
    calls = []

    def body(i: hr.Tensor) -> hr.Tensor:
        with hr.control_dependencies([before.op]):
            call = hr.py_func(calls.append, [i], [])
        assert call.type == "PyFunc"
        with hr.control_dependencies([call]):
            return i + 1

    with hr.Session() as session:
        assert session.run(hr.while_loop(lambda i: i < 3, body, [hr.constant(0)])) == 3
    assert len(calls) == 3
