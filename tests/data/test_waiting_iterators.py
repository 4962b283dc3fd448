"""Steps that wait for an iterator: cancellation, the end of sessions, threads.

Modules: executor/function_calls, executor/function_call, executor/call_scopes, state/functions,
session/function_compiler.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pipelines import Pipe, drained

import headrace.graph as hr

MANY = 1 << 40
# Threads of the process's pools, which may start at any time and stay.
POOLS = 2 * (os.cpu_count() or 1) + 2


def native_threads() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.001)


def in_thread(run: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []

    def body() -> None:
        try:
            results.append(run())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    return thread, results


def queue_pipe(queue: Any, calls: int = 0) -> Pipe:
    """A dataset whose function waits for a queue. Any of several calls may get the element."""
    handle = queue.queue_ref
    pipe = Pipe.range(MANY)
    return pipe.map(
        lambda x, q: hr.raw_ops.QueueDequeueV2(handle=q, component_types=[hr.int64])[0] + 0 * x,
        captured=[handle], calls=calls, ordered=calls == 0,
    )  # fmt: skip


@pytest.mark.parametrize("calls", [0, 3])
def test_a_function_waits_for_a_queue_and_a_timeout_loses_nothing(calls: int) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        queue = hr.FIFOQueue(100, [hr.int64], shapes=[[]])
        value = hr.placeholder(hr.int64, [])
        put = queue.enqueue(value)
        pipe = queue_pipe(queue, calls)
        handle, initializer = pipe.iterator()
        following = pipe.get_next(handle)[0]
        session.run(initializer)
        for round_ in range(3):
            with pytest.raises(hr.errors.DeadlineExceededError):
                session.run(following, options=hr.RunOptions(timeout_in_ms=50))
            session.run(put, {value: round_})
            assert session.run(following) == round_


@pytest.mark.parametrize("ends", ["close", "reset"])
def test_the_end_of_a_session_ends_what_waits(ends: str) -> None:
    with hr.Graph().as_default():
        session = hr.Session(f"local://ends-{ends}")
        queue = hr.FIFOQueue(10, [hr.int64], shapes=[[]])
        put = queue.enqueue(hr.constant(5, hr.int64))
        pipe = queue_pipe(queue).prefetch(2)
        handle, initializer = pipe.iterator()
        following = pipe.get_next(handle)
        session.run(initializer)
        found: list[Any] = []

        def read() -> None:
            while True:
                found.append(session.run(following))

        thread, results = in_thread(read)
        session.run(put)
        wait_until(lambda: bool(found))  # the next run waits, or is about to begin
        if ends == "close":
            session.close()
        else:
            hr.Session.reset(f"local://ends-{ends}")
        thread.join(60)
        assert not thread.is_alive()
        closed = (hr.errors.CancelledError, hr.errors.FailedPreconditionError, RuntimeError)
        assert isinstance(results[0], closed)
        session.close()


def test_a_session_that_is_dropped_ends_its_iterators() -> None:
    before = native_threads()
    with hr.Graph().as_default() as graph:
        pipe = Pipe.range(MANY).prefetch(2)
        handle, initializer = pipe.iterator()
        following = pipe.get_next(handle)
    session = hr.Session(graph=graph)
    session.run(initializer)
    session.run(following)
    del session
    gc.collect()
    wait_until(lambda: native_threads() <= before + POOLS)


def test_prefetching_threads_end_with_their_session() -> None:
    with hr.Graph().as_default() as graph:
        pipe = Pipe.range(MANY).map(lambda x: x + 1, calls=2).prefetch(4)
        handle, initializer = pipe.iterator()
        following = pipe.get_next(handle)

    def use() -> None:
        with hr.Session(graph=graph) as session:
            session.run(initializer)
            assert session.run(following) == [1]

    use()
    before = native_threads()
    for _ in range(20):
        use()
    wait_until(lambda: native_threads() <= before + POOLS)


def test_a_session_closes_while_a_dataset_of_a_step_ends() -> None:
    """The end of the session may release the last reference to the dataset's pipeline."""
    with hr.Graph().as_default() as graph:
        pipe = Pipe.range(50).prefetch(4).prefetch(1)
        single = hr.raw_ops.DatasetToSingleElement(
            dataset=pipe.variant, output_types=pipe.types, output_shapes=pipe.shapes
        )
    for _ in range(150):
        with (
            hr.Session(graph=graph) as session,
            pytest.raises(hr.errors.InvalidArgumentError, match="more than one element"),
        ):
            session.run(single)


def test_threads_share_an_iterator() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = Pipe.range(2000).map(lambda x: x * 2, calls=4).prefetch(8)
        handle, initializer = pipe.iterator()
        following = pipe.get_next(handle)
        session.run(initializer)
        running = [in_thread(lambda: drained(session, following)) for _ in range(4)]
        found: list[int] = []
        for thread, results in running:
            thread.join(60)
            found += results[0]
        assert sorted(found) == list(range(0, 4000, 2))


def test_an_infinite_filter_is_ended_by_a_timeout() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = Pipe.range(MANY).filter(lambda x: x < 0)
        handle, initializer = pipe.iterator()
        session.run(initializer)
        with pytest.raises(hr.errors.DeadlineExceededError):
            session.run(pipe.get_next(handle), options=hr.RunOptions(timeout_in_ms=50))


def test_python_functions_run_within_datasets() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        for calls in (0, 3):
            pipe = Pipe.range(20).map(
                lambda x: hr.py_func(lambda v: v + np.int64(1), [x], hr.int64), calls=calls
            )
            assert pipe.values(session) == list(range(1, 21))


def test_many_iterators_leave_no_threads() -> None:
    with hr.Graph().as_default() as graph:
        pipe = Pipe.range(5).flat_map(lambda x: Pipe.range(3).variant).prefetch(1)
        handle, initializer = pipe.iterator()
        following = pipe.get_next(handle)
    with hr.Session(graph=graph) as session:
        session.run(initializer)
        session.run(following)
        before = native_threads()
        for _ in range(200):
            session.run(initializer)
            session.run(following)
        wait_until(lambda: native_threads() <= before + POOLS)
