"""Steps that wait, loop or compute for long: the threads that they use, and how they end.

Modules: executor/asynchronous_nodes, executor/async_call.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import child_process
import numpy as np
import pytest
from concurrently import wait_until_idle, wait_until_under_way

import headrace.graph as hr
from headrace.formats.errors import CancelledError, DeadlineExceededError


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_ten_thousand_blocked_dequeues_hold_no_thread() -> None:
    queue = hr.FIFOQueue(20_000, [hr.int32], shapes=[[]])
    values = hr.placeholder(hr.int32, [None])
    fill = queue.enqueue_many([values])
    taken = [queue.dequeue() for _ in range(10_000)]
    found: list[np.ndarray] = []
    with hr.Session() as session:
        session.run(queue.size())
        before = _threads()
        waiting = threading.Thread(target=lambda: found.extend(session.run(taken)))
        waiting.start()
        wait_until_idle()  # until all steps wait
        assert waiting.is_alive()
        assert _threads() <= before + 1  # the caller's own
        session.run(fill, {values: np.arange(10_000)})
        waiting.join(120)
    assert sorted(found) == list(range(10_000))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts switches in /proc")
def test_threads_that_wait_for_a_queue_hardly_wake_up() -> None:
    """A thread that looks for Ctrl-C or its deadline every 20 ms wakes up 100 times."""
    queue = hr.FIFOQueue(40, [hr.float32], shapes=[[]])
    taken, fill = queue.dequeue(), queue.enqueue_many([hr.ones([40])])
    with hr.Session() as session:
        threads = [threading.Thread(target=session.run, args=(taken,)) for _ in range(40)]
        for thread in threads:
            thread.start()
        wait_until_idle()
        before = [_switches(thread) for thread in threads]
        time.sleep(2)
        woken = [
            _switches(thread) - switches for thread, switches in zip(threads, before, strict=True)
        ]
        session.run(fill)
        for thread in threads:
            thread.join()
    assert max(woken) < 20, woken


def _switches(thread: threading.Thread) -> int:
    with open(f"/proc/self/task/{thread.native_id}/status") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt"))


def _dequeue() -> tuple[hr.Tensor, hr.ConfigProto]:
    return hr.FIFOQueue(1, [hr.float32], shapes=[[]]).dequeue(), hr.ConfigProto()


def _full_enqueue() -> tuple[hr.Operation, hr.ConfigProto]:
    queue = hr.FIFOQueue(1, [hr.float32], shapes=[[]])
    return queue.enqueue_many([hr.ones([3])]), hr.ConfigProto()


def _native_loop() -> tuple[hr.Tensor, hr.ConfigProto]:
    return hr.while_loop(lambda i: i < 2_000_000_000, lambda i: i + 1, [0]), hr.ConfigProto()


def _dynamic_loop() -> tuple[hr.Tensor, hr.ConfigProto]:
    config = hr.ConfigProto()
    config.experimental.executor_type = "dynamic"
    return hr.while_loop(lambda i: i < 2_000_000_000, lambda i: i + 1, [0]), config


def _schedule(threads: int) -> tuple[hr.Tensor, hr.ConfigProto]:
    x = hr.random_uniform([512, 512])
    for _ in range(3000):
        x = hr.matmul(x, hr.random_uniform([512, 512])) * 1e-3
    return hr.reduce_sum(x), hr.ConfigProto(intra_op_parallelism_threads=threads)


LONG = {
    "a dequeue": _dequeue,
    "an enqueue": _full_enqueue,
    "a native loop": _native_loop,
    "a dynamic loop": _dynamic_loop,
    "a schedule": lambda: _schedule(2),
    "a schedule on one thread": lambda: _schedule(1),
}
# CPU time, so that a busy machine makes no difference. The schedules take more than 20 s.
SOON_S = 8.0
long_steps = pytest.mark.parametrize("make", LONG.values(), ids=LONG)


@long_steps
def test_a_timeout_ends_the_step(make: Callable[[], tuple[object, object]]) -> None:
    fetch, config = make()
    with hr.Session(config=config) as session:
        began, used = time.monotonic(), time.process_time()
        with pytest.raises(DeadlineExceededError, match="the run took longer than its timeout"):
            session.run(fetch, options=hr.RunOptions(timeout_in_ms=200))
        assert time.monotonic() - began >= 0.2
        assert time.process_time() - used < SOON_S
        assert session.run(hr.constant(3.0)) == 3.0


@long_steps
def test_closing_the_session_ends_the_step(make: Callable[[], tuple[object, object]]) -> None:
    fetch, config = make()
    session = hr.Session(config=config)
    step = session.make_callable(fetch)
    used = time.process_time()

    def close() -> None:
        wait_until_under_way()
        session.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(CancelledError, match="the session was closed"):
        step()
    assert time.process_time() - used < SOON_S
    closing.join()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(fetch)


@pytest.mark.parametrize("of", ["a dequeue", "a native loop", "a dynamic loop", "a schedule"])
def test_ctrl_c_ends_the_step_and_the_session_goes_on(of: str) -> None:
    child = child_process.begin(
        f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import test_blocked_steps
        fetch, config = test_blocked_steps.LONG[{of!r}]()
        after = hr.constant(5.0)
        with hr.Session(config=config) as session:
            session.run(after)
            try:
                threading.Thread(target=lambda: (wait_until_under_way(), started())).start()
                session.run(fetch)
            except KeyboardInterrupt:
                print("interrupted", session.run(after))
        """
    )
    child_process.interrupt(child)
    assert child_process.end(child) == "interrupted 5.0\n"


def test_a_step_that_another_thread_can_serve_goes_on_after_a_timeout_of_its_neighbour() -> None:
    queue = hr.FIFOQueue(5, [hr.int32], shapes=[[]])
    value = hr.placeholder(hr.int32, [])
    put, take = queue.enqueue(value), queue.dequeue()
    with hr.Session() as session:
        with pytest.raises(DeadlineExceededError):
            session.run(take, options=hr.RunOptions(timeout_in_ms=50))
        found: list[int] = []
        waiting = threading.Thread(target=lambda: found.append(session.run(take)))
        waiting.start()
        session.run(put, {value: 11})
        waiting.join(120)
        assert found == [11]
        session.run(put, {value: 12})  # the one that timed out takes nothing
        assert session.run(queue.size()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_an_error_and_a_working_new_session() -> None:
    printed = child_process.output(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        x = hr.placeholder(hr.float32, [700, 700])
        y = hr.reduce_sum(hr.matmul(x, x))
        queue = hr.FIFOQueue(5, [hr.int32], shapes=[[]])
        take = queue.dequeue()
        feeds = {x: np.ones([700, 700], np.float32)}
        session = hr.Session()
        print(float(session.run(y, feeds)))  # the pool and its team are up
        def wait():
            try:
                session.run(take)
            except hr.errors.CancelledError:
                print("the session was closed")
        waiting = threading.Thread(target=wait)
        waiting.start()
        wait_until_idle()
        if os.fork() == 0:
            for step in (lambda: session.run(y, feeds), lambda: session.run(take)):
                try:
                    step()
                except hr.errors.FailedPreconditionError as error:
                    print("child:", error.message.partition(":")[0])
            with hr.Session() as own:
                print("child:", float(own.run(y, feeds)), own.run(queue.size()))
            sys.stdout.flush()
            os._exit(0)
        pid, status = os.wait()
        print("parent:", status, float(session.run(y, feeds)))
        session.close()
        waiting.join()
        """
    )
    lines = printed.splitlines()
    assert lines[-2:] == ["parent: 0 343000000.0", "the session was closed"]
    children = [line for line in lines if line.startswith("child")]
    assert children == ["child: this session was made before a fork"] * 2 + ["child: 343000000.0 0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_in_the_middle_of_a_run_works() -> None:
    printed = child_process.output(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        x = hr.placeholder(hr.float32, [None])
        big, small = hr.tanh(x) + 1.0, hr.reduce_sum(x)
        queue = hr.FIFOQueue(100, [hr.float32], shapes=[[]])
        through = queue.enqueue(small), queue.dequeue()
        over, rounds = False, []
        with hr.Session() as first:  # imports what is imported late: Python's own locks do not fork
            first.run([big, small, *through], {x: np.ones([3], np.float32)})
        def busy():
            with hr.Session() as session:
                while not over:
                    session.run(big, {x: np.ones([200_000], np.float32)})
                    session.run([small, *through], {x: np.ones([3], np.float32)})
                    rounds.append(1)
        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads:
            thread.start()
        while len(rounds) < 10:
            time.sleep(0.01)
        failed = 0
        for _ in range(60):
            child = os.fork()
            if child == 0:
                with hr.Session() as own:
                    ok = own.run([small, *through], {x: np.ones([3], np.float32)})[2] == 3.0
                    ok = ok and own.run(big, {x: np.zeros([200_000], np.float32)}).sum() == 200_000
                os._exit(0 if ok else 1)
            failed += os.waitpid(child, 0)[1] != 0
            time.sleep(0.01)
        over = True
        for thread in threads:
            thread.join()
        print(failed)
        """
    )
    assert printed == "0\n"
