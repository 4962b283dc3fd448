"""Operations that wait end with their step, and hold no thread until then.

Modules: state/synchronisation/waiting.
"""

from __future__ import annotations

import threading

import pytest
from child_process import output
from concurrently import wait_until_idle

import headrace.graph as hr
from headrace.formats.errors import CancelledError, DeadlineExceededError
from headrace.graph.ops.synchronisation.barriers import Barrier
from headrace.graph.ops.synchronisation.staging_areas import MapStagingArea, StagingArea


def _waiting_operations() -> tuple[list[hr.Operation], list[hr.Operation]]:
    """Returns operations to run first, and operations that wait for ever after them."""
    dense, sparse = (
        hr.ConditionalAccumulator(hr.float32),
        hr.SparseConditionalAccumulator(hr.float32),
    )
    barrier = Barrier([hr.float32], [[]])
    area, full = StagingArea([hr.float32]), StagingArea([hr.float32], capacity=1)
    keyed, full_keyed = MapStagingArea([hr.float32]), MapStagingArea([hr.float32], capacity=1)
    one = hr.constant(1.0)
    queue, empty = (hr.FIFOQueue(1, hr.float32, [[]]) for _ in range(2))
    locked = hr.raw_ops.MutexV2(shared_name="locked")
    lock = hr.raw_ops.MutexLock(mutex=locked)
    with hr.control_dependencies([lock]):
        locked_twice = hr.raw_ops.MutexLock(mutex=locked)
    with hr.control_dependencies([locked_twice]):
        hold = hr.raw_ops.ConsumeMutexLock(mutex_lock=lock)
    waits = [
        dense.take_grad(1),
        sparse.take_grad(1)[1],
        barrier.take_many(1)[1],
        area.get()[0],
        area.peek(0)[0],
        full.put([one]),
        keyed.get(3)[1][0],
        keyed.get()[0],
        keyed.peek(3)[0],
        full_keyed.put(2, [one], [0]),
        queue.enqueue(one),
        empty.dequeue_many(2),
        hold,
    ]
    first = [full.put([one]), full_keyed.put(1, [one], [0]), queue.enqueue(one)]
    return first, [getattr(w, "op", w) for w in waits]


def test_waiting_operations_end_at_the_time_limit() -> None:
    first, waits = _waiting_operations()
    with hr.Session() as session:
        session.run(first)
        for op in waits:
            with pytest.raises(DeadlineExceededError):
                session.run(op, options=hr.RunOptions(timeout_in_ms=15))


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_waiting_operations_end_with_the_session(ending: str) -> None:
    first, waits = _waiting_operations()
    session = hr.Session(f"local://waiting-{ending}")
    session.run(first)
    errors: list[BaseException] = []

    def wait(op: hr.Operation) -> None:
        try:
            session.run(op)
        except BaseException as error:  # noqa: BLE001 - compared below
            errors.append(error)

    threads = [threading.Thread(target=wait, args=(op,)) for op in waits]
    for thread in threads:
        thread.start()
    wait_until_idle()
    assert not errors
    if ending == "close":
        session.close()
    else:
        hr.Session.reset(f"local://waiting-{ending}")
    for thread in threads:
        thread.join(120)
    assert {type(error) for error in errors} == {CancelledError} and len(errors) == len(waits)
    session.close()


def test_waiting_operations_hold_no_thread_beside_their_own() -> None:
    printed = output(
        """
        from headrace.graph.ops.synchronisation.staging_areas import StagingArea
        area = StagingArea([hr.float32])
        gets = [area.get()[0] for _ in range(300)]
        puts = hr.group(*[area.put([hr.constant(1.0)]) for _ in range(300)])
        with hr.Session() as session:
            session.run(hr.constant(1.0) + 1.0)
            before = len(os.listdir("/proc/self/task"))
            thread = threading.Thread(target=lambda: print(sum(session.run(gets))))
            thread.start()
            wait_until_idle()
            print(len(os.listdir("/proc/self/task")) - before <= 4)
            session.run(puts)
            thread.join()
        """
    )
    assert printed == "True\n300.0\n"


def test_ctrl_c_ends_a_waiting_operation() -> None:
    printed = output(
        """
        take = hr.ConditionalAccumulator(hr.float32).take_grad(1)
        with hr.Session() as session:
            def interrupt():
                wait_until_idle()  # until the main thread waits
                os.kill(os.getpid(), signal.SIGINT)
            try:
                threading.Thread(target=interrupt).start()
                session.run(take)
            except KeyboardInterrupt:
                print("interrupted")
            print(session.run(hr.constant(1)))
        """
    )
    assert printed == "interrupted\n1\n"
