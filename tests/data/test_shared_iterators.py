"""Resources that sessions of one local://NAME share when one of the sessions closes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from test_waiting_iterators import in_thread, wait_until

import headrace.graph as hr


def two_sessions(name: str) -> tuple[Any, Any]:
    return hr.Session(f"local://{name}"), hr.Session(f"local://{name}")


def closed_while_waiting(session: Any, fetch: Any, waits: Callable[[], bool]) -> Exception:
    """Runs `fetch` on a thread, closes the session once it waits, and returns its error."""
    thread, results = in_thread(lambda: session.run(fetch))
    wait_until(waits)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    return results[0]


def test_a_shared_iterator_outlives_the_session_that_waits_for_it() -> None:
    with hr.Graph().as_default():
        first, second = two_sessions("outlived")
        queue = hr.FIFOQueue(10, [hr.int64], shapes=[[]], shared_name="queue")
        value = hr.placeholder(hr.int64, [])
        put = queue.enqueue(value)
        begun = threading.Event()

        def tell(x: Any) -> Any:
            begun.set()
            return x

        dataset = hr.data.Dataset.range(100).map(
            lambda x: hr.py_func(tell, [x], hr.int64, stateful=True) * 0 + queue.dequeue()
        )
        iterator = hr.data.make_initializable_iterator(dataset, shared_name="iterator")
        following = iterator.get_next()
        first.run(iterator.initializer)
        error = closed_while_waiting(first, following, begun.is_set)
        assert isinstance(error, hr.errors.CancelledError)
        # The function of the closed session still waits, and what it makes goes to the other.
        second.run(put, {value: 7})
        assert second.run(following) == 7
        second.run(iterator.initializer)
        second.run(put, {value: 8})
        assert second.run(following) == 8
        hr.Session.reset("local://outlived")
        second.close()


def numbers(cleaned: list[str]) -> Iterator[int]:
    try:
        yield from range(1000)
    finally:
        cleaned.append(threading.current_thread().name)


@pytest.mark.parametrize("ends", ["close", "initializer", "reset", "dropped"])
def test_a_generator_that_ends_early_cleans_up(ends: str) -> None:
    cleaned: list[str] = []
    with hr.Graph().as_default():
        target = "local://cleans" if ends == "reset" else ""
        session = hr.Session(target)
        dataset = hr.data.Dataset.from_generator(lambda: numbers(cleaned), hr.int32, [])
        iterator = hr.data.make_initializable_iterator(dataset.prefetch(2))
        following = iterator.get_next()
        session.run(iterator.initializer)
        assert session.run(following) == 0
        assert not cleaned
        if ends == "close":
            session.close()
        elif ends == "initializer":
            session.run(iterator.initializer)
        elif ends == "reset":
            hr.Session.reset(target)
        else:
            session.run(following)
            del session
        wait_until(lambda: bool(cleaned))
    assert cleaned != [threading.main_thread().name]


def test_a_shared_generator_cleans_up_after_its_session() -> None:
    cleaned: list[str] = []
    with hr.Graph().as_default():
        first, second = two_sessions("generates")
        dataset = hr.data.Dataset.from_generator(lambda: numbers(cleaned), hr.int32, [])
        iterator = hr.data.make_initializable_iterator(dataset, shared_name="numbers")
        following = iterator.get_next()
        first.run(iterator.initializer)
        assert first.run(following) == 0
        first.close()
        assert second.run(following) == 1
        assert not cleaned
        hr.Session.reset("local://generates")
        wait_until(lambda: bool(cleaned))
        second.close()


def stage() -> tuple[Any, Any]:
    types = [hr.int32]
    put = hr.raw_ops.Stage(values=[hr.constant(7)], shared_name="stage")
    return put, hr.raw_ops.Unstage(dtypes=types, shared_name="stage")[0]


def queue() -> tuple[Any, Any]:
    made = hr.FIFOQueue(10, [hr.int32], shapes=[[]], shared_name="queue")
    return made.enqueue(7), made.dequeue()


def accumulator() -> tuple[Any, Any]:
    made = hr.ConditionalAccumulator(hr.float32, shape=[], shared_name="accumulator")
    return made.apply_grad(7.0), made.take_grad(1)


def barrier() -> tuple[Any, Any]:
    handle = hr.raw_ops.Barrier(component_types=[hr.int32], shapes=[[]], shared_name="barrier")
    put = hr.raw_ops.BarrierInsertMany(
        handle=handle, keys=["a"], values=[7], component_index=0
    )  # fmt: skip
    taken = hr.raw_ops.BarrierTakeMany(
        handle=handle, num_elements=1, component_types=[hr.int32]
    )  # fmt: skip
    return put, hr.reshape(taken.values[0], [])


@pytest.mark.parametrize("make", [stage, queue, accumulator, barrier])
def test_a_wait_that_ends_with_its_session_leaves_the_resource_to_others(make: Any) -> None:
    with hr.Graph().as_default():
        name = f"left-{make.__name__}"
        first, second = two_sessions(name)
        put, taken = make()
        begun = threading.Event()
        mark = hr.py_func(lambda: begun.set(), [], [], stateful=True)
        with hr.control_dependencies([mark]):
            fetch = hr.identity(taken)
        error = closed_while_waiting(first, fetch, begun.is_set)
        assert isinstance(error, hr.errors.CancelledError | RuntimeError)
        second.run(put)
        assert second.run(taken) == 7
        second.close()
