"""A run that reads a variable without a value fails, even if nothing uses the value.

Modules: passes/read_slots.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import headrace.graph as hr
from headrace.formats.errors import FailedPreconditionError, InvalidArgumentError

KINDS = pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
BOTH = pytest.mark.parametrize("executor", ["", "dynamic"], ids=["native loops", "dynamic only"])
NO_VALUE = "Attempting to use uninitialized value v"


def _variable(resource: bool) -> hr.Variable:
    return hr.get_variable("v", initializer=[1.0, 2.0], use_resource=resource)


def _session(executor: str) -> hr.Session:
    config = hr.ConfigProto()
    config.experimental.executor_type = executor
    return hr.Session(config=config)


def _waits_for(read: hr.Tensor) -> hr.Tensor:
    with hr.control_dependencies([read]):
        return hr.constant(7) + 0


READS: dict[str, Callable[[hr.Variable], object]] = {
    "target": lambda v: v.read_value().op,
    "target behind an identity": lambda v: hr.identity(hr.identity(v)).op,
    "group": lambda v: hr.group(v.read_value()),
    "control edge": lambda v: _waits_for(v.read_value()),
    "control edge from an identity": lambda v: _waits_for(hr.identity(v)),
    "control edge from arithmetic": lambda v: _waits_for(v * 2.0),
    "shape of what is read": lambda v: hr.shape(
        hr.placeholder_with_default(v.read_value(), [None]), optimize=False
    ),
}


@KINDS
@pytest.mark.parametrize("read", READS)
def test_a_read_whose_value_nothing_needs_fails_without_one(resource: bool, read: str) -> None:
    v = _variable(resource)
    fetch = READS[read](v)
    with hr.Session() as session:
        for _ in range(2):
            with pytest.raises(FailedPreconditionError, match=NO_VALUE):
                session.run(fetch)
        session.run(v.initializer)
        session.run(fetch)


@BOTH
@KINDS
def test_a_read_in_a_branch_or_a_loop_fails_where_it_runs(resource: bool, executor: str) -> None:
    v = _variable(resource)
    taken, n = hr.placeholder(hr.bool, []), hr.placeholder(hr.int32, [])
    in_branch = hr.cond(taken, lambda: _waits_for(v.read_value()), lambda: hr.constant(0))

    def body(i: hr.Tensor) -> hr.Tensor:
        with hr.control_dependencies([v.read_value()]):
            return i + 1

    in_loop = hr.while_loop(lambda i: i < n, body, [hr.constant(0)])
    with _session(executor) as session:
        assert session.run(in_branch, {taken: False}) == 0
        if resource:  # a reference enters the loop even if no iteration runs
            assert session.run(in_loop, {n: 0}) == 0
        with pytest.raises(FailedPreconditionError, match=NO_VALUE):
            session.run(in_branch, {taken: True})
        with pytest.raises(FailedPreconditionError, match=NO_VALUE):
            session.run(in_loop, {n: 3})
        session.run(v.initializer)
        assert session.run([in_branch, in_loop], {taken: True, n: 3}) == [7, 3]


def test_a_read_after_an_assignment_of_the_same_run_finds_the_value() -> None:
    v = _variable(True)
    with hr.control_dependencies([v.initializer]):
        read = v.read_value()
    with hr.Session() as session:
        session.run(read.op)
        session.run([read.op, v.initializer])


def test_the_input_of_a_view_that_is_a_target_is_computed() -> None:
    x = hr.placeholder(hr.int32, [])
    view = hr.reshape(hr.identity(hr.floordiv(hr.constant(4), x)), [1])
    with hr.Session() as session:
        session.run(view.op, {x: 2})
        with pytest.raises(InvalidArgumentError, match="division by zero"):
            session.run(view.op, {x: 0})


@BOTH
def test_a_reference_enters_a_loop_only_with_a_value(executor: str) -> None:
    v = _variable(False)
    n = hr.placeholder(hr.int32, [])

    def body(i: hr.Tensor) -> hr.Tensor:
        with hr.control_dependencies([v.assign([3.0, 4.0])]):
            return i + 1

    loop = hr.while_loop(lambda i: i < n, body, [hr.constant(0)])
    with _session(executor) as session:
        with pytest.raises(FailedPreconditionError, match=NO_VALUE):
            session.run(loop, {n: 2})
        session.run(v.initializer)
        assert session.run(loop, {n: 2}) == 2
        assert session.run(v).tolist() == [3.0, 4.0]


@BOTH
def test_a_merge_passes_a_reference_on_only_with_a_value(executor: str) -> None:
    v = _variable(False)
    p = hr.placeholder(hr.bool, [])
    # RefSwitch takes a variable without a value; RefMerge does not.
    false, true = hr.raw_ops.RefSwitch(data=v._ref(), pred=p)
    result = hr.assign(hr.raw_ops.RefMerge(inputs=[false, true])[0], [5.0, 6.0])
    with _session(executor) as session:
        for taken in (True, False):
            with pytest.raises(FailedPreconditionError, match=NO_VALUE):
                session.run(result, {p: taken})
        session.run(v.initializer)
        assert session.run(result, {p: True}).tolist() == [5.0, 6.0]


@BOTH
def test_a_reference_enters_a_loop_before_a_write_that_nothing_orders(executor: str) -> None:
    v = _variable(False)

    def body(i: hr.Tensor) -> hr.Tensor:
        with hr.control_dependencies([v.assign([3.0, 4.0])]):
            return i + 1

    loop = hr.while_loop(lambda i: i < 2, body, [hr.constant(0)])
    with _session(executor) as session:
        with pytest.raises(FailedPreconditionError, match=NO_VALUE):
            session.run([v.initializer, loop])
        session.run(v.initializer)
        assert session.run([v.initializer, loop])[1] == 2
