"""Which sessions share a variable or a queue: names, containers, sessions, targets.

Modules: state/session_owner, state/context.
"""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import FailedPreconditionError, InvalidArgumentError


def _handle(shared_name: str, container: str = "", dtype: hr.DType = hr.float32) -> hr.Tensor:
    return hr.raw_ops.VarHandleOp(
        dtype=dtype, shape=[2], shared_name=shared_name, container=container
    )


def test_two_handles_of_one_shared_name_are_one_variable() -> None:
    one, other, third = _handle("s"), _handle("s"), _handle("t")
    assign = hr.raw_ops.AssignVariableOp(resource=one, value=[1.0, 2.0])
    add = hr.raw_ops.AssignAddVariableOp(resource=other, value=[10.0, 10.0])
    reads = [hr.raw_ops.ReadVariableOp(resource=h, dtype=hr.float32) for h in (one, other, third)]
    with hr.Session() as session:
        session.run(assign)
        session.run(add)
        assert [r.tolist() for r in session.run(reads[:2])] == [[11.0, 12.0]] * 2
        with pytest.raises(FailedPreconditionError, match="uninitialized"):
            session.run(reads[2])


def test_two_references_of_one_shared_name_are_one_variable() -> None:
    one, other = (
        hr.raw_ops.VariableV2(shape=[2], dtype=hr.float32, shared_name="s") for _ in range(2)
    )
    with hr.Session() as session:
        session.run(hr.raw_ops.Assign(ref=one, value=[1.0, 2.0]))
        assert session.run(hr.raw_ops.AssignAdd(ref=other, value=[1.0, 1.0])).tolist() == [2, 3]
        assert session.run(one).tolist() == [2.0, 3.0]


def test_containers_separate_equal_names_and_are_cleared_one_by_one() -> None:
    handles = [_handle("s", container) for container in ("", "a", "b")]
    assigns = [
        hr.raw_ops.AssignVariableOp(resource=h, value=[float(i), 0.0])
        for i, h in enumerate(handles)
    ]
    reads = [hr.raw_ops.ReadVariableOp(resource=h, dtype=hr.float32) for h in handles]
    with hr.Session("local://containers") as session:
        session.run(assigns)
        assert [r[0] for r in session.run(reads)] == [0.0, 1.0, 2.0]
    hr.Session.reset("local://containers", ["a"])
    with hr.Session("local://containers") as session:
        assert [r[0] for r in session.run([reads[0], reads[2]])] == [0.0, 2.0]
        with pytest.raises(FailedPreconditionError):
            session.run(reads[1])


def test_the_container_scope_names_it() -> None:
    with hr.container("mine"):
        v = hr.Variable([1.0])
        queue = hr.FIFOQueue(3, [hr.int32])
    assert v.op.get_attr("container") == b"mine"
    assert queue.queue_ref.op.get_attr("container") == b"mine"


@pytest.mark.parametrize("container", ["a b", "a_b", "-a", "/a", "\1"])
def test_queues_and_reference_variables_reject_invalid_container_names(
    container: str,
) -> None:
    queue = hr.raw_ops.FIFOQueueV2(component_types=[hr.int32], container=container)
    variable = hr.raw_ops.VariableV2(shape=[], dtype=hr.float32, container=container)
    with hr.Session() as session:
        for read in (
            hr.raw_ops.QueueSizeV2(handle=queue),
            hr.raw_ops.IsVariableInitialized(ref=variable),
        ):
            with pytest.raises(InvalidArgumentError, match="container contains invalid"):
                session.run(read)


@pytest.mark.parametrize("container", ["", "a", "a-b/c.d", ".a", "7"])
def test_queues_and_reference_variables_take_the_name_of_a_container(container: str) -> None:
    queue = hr.raw_ops.FIFOQueueV2(component_types=[hr.int32], container=container)
    variable = hr.raw_ops.VariableV2(shape=[], dtype=hr.float32, container=container)
    with hr.Session() as session:
        assert session.run(hr.raw_ops.QueueSizeV2(handle=queue)) == 0
        assert not session.run(hr.raw_ops.IsVariableInitialized(ref=variable))


def test_one_name_with_another_dtype_or_kind_is_rejected() -> None:
    hr.raw_ops.AssignVariableOp(resource=_handle("s"), value=[1.0, 2.0], name="put")
    wrong = hr.raw_ops.AssignVariableOp(
        resource=_handle("s", dtype=hr.int32), value=np.array([1, 2], np.int32)
    )
    queue = hr.FIFOQueue(3, [hr.int32], shared_name="s")
    with hr.Session() as session:
        session.run("put")
        with pytest.raises(InvalidArgumentError, match="with another dtype"):
            session.run(wrong)
        with pytest.raises(InvalidArgumentError, match="is a Variable, not a Queue"):
            session.run(queue.size())


def test_sessions_own_their_state_or_share_it_by_target() -> None:
    v = hr.Variable(1.0)
    add = v.assign_add(1.0)
    queue = hr.FIFOQueue(3, [hr.int32], shapes=[[]], shared_name="q")
    put = queue.enqueue(5)
    with hr.Session() as one, hr.Session() as other:
        one.run([v.initializer, put])
        one.run(add)
        assert one.run([v, queue.size()]) == [2.0, 1]
        assert other.run(queue.size()) == 0
        with pytest.raises(FailedPreconditionError, match="uninitialized"):
            other.run(v)
    with hr.Session("local://shared") as one, hr.Session("local://shared") as other:
        one.run([v.initializer, put])
        assert other.run(add) == 2.0
        assert other.run([v, queue.size()]) == one.run([v, queue.size()]) == [2.0, 1]
    with hr.Session("local://shared") as later:
        assert later.run([v, queue.dequeue()]) == [2.0, 5]


def test_a_reset_reaches_all_sessions_of_a_shared_state() -> None:
    handle = _handle("v")
    assign = hr.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0])
    add = hr.raw_ops.AssignAddVariableOp(resource=handle, value=[1.0, 1.0])
    read = hr.raw_ops.ReadVariableOp(resource=handle, dtype=hr.float32)
    with hr.Session("local://reset") as one, hr.Session("local://reset") as other:
        for session in (one, other):
            session.run(assign)
            assert session.run(read).tolist() == [1.0, 2.0]
        hr.Session.reset("local://reset")
        for session in (one, other):
            with pytest.raises(FailedPreconditionError, match="uninitialized"):
                session.run(read)
        one.run(assign)
        other.run(add)
        for session in (one, other):
            assert session.run(read).tolist() == [2.0, 3.0]
