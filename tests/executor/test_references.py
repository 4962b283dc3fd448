"""Ops that pass references on: RefIdentity, DebugGradientRefIdentity, FakeQueue."""

from __future__ import annotations

import pytest

import headrace.graph as hr

raw = hr.raw_ops


@pytest.mark.parametrize("op", [raw.RefIdentity, raw.DebugGradientRefIdentity])
def test_a_reference_that_was_passed_on_reads_and_writes_the_variable(op) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        variable = hr.Variable([1.0, 2.0], use_resource=False)
        passed = op(input=raw.RefIdentity(input=variable._ref()))
        with hr.control_dependencies([raw.AssignAdd(ref=passed, value=[1.0, 1.0])]):
            after = hr.identity(passed)
        whole = raw.Assign(ref=passed, value=[5.0, 6.0])
        session.run(variable.initializer)
        assert session.run(passed + 1).tolist() == [2, 3]
        assert session.run(after).tolist() == [2, 3]
        assert session.run(variable).tolist() == [2, 3]
        session.run(whole)
        assert session.run(passed).tolist() == [5, 6]


@pytest.mark.host_execution("refers to a variable, already placed, by an op that only the CPU has")
def test_a_queue_as_a_reference() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        queue = hr.FIFOQueue(5, [hr.int32], shapes=[[]])
        handle = raw.FakeQueue(resource=queue.queue_ref)
        session.run(raw.QueueEnqueue(handle=handle, components=[7]))
        assert session.run(queue.dequeue()) == 7
        other = hr.Variable(1.0, use_resource=True)
        session.run(other.initializer)
        with pytest.raises(hr.errors.InvalidArgumentError, match="does not point at a queue"):
            session.run(raw.QueueSize(handle=raw.FakeQueue(resource=other.handle)))
        session.run(raw.DisableCopyOnRead(resource=other.handle))
