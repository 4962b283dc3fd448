"""Steps as the task sees them on whose worker a partition runs; master and other tasks are sockets
of the test.

Modules: native/endpoint.
"""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator

import pytest
from frames import (
    ABORT,
    CALL,
    DEAD,
    DONE,
    FETCH,
    GIVEN_UP,
    TENSOR,
    TRACED,
    Frame,
    RawPeer,
    done_text,
)
from frames import RUN as RUN_FRAME
from linked_endpoints import LATE_S, linked, sockets
from stub_worker import Run, StubWorker

from headrace.distributed.native.endpoint import Endpoint
from headrace.formats import errors

NAME, MASTER, PEER = "/job:ps/task:0", "/job:chief/task:0", "/job:ps/task:1"
SESSION, STEP, PARTITION = 7, 8, 3
HERE_FLAG, TRACED_FLAG = 1, 2


class Task:
    """An endpoint with a worker, a master and another task."""

    def __init__(self) -> None:
        self.worker = StubWorker()
        self.endpoint = Endpoint(NAME, 11, self.worker)
        self.master = RawPeer(self.endpoint, 22, MASTER)
        self.peer = RawPeer(self.endpoint, 33, PEER)
        self.endpoint.bind(SESSION, PARTITION, [(0, 0), (1, 33)], [(33, PEER)])

    def order(self, **fields: int) -> None:
        self.master.send(
            Frame(RUN_FRAME, session=SESSION, **{"edge": PARTITION, "step": STEP, **fields})
        )

    def start(self) -> Run:
        """A run in progress."""
        self.order()
        return self.worker.next_run()

    def dead_value(self, edge: int, flags: int = 0) -> Frame:
        return Frame(TENSOR, DEAD | flags, SESSION, STEP, edge)

    def reply(self) -> tuple[int, str, str]:
        """Code, node and message of the end that the master gets."""
        frame = self.master.receive()
        assert (frame.type, frame.session, frame.step) == (DONE, SESSION, STEP)
        if not frame.payload:
            return frame.extra, "", ""
        sizes = [int.from_bytes(frame.payload[i : i + 4], "little") for i in (0, 4)]
        node = frame.payload[8 : 8 + sizes[0]].decode()
        return frame.extra, node, frame.payload[8 + sizes[0] :][: sizes[1]].decode()

    def read_all(self, peer: RawPeer) -> None:
        """Returns once the endpoint has read what a peer has sent."""
        peer.send(Frame(CALL, 0, 1, 1))
        while peer.receive().type != DONE:
            pass

    def close(self) -> None:
        self.endpoint.close()
        self.master.socket.close()
        self.peer.socket.close()


@pytest.fixture
def task() -> Iterator[Task]:
    made = Task()
    yield made
    made.close()


def test_a_run_and_its_end(task: Task) -> None:
    for flags, expected in ((0, HERE_FLAG), (TRACED, HERE_FLAG | TRACED_FLAG)):
        task.order(flags=flags)
        run = task.worker.next_run()
        assert (run.partition, run.flags) == (PARTITION, expected)
        run.done(trace=b"trace" if flags else b"")
        frame = task.master.receive()
        assert (frame.type, frame.extra, frame.step) == (DONE, 0, STEP)
        assert frame.payload == (done_text("", "", b"trace") if flags else b"")
    assert task.endpoint.step_counts() == {"running": 0, "waiting": 0, "ended": 0}


def test_an_error_of_a_run_and_word_of_it_to_those_it_sends_to(task: Task) -> None:
    task.start().done(3, "layer/node", "it is wrong")
    assert task.reply() == (3, "layer/node", "it is wrong")
    word = task.peer.receive()
    assert (word.type, word.flags, word.step) == (ABORT, GIVEN_UP, STEP)
    # What comes late is dropped.
    task.peer.send(task.dead_value(5))
    task.read_all(task.peer)
    assert task.endpoint.step_counts() == {"running": 0, "waiting": 0, "ended": 1}


def test_errors_that_are_too_long_are_cut(task: Task) -> None:
    task.start().done(3, "n" * 100_000, "m" * 100_000)
    assert task.reply() == (3, "n" * 65_536, "m" * 65_536)


@pytest.mark.parametrize("fields", [{"edge": 4}, {"session": SESSION + 1}])
def test_partitions_that_are_not_there(task: Task, fields: dict[str, int]) -> None:
    task.master.send(
        Frame(RUN_FRAME, **{"session": SESSION, "edge": PARTITION, "step": STEP, **fields})
    )
    frame = task.master.receive()
    assert (frame.type, frame.extra) == (DONE, 10)
    text = f"{NAME} has no partition {fields.get('edge', PARTITION)} of this session".encode()
    assert text in frame.payload
    assert task.worker.runs.empty()


def test_an_order_without_a_link_to_another_task(task: Task) -> None:
    task.peer.close()
    assert task.endpoint.next_event(LATE_S)[1] == 33
    task.order()
    assert task.reply() == (14, "", f"{PEER} is not available: {NAME} has no link to it")


def test_an_order_that_comes_twice_runs_once(task: Task) -> None:
    task.order()
    task.order()
    run = task.worker.next_run()
    task.read_all(task.master)
    assert task.worker.runs.empty()
    run.done()
    assert task.reply() == (0, "", "")


def test_values_come_before_and_after_the_order(task: Task) -> None:
    task.peer.send(task.dead_value(5), task.dead_value(6))
    task.read_all(task.peer)
    assert task.endpoint.step_counts()["waiting"] == 1
    run = task.start()
    assert task.endpoint.step_counts() == {"running": 1, "waiting": 0, "ended": 0}
    for edge in (6, 5):
        run.recv(edge)
        assert run.received.get(timeout=LATE_S) == (edge, 0, "", 1)
    run.recv(7)
    assert run.received.empty()
    task.peer.send(task.dead_value(7))
    assert run.received.get(timeout=LATE_S) == (7, 0, "", 1)
    run.done()
    assert task.reply()[0] == 0


def test_values_go_to_the_master_to_other_tasks_or_nowhere(task: Task) -> None:
    run = task.start()
    assert [run.send_dead(edge) for edge in (0, 1, 2, -1, 1 << 40)] == [0, 0, 13, 13, 13]
    fetched, sent = task.master.receive(), task.peer.receive()
    assert (fetched.type, fetched.flags, fetched.edge) == (TENSOR, FETCH | DEAD, 0)
    assert (sent.type, sent.flags, sent.edge) == (TENSOR, DEAD, 1)
    run.done()
    assert task.reply()[0] == 0


def test_an_abort_before_the_order(task: Task) -> None:
    task.peer.send(task.dead_value(5))
    task.read_all(task.peer)
    task.master.send(Frame(ABORT, 0, SESSION, STEP, extra=4, payload=b"time is over"))
    task.order()
    assert task.reply() == (4, "", "time is over")
    assert task.worker.runs.empty()


def test_an_abort_of_a_run(task: Task) -> None:
    run = task.start()
    run.recv(5)
    task.master.send(Frame(ABORT, 0, SESSION, STEP, extra=4, payload=b"time is over"))
    assert run.received.get(timeout=LATE_S) == (5, 4, "time is over", 0)
    assert task.worker.next_cancel() == (run.number, 4, "time is over")
    run.recv(6)  # from now on, too
    assert run.received.get(timeout=LATE_S) == (6, 4, "time is over", 0)
    run.done(1, "recv", "cancelled")
    assert task.reply() == (4, "", "time is over")


@pytest.mark.parametrize("extra", [0, -1, 17, 1 << 40])
def test_an_abort_of_an_unknown_code_cancels(task: Task, extra: int) -> None:
    run = task.start()
    task.master.send(Frame(ABORT, 0, SESSION, STEP, extra=extra))
    assert task.worker.next_cancel() == (run.number, 1, "")
    run.done(1)
    assert task.reply()[0] == 1


def test_an_error_before_the_abort_is_the_runs_own(task: Task) -> None:
    run = task.start()
    run.abort()  # as the executor does at the first error
    task.master.send(Frame(ABORT, 0, SESSION, STEP, extra=4, payload=b"late"))
    task.worker.next_cancel()
    run.done(3, "node", "it is wrong")
    assert task.reply() == (3, "node", "it is wrong")


def test_only_the_master_aborts_a_run(task: Task) -> None:
    run = task.start()
    task.peer.send(Frame(ABORT, 0, SESSION, STEP, extra=4), Frame(ABORT, GIVEN_UP, SESSION, STEP))
    task.read_all(task.peer)
    assert task.worker.cancels.empty()
    run.done()
    assert task.reply()[0] == 0


def test_a_lost_task_ends_the_runs_that_depend_on_it(task: Task) -> None:
    run = task.start()
    run.recv(5)
    task.peer.close()
    text = f"{PEER} is not available: the connection was closed by the peer"
    assert run.received.get(timeout=LATE_S) == (5, 14, text, 0)
    assert task.worker.next_cancel() == (run.number, 14, text)
    run.done(14, "recv", text)
    assert task.reply() == (14, "", text)


def test_a_send_over_a_lost_link_names_the_task(task: Task) -> None:
    run = task.start()
    task.peer.close()
    task.worker.next_cancel()
    assert run.send_dead(1) == 14
    run.done(14, "send", "the value could not be sent")
    code, _, message = task.reply()
    assert code == 14 and PEER in message


def test_a_lost_master_ends_its_runs(task: Task) -> None:
    run = task.start()
    task.master.close()
    assert task.worker.next_cancel()[:2] == (run.number, 14)
    run.send_dead(0)
    run.done(1)  # it is not reported to the master
    assert task.endpoint.step_counts()["running"] == 0


def test_orders_and_aborts_at_once(task: Task) -> None:
    """In any order of the two, the step ends, and a run that has begun is cancelled."""
    for step in range(200):
        order = Frame(RUN_FRAME, 0, SESSION, step, PARTITION)
        abort = Frame(ABORT, 0, SESSION, step, extra=1)
        task.master.send(*((order, abort) if step % 2 else (abort, order)))
        if step % 2:
            run = task.worker.next_run()
            assert task.worker.next_cancel()[0] == run.number
            run.done(1)
        frame = task.master.receive()
        assert (frame.type, frame.step, frame.extra) == (DONE, step, 1)
    assert task.endpoint.step_counts() == {"running": 0, "waiting": 0, "ended": 200}


def test_closing_while_a_run_is_in_progress(task: Task) -> None:
    run = task.start()
    run.recv(5)
    task.endpoint.close()
    assert task.worker.next_cancel()[0] == run.number
    assert run.received.get(timeout=LATE_S)[1] == 14
    assert run.send_dead(0) == 14
    run.done(1)


def test_a_run_may_end_after_its_endpoint_and_keeps_the_worker() -> None:
    task = Task()
    run = task.start()
    worker = weakref.ref(task.worker)
    for peer in (task.master, task.peer):
        peer.socket.close()
    del task, peer
    gc.collect()
    assert worker() is not None
    worker().runs.queue.clear()
    run.done(1)
    gc.collect()
    assert worker() is None


def test_a_busy_thread_is_no_silence() -> None:
    """While the thread that reads is busy, the task sends signs of life and loses no peer."""
    worker = StubWorker()
    a = Endpoint("/job:a", 11, worker, heartbeat_s=0.05, dead_after_s=1.0)
    b = Endpoint("/job:b", 22, heartbeat_s=0.05, dead_after_s=1.0)
    one, other = sockets("uds")
    a.add_socket(one.detach(), 22, "/job:b", False)
    b.add_socket(other.detach(), 11, "/job:a", False)
    busy = threading.Event()

    def compute() -> None:
        if not busy.is_set():
            busy.set()
            time.sleep(3.0)

    worker.on_deliveries = compute
    assert busy.wait(LATE_S)  # with the next sign of life of b
    assert b.next_event(3.5) is None and a.next_event(0.0) is None
    worker.on_deliveries = lambda: None
    assert a.has_link(22) and b.has_link(11)
    a.close()
    b.close()


def test_a_worker_of_another_abi_is_rejected() -> None:
    with pytest.raises(errors.FailedPreconditionError, match="ABI 2, this package needs 1"):
        Endpoint(NAME, 11, StubWorker(abi=2))
    with linked("local") as (a, _):
        a.unbind(77)  # nothing is there
