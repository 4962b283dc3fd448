"""Any exception of a Python kernel fails the run; Ctrl-C in it reaches the caller.

Modules: kernels/python_kernels, kernels/reference_log, graph/attribute_values,
kernels/shape_check.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from child_process import begin, end, interrupt, output

import headrace.graph as hr
from headrace.formats.errors import InternalError, InvalidArgumentError, OpError


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class OddCode(OpError):
    def __init__(self, code: object) -> None:
        super().__init__(None, None, "odd", 3)
        self._code = code

    @property
    def code(self) -> object:
        return self._code


@pytest.mark.parametrize(
    "error",
    [
        ValueError("lone surrogate \udc80"),
        Unprintable(),
        OddCode(0),
        OddCode("text"),
        OddCode(-1),
        InternalError(None, None, "surrogate \udc80"),
        SystemExit(3),
        ValueError("a\0b"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_error_of_a_python_function_fails_the_run(error: BaseException) -> None:
    def fail() -> np.float32:
        raise error

    y = hr.py_func(fail, [], hr.float32)
    with hr.Session() as session:
        for _ in range(2):
            with pytest.raises(OpError):
                session.run(y)


@pytest.mark.parametrize("where", ["first", "later"])
def test_ctrl_c_in_a_python_function_reaches_the_caller(where: str) -> None:
    child = begin(
        f"""
        calls = []
        def slow():
            calls.append(1)
            if len(calls) > {0 if where == "first" else 1}:
                started()
                for _ in range(6000):  # on a pool's thread, an exception waits for the next line
                    time.sleep(0.1)
            return np.float32(1)
        y = hr.py_func(slow, [], hr.float32) + 1.0
        session = hr.Session()
        try:
            for _ in range(2):
                session.run(y)
            print("no interrupt")
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    interrupt(child)
    assert "interrupted\n" in end(child)


def test_ctrl_c_while_a_python_kernel_is_made_reaches_the_caller() -> None:
    # The signal comes inside `create`, the first time that a graph with such a kernel runs.
    child = begin(
        """
        from headrace.runtime.kernels import python_kernels
        from headrace.formats import services
        y = hr.py_func(lambda: np.float32(7), [], hr.float32) + 1.0
        session = hr.Session()
        session.run(hr.py_func(lambda: np.float32(7), [], hr.float32))
        for op, library in python_kernels._libraries.items():
            class Slow:
                library = "slow"
                def create(self, op, attributes, library=library):
                    started()
                    time.sleep(600)
                    return library.create(op, attributes)
            python_kernels._libraries[op] = Slow()
        try:
            print("no interrupt", session.run(y))
        except KeyboardInterrupt:
            print("interrupted")
        for op, library in python_kernels._libraries.items():
            library.create = lambda op, attributes: (lambda *arrays: np.float32(7))
        print(session.run(y))
        """
    )
    interrupt(child)
    assert end(child) == "interrupted\n8.0\n"


@pytest.mark.parametrize("shape", [[2], [0], [1], [1, 1]])
def test_a_predicate_that_is_not_a_scalar_is_rejected(shape: list[int]) -> None:
    predicate = hr.placeholder(hr.bool)
    outputs = hr.raw_ops.Switch(data=np.float32(3), pred=predicate)
    merged = hr.raw_ops.Merge(inputs=list(outputs))[0]
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match="second input must be a scalar, but it has"):
            session.run(merged, {predicate: np.ones(shape, bool)})
        assert session.run(merged, {predicate: True}) == 3.0


@pytest.mark.parametrize("shape", [[2], [0], [1]])
def test_a_loop_condition_that_is_not_a_scalar_is_rejected(shape: list[int]) -> None:
    limit = hr.placeholder(hr.int32)
    i = hr.constant(1)
    entered = hr.raw_ops.Enter(data=i, frame_name="f")
    merge = hr.raw_ops.Merge(inputs=[entered, entered])[0]
    inside = hr.raw_ops.Enter(data=limit, frame_name="f", is_constant=True)
    condition = hr.raw_ops.LoopCond(input=hr.raw_ops.Less(x=merge, y=inside))
    switch = hr.raw_ops.Switch(data=merge, pred=condition)
    following = hr.raw_ops.NextIteration(data=hr.raw_ops.Add(x=switch[1], y=switch[1]))
    merge.op._update_input(1, following)
    leave = hr.raw_ops.Exit(data=switch[0])
    with hr.Session() as session:
        assert session.run(leave, {limit: 3}) == 4
        with pytest.raises(InvalidArgumentError, match="must be a scalar"):
            session.run(leave, {limit: np.full(shape, 3, np.int32)})


def test_concurrent_errors_of_one_node_keep_their_texts() -> None:
    a = hr.placeholder(hr.float32)
    b = hr.placeholder(hr.float32)
    y = hr.raw_ops.MatMul(a=a, b=b)
    wrong: list[str] = []
    with hr.Session() as session:

        def work(n: int) -> None:
            for _ in range(150):
                try:
                    session.run(y, {a: np.ones((1, n), np.float32), b: np.ones((1, 1), np.float32)})
                    wrong.append("no error")
                except InvalidArgumentError as error:
                    if f"[1, {n}]" not in str(error) and f"{n}" not in str(error):
                        wrong.append(f"{n}: {error}")

        threads = [threading.Thread(target=work, args=(n,)) for n in (1103, 2207, 3301, 4409)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong, wrong[:3]


def test_of_two_python_libraries_with_one_op_the_one_of_higher_priority_computes() -> None:
    printed = output(
        """
        from headrace.runtime.kernels import kernel_table
        class Louder:
            library, version, device_type, priority = "louder", "0", "CPU", 1000
            def ops(self):
                return ["Neg"]
            def create(self, op, attributes):
                return lambda x: -10 * x
        kernel_table.add_library(Louder())
        with hr.Session() as session:  # which loads the library `reference`, that has Neg, too
            print(session.run(hr.negative(hr.constant([1.0, 2.0]))))
        """
    )
    assert printed == "[-10. -20.]\n"
