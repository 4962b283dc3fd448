"""Stacks of version 1, whose handle is a reference: graphs of TensorFlow before 1.2 have them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace.graph as hr

r = hr.raw_ops


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with hr.Graph().as_default():
        yield


def test_a_stack_gives_back_what_was_pushed_and_each_step_has_its_own() -> None:
    x = hr.placeholder(hr.float32)
    stack = r.Stack(elem_type=hr.float32)
    first = r.StackPush(handle=stack, elem=x)
    with hr.control_dependencies([first]):
        second = r.StackPush(handle=stack, elem=x * 2.0)
    with hr.control_dependencies([second]):
        last = r.StackPop(handle=stack, elem_type=hr.float32)
    with hr.control_dependencies([last]):
        before = r.StackPop(handle=stack, elem_type=hr.float32)
    with hr.control_dependencies([before]):
        close = r.StackClose(handle=stack)
    with hr.Session() as session:
        for value in (3.0, 4.0):
            found = session.run([first, second, last, before, close], {x: value})
            assert found == [value, 2 * value, 2 * value, value, None]


def test_a_loop_keeps_its_values_on_a_stack() -> None:
    stack = r.Stack(elem_type=hr.int32)

    def push(i: hr.Tensor, unused: hr.Tensor) -> list[hr.Tensor]:
        entered = r.RefEnter(data=stack, frame_name="while/loop", is_constant=True)
        kept = r.StackPush(handle=entered, elem=i * i)
        with hr.control_dependencies([kept]):
            return [i + 1, unused]

    with hr.name_scope("while"):
        enter = [r.Enter(data=hr.constant(v), frame_name="while/loop") for v in (0, 5)]
        merge = [r.Merge(inputs=[e, e])[0] for e in enter]
        condition = r.LoopCond(input=r.Less(x=merge[0], y=merge[1]))
        switch = [r.Switch(data=m, pred=condition) for m in merge]
        after = push(*[s.output_true for s in switch])
        for m, value in zip(merge, after):
            m.op._update_input(1, r.NextIteration(data=value))
        end = r.Exit(data=switch[0].output_false)
    popped = []
    for _ in range(5):
        with hr.control_dependencies([popped[-1] if popped else end]):
            popped.append(r.StackPop(handle=stack, elem_type=hr.int32))
    with hr.Session() as session:
        for _ in range(2):
            assert session.run([end, *popped]) == [5, 16, 9, 4, 1, 0]


def test_misuse_is_refused() -> None:
    stack = r.Stack(elem_type=hr.float32, stack_name="kept")
    empty = r.StackPop(handle=stack, elem_type=hr.float32)
    wrong = r.StackPush(handle=stack, elem=hr.constant(1))
    closed = r.StackClose(handle=stack)
    with hr.control_dependencies([closed]):
        late = r.StackPush(handle=stack, elem=1.0)
    variable = hr.Variable("text", use_resource=False)
    other = r.StackPush(handle=variable._variable, elem=1.0)
    handle = r.FIFOQueue(component_types=[hr.float32])
    queue = r.StackPop(handle=handle, elem_type=hr.float32)
    errors = hr.errors
    with hr.Session() as session:
        session.run(variable.initializer)
        for fetch, kind, words in [
            (empty, errors.InvalidArgumentError, r"Stack\[kept\] is empty when calling Pop\(\)."),
            (wrong, errors.InvalidArgumentError, "Must have type float but got int32"),
            (late, errors.InvalidArgumentError, r"Stack\[kept\] has already been closed."),
            (other, errors.NotFoundError, "Resource of the stack does not exist"),
            (queue, errors.NotFoundError, "Resource of the stack does not exist"),
        ]:
            with pytest.raises(kind, match=words):
                session.run(fetch)
        with pytest.raises(errors.OpError):
            session.run(stack)
