"""Critical sections: what they contain runs in one step at a time.

Modules: state/synchronisation/graph_mutex, kernels/synchronisation/mutex_kernels.
"""

from __future__ import annotations

import numpy as np
import pytest
from concurrently import concurrently

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError


def counter() -> hr.Variable:
    return hr.get_variable("count", initializer=0, use_resource=True)


def incremented(count: hr.Variable) -> hr.Tensor:
    """Reads, then writes: without a mutex, concurrent steps lose increments."""
    seen = hr.py_func(lambda x: np.int32(x), [count.read_value()], hr.int32)
    seen.set_shape([])
    return count.assign(seen + 1, read_value=True)


def test_no_increment_of_concurrent_steps_is_lost() -> None:
    count, section = counter(), hr.CriticalSection()
    results = [section.execute(lambda: incremented(count)) for _ in range(3)]
    with hr.Session() as session:
        session.run(count.initializer)
        concurrently(lambda _: [session.run(results) for _ in range(10)], 4)
        assert session.run(count) == 120
        assert sorted(session.run(results)) == [121, 122, 123]


def test_a_section_returns_the_structure_of_its_function() -> None:
    section = hr.CriticalSection(name="s")
    out = section.execute(lambda: {"a": hr.constant(1), "b": [hr.constant(2.0)]})
    group = section.execute(lambda: hr.group(hr.constant(1)))
    assert section.name == "s" and isinstance(group, hr.Operation)
    with hr.Session() as session:
        assert session.run(out) == {"a": 1, "b": [2.0]}
        session.run(group)


def test_a_step_that_fails_in_a_section_unlocks_it() -> None:
    section = hr.CriticalSection()
    fed = hr.placeholder(hr.float32, [])
    out = section.execute(lambda: hr.check_numerics(fed, "invalid"))
    with hr.Session() as session:
        for _ in range(3):
            with pytest.raises(InvalidArgumentError, match="invalid"):
                session.run(out, {fed: np.inf})
        assert session.run(out, {fed: 1.0}) == 1.0


def test_a_section_that_would_lock_itself_is_rejected() -> None:
    section = hr.CriticalSection()
    with pytest.raises(ValueError, match="in which we are already running"):
        section.execute(lambda: section.execute(lambda: hr.constant(1)))
    assert section.execute(lambda: hr.constant(1)) is not None


def test_two_sections_do_not_share_a_resource_unless_both_allow_it() -> None:
    count = counter()
    one, other = hr.CriticalSection(), hr.CriticalSection()
    one.execute(lambda: count.assign_add(1), exclusive_resource_access=False)
    with pytest.raises(ValueError, match="requested exclusive resource access"):
        other.execute(lambda: count.assign_add(1))
    other.execute(lambda: count.assign_add(1), exclusive_resource_access=False)


def test_a_lock_is_consumed_once_and_by_its_only_holder() -> None:
    mutex = hr.raw_ops.MutexV2()
    lock = hr.raw_ops.MutexLock(mutex=mutex)
    first = hr.raw_ops.ConsumeMutexLock(mutex_lock=lock)
    with hr.control_dependencies([first]):
        second = hr.raw_ops.ConsumeMutexLock(mutex_lock=lock)
    with hr.Session() as session:
        session.run(first)
        with pytest.raises(InvalidArgumentError, match="consumed before"):
            session.run(second)
        session.run(first)  # the mutex is free again
        with pytest.raises(InvalidArgumentError, match="does not point at a mutex"):
            session.run(hr.raw_ops.MutexLock(mutex=hr.FIFOQueue(1, hr.int32).queue_ref).op)


def test_a_lock_that_is_not_consumed_ends_with_its_step() -> None:
    mutex = hr.raw_ops.MutexV2()
    lock, other = (hr.raw_ops.MutexLock(mutex=mutex).op for _ in range(2))
    with hr.Session() as session:
        for op in (lock, lock, other):  # a lock that is still held would make the run wait
            assert session.run(op, options=hr.RunOptions(timeout_in_ms=60_000)) is None


def test_a_section_def_is_rejected() -> None:
    with pytest.raises(ValueError, match="not supported"):
        hr.CriticalSection(critical_section_def=object())
    with pytest.raises(ValueError, match="mutually exclusive"):
        hr.CriticalSection("n", critical_section_def=object())
