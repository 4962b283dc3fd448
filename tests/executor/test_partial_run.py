"""A step in several calls: feeds arrive, fetches leave.

Modules: executor/dynamic_step.
"""

from __future__ import annotations

import threading
import time

import child_process
import numpy as np
import pytest
from concurrently import wait_until_idle

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError


def test_feeds_arrive_and_fetches_leave_in_several_calls() -> None:
    a, b, c = (hr.placeholder(hr.float32, []) for _ in range(3))
    r1 = a + b
    r2 = r1 * c
    with hr.Session() as session:
        for _ in range(3):
            handle = session.partial_run_setup([r1, r2], [a, b, c])
            assert session.partial_run(handle, r1, {a: 1, b: 2}) == 3.0
            assert session.partial_run(handle, r2, {c: 17}) == 51.0


def test_a_fetch_leaves_as_soon_as_it_is_there() -> None:
    """Threads that do not handle Ctrl-C look around once a second; none must wait for that."""
    first, second = (hr.FIFOQueue(1, [hr.float32], shapes=[[]]) for _ in range(2))
    early, late = first.dequeue(), second.dequeue()
    fill_first, fill_second = first.enqueue(1.0), second.enqueue(2.0)
    lasted = []
    with hr.Session() as session:
        for _ in range(5):
            handle = session.partial_run_setup([early, late], [])
            found: list[np.ndarray] = []
            thread = threading.Thread(
                target=lambda h=handle, to=found: to.append(session.partial_run(h, early))
            )
            thread.start()
            wait_until_idle()
            start = time.monotonic()
            session.run(fill_first)
            thread.join()
            lasted.append(time.monotonic() - start)
            session.run(fill_second)
            assert (found, session.partial_run(handle, late)) == ([1.0], 2.0)
    assert min(lasted) < 0.5, lasted


def test_a_step_goes_on_from_a_value_that_the_caller_made_of_its_fetch() -> None:
    a, c = hr.placeholder(hr.float32, [None]), hr.placeholder(hr.float32, [None])
    r1 = a * 2.0
    r2 = hr.reduce_sum(r1 + c)
    with hr.Session() as session:
        handle = session.partial_run_setup([r1, r2], [a, c])
        got = session.partial_run(handle, r1, {a: [1.0, 2.0]})
        assert session.partial_run(handle, r2, {c: got * 10}) == 66.0


def test_a_fed_array_may_be_overwritten_between_the_calls() -> None:
    a, c = hr.placeholder(hr.float32, [3]), hr.placeholder(hr.float32, [])
    early = hr.reduce_sum(a)
    late = a * c
    value = np.array([1, 2, 3], np.float32)
    with hr.Session() as session:
        handle = session.partial_run_setup([early, late], [a, c])
        assert session.partial_run(handle, early, {a: value}) == 6.0
        value[:] = -1.0
        assert session.partial_run(handle, late, {c: 2.0}).tolist() == [2.0, 4.0, 6.0]


def test_operations_may_be_fetched() -> None:
    a, c = hr.placeholder(hr.float32, []), hr.placeholder(hr.float32, [])
    v, w = hr.Variable(0.0), hr.Variable(0.0)
    first, second = v.assign(a).op, w.assign(a + c).op
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        handle = session.partial_run_setup([first, second], [a, c])
        assert session.partial_run(handle, first, {a: 4.0}) is None
        assert session.run([v, w]) == [4.0, 0.0]
        assert session.partial_run(handle, [second], {c: 1.0}) == [None]
        assert session.run([v, w]) == [4.0, 5.0]


def test_fetches_without_their_feeds_or_setup_are_rejected() -> None:
    a, b = hr.placeholder(hr.float32, [], "a"), hr.placeholder(hr.float32, [], "b")
    total = hr.add(a, b, "total")
    other = a * 3.0
    v = hr.Variable(0.0)
    assigned = v.assign(b).op
    with hr.Session() as session:
        session.run(v.initializer)
        handle = session.partial_run_setup([total, assigned], [a, b])
        with pytest.raises(InvalidArgumentError, match="'total:0' needs a feed.*not fed: b:0"):
            session.partial_run(handle, total, {a: 1.0})
        with pytest.raises(InvalidArgumentError, match="not fed: b:0"):
            session.partial_run(handle, assigned)
        with pytest.raises(InvalidArgumentError, match="'a:0' was fed before"):
            session.partial_run(handle, total, {a: 1.0})
        with pytest.raises(InvalidArgumentError, match="was not named as a fetch"):
            session.partial_run(handle, other)
        with pytest.raises(InvalidArgumentError, match="was not named as a feed"):
            session.partial_run(handle, total, {other: 2.0})
        assert session.partial_run(handle, total, {b: 2.0}) == 3.0
        with pytest.raises(InvalidArgumentError, match="No partial run has the handle 'elsewhere'"):
            session.partial_run("elsewhere", total)
        assert session.run(v) == 2.0


def test_an_error_ends_the_step_and_not_the_session() -> None:
    a, b = hr.placeholder(hr.float32, []), hr.placeholder(hr.float32, [])
    checked = hr.check_numerics(a, "bad")
    total = checked + b
    with hr.Session() as session:
        handle = session.partial_run_setup([checked, total], [a, b])
        with pytest.raises(InvalidArgumentError, match="bad"):
            session.partial_run(handle, checked, {a: np.nan})
        with pytest.raises(InvalidArgumentError, match="bad"):
            session.partial_run(handle, total, {b: 1.0})
        assert session.run(total, {a: 1.0, b: 2.0}) == 3.0


def test_two_partial_runs_do_not_meet() -> None:
    a, b = hr.placeholder(hr.float32, []), hr.placeholder(hr.float32, [])
    twice, total = a * 2.0, a + b
    with hr.Session() as session:
        one = session.partial_run_setup([twice, total], [a, b])
        other = session.partial_run_setup([twice, total], [a, b])
        assert session.partial_run(one, twice, {a: 1.0}) == 2.0
        assert session.partial_run(other, twice, {a: 10.0}) == 20.0
        assert session.partial_run(one, total, {b: 1.0}) == 2.0
        assert session.partial_run(other, total, {b: 1.0}) == 11.0


def _resident_kib() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_partial_runs_leave_nothing_behind() -> None:
    a, b = hr.placeholder(hr.float32, [None]), hr.placeholder(hr.float32, [])
    first = a * 2.0
    second = hr.reduce_sum(first) + b
    with hr.Session() as session:

        def once() -> None:
            handle = session.partial_run_setup([first, second], [a, b])
            session.partial_run(handle, first, {a: [1.0, 2.0]})
            assert session.partial_run(handle, second, {b: 1.0}) == 7.0

        for _ in range(500):
            once()
        before = _resident_kib()
        for _ in range(5000):
            once()
        assert _resident_kib() - before < 4096


def test_a_handle_ends_with_its_last_feed_and_fetch() -> None:
    a = hr.placeholder(hr.float32, [])
    twice = a * 2.0
    with hr.Session() as session:
        handle = session.partial_run_setup([twice], [a])
        assert session.partial_run(handle, twice, {a: 2.0}) == 4.0
        with pytest.raises(InvalidArgumentError, match="or it has ended"):
            session.partial_run(handle, twice)


def test_partial_runs_that_were_abandoned_are_bounded() -> None:
    a = hr.placeholder(hr.float32, [])
    twice = a * 2.0
    with hr.Session() as session:
        handles = [session.partial_run_setup([twice], [a]) for _ in range(1030)]
        with pytest.raises(InvalidArgumentError, match="or it has ended"):
            session.partial_run(handles[0], twice, {a: 1.0})
        assert session.partial_run(handles[-1], twice, {a: 1.0}) == 2.0


def test_a_session_is_closed_during_a_partial_run() -> None:
    printed = child_process.output(
        """
    x = hr.placeholder(hr.float32, [])
    queue = hr.FIFOQueue(1, [hr.float32], shapes=[[]])
    waits = queue.dequeue() + x
    for round in range(200):
        session = hr.Session()
        handle = session.partial_run_setup([waits], [x])
        def walk():
            try:
                session.partial_run(handle, waits, {x: 1.0})
            except (hr.errors.CancelledError, RuntimeError):
                pass
        threads = [threading.Thread(target=walk) for _ in range(2)]
        for thread in threads:
            thread.start()
        if round % 2:
            time.sleep(0.002)
        session.close()
        for thread in threads:
            thread.join()
        del session, handle
    print("closed")
        """
    )
    assert printed == "closed\n"


def test_a_partial_run_whose_python_kernel_closes_the_session_ends() -> None:
    printed = child_process.output(
        """
    x = hr.placeholder(hr.float32, [])
    session = hr.Session()
    def close(value):
        session.close()
        return value
    y = hr.py_func(close, [x], hr.float32)
    handle = session.partial_run_setup([y], [x])
    try:
        session.partial_run(handle, y, {x: 1.0})
    except hr.errors.CancelledError as error:
        print("cancelled")
        """
    )
    assert printed == "cancelled\n"
