"""Steps as their master and its clients see them; the workers are sockets of the test.

Modules: native/step.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from frames import (
    ABORT,
    CALL,
    DEAD,
    DONE,
    FEED,
    FETCH,
    RUN,
    TENSOR,
    TRACED,
    Frame,
    RawPeer,
    array_of,
    done_text,
    tensor,
)
from linked_endpoints import LATE_S, connect

from headrace.distributed.native.endpoint import Endpoint, Step
from headrace.formats import errors

FLOAT, INT32, RESOURCE = 1, 3, 20
SESSION = 1 << 50
NAMES = {21: "/job:ps/replica:0/task:0", 22: "/job:ps/replica:0/task:1"}


class Cluster:
    """A master, and workers that the test plays."""

    def __init__(self) -> None:
        self.master = Endpoint("/job:chief/replica:0/task:0", 11)
        self.workers = [RawPeer(self.master, number, name) for number, name in NAMES.items()]

    def step(self, n: int = 2, feeds: int = 1, fetches: Any = (7,)) -> Step:
        """Feed i goes to worker i % n, over edge 100 + i."""
        participants = [(w.incarnation, w.name, 40 + i) for i, w in enumerate(self.workers[:n])]
        fed = [(100 + i, i, i % n) for i in range(feeds)]
        return self.master.make_step(SESSION, participants, fed, fetches, [FLOAT] * feeds)

    def close(self) -> None:
        self.master.close()
        for worker in self.workers:
            worker.socket.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


class Calling(threading.Thread):
    """A thread that runs a step."""

    def __init__(self, step: Step, values: Any = (), **options: Any) -> None:
        super().__init__()
        self._call = lambda: step.run(values, **options)
        self.result: Any = None
        self.error: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self._call()
        except errors.OpError as error:
            self.error = error

    def end(self) -> Any:
        self.join(LATE_S)
        assert not self.is_alive()
        return self.error


def reply(order: Frame, kind: int, **fields: Any) -> Frame:
    return Frame(kind, session=order.session, step=order.step, **fields)


def fetched(order: Frame, edge: int, value: Any) -> Frame:
    return reply(order, TENSOR, flags=FETCH, edge=edge, payload=tensor(np.float32(value), FLOAT))


def test_a_step_sends_feeds_and_orders_and_returns_fetches(cluster: Cluster) -> None:
    step = cluster.step(feeds=3, fetches=[7, 8, 7, -2])
    calling = Calling(step, [np.float32(i) for i in range(3)], traced=True)
    first, second = cluster.workers
    fed = [first.receive(), first.receive(), second.receive()]
    assert [(f.type, f.edge, float(array_of(f.payload))) for f in fed] == [
        (TENSOR, 100, 0.0),
        (TENSOR, 102, 2.0),
        (TENSOR, 101, 1.0),
    ]
    orders = [first.receive(), second.receive()]
    assert [(o.type, o.flags, o.session, o.edge) for o in orders] == [
        (RUN, TRACED, SESSION, 40),
        (RUN, TRACED, SESSION, 41),
    ]
    assert {o.step for o in orders} == {fed[0].step}
    first.send(
        fetched(orders[0], 7, [1.0, 2.0]), reply(orders[0], DONE, payload=done_text("", "", b"one"))
    )
    second.send(
        fetched(orders[1], 8, 3.0), reply(orders[1], DONE, payload=done_text("", "", b"two"))
    )
    assert calling.end() is None
    (one, two, again, fed_itself), metadata = calling.result
    assert one.tolist() == again.tolist() == [1.0, 2.0] and two == 3.0 and fed_itself == 1.0
    one[0] = 5.0
    assert again[0] == 1.0
    assert metadata == b"onetwo"
    assert cluster.master.n_steps == 0


def test_the_first_failure_is_the_steps_and_the_others_abort(cluster: Cluster) -> None:
    calling = Calling(cluster.step(feeds=0))
    first, second = cluster.workers
    order, other = first.receive(), second.receive()
    first.send(reply(order, DONE, extra=3, payload=done_text("layer/a", "it is wrong")))
    abort = second.receive()
    assert (abort.type, abort.step, abort.extra, abort.payload) == (
        ABORT,
        other.step,
        3,
        b"it is wrong",
    )
    second.send(reply(other, DONE, extra=1, payload=done_text("b", "cancelled")))
    error = calling.end()
    assert isinstance(error, errors.InvalidArgumentError)
    assert (str(error), error.node_name) == ("it is wrong", "layer/a")


def test_an_end_that_a_worker_does_not_report_is_not_waited_for_after_a_failure(
    cluster: Cluster,
) -> None:
    calling = Calling(cluster.step(feeds=0))
    order = cluster.workers[0].receive()
    cluster.workers[0].send(reply(order, DONE, extra=5, payload=done_text("", "not there")))
    assert isinstance(calling.end(), errors.NotFoundError)
    late = cluster.workers[1]
    order = late.receive()
    late.send(fetched(order, 7, 1.0), reply(order, DONE))  # it is ignored
    check_alive(cluster)


def check_alive(cluster: Cluster) -> None:
    """Further steps run."""
    calling = Calling(cluster.step(feeds=0))
    for i, worker in enumerate(cluster.workers):
        while (order := worker.receive()).type != RUN:
            pass
        worker.send(*[fetched(order, 7, 2.0)] * (i == 0), reply(order, DONE))
    assert calling.end() is None and calling.result[0] == [2.0]


def test_a_lost_worker_ends_the_step_with_its_task_and_reason(cluster: Cluster) -> None:
    calling = Calling(cluster.step(feeds=0))
    order = cluster.workers[0].receive()
    cluster.workers[1].receive()
    cluster.workers[1].close()
    abort = cluster.workers[0].receive()
    assert (abort.type, abort.extra) == (ABORT, 14)
    cluster.workers[0].send(reply(order, DONE, extra=14))
    error = calling.end()
    assert isinstance(error, errors.UnavailableError)
    assert str(error) == f"{NAMES[22]} is not available: the connection was closed by the peer"
    assert cluster.step().lost() == [22]
    with pytest.raises(errors.UnavailableError, match=NAMES[22]) as caught:
        cluster.step(feeds=0).run([])
    assert caught.value.details == "not started"


def test_a_step_that_takes_too_long_is_aborted(cluster: Cluster) -> None:
    calling = Calling(cluster.step(n=1, feeds=0), timeout_ms=30)
    order = cluster.workers[0].receive()
    abort = cluster.workers[0].receive()
    assert (abort.type, abort.step, abort.extra) == (ABORT, order.step, 4)
    error = calling.end()
    assert isinstance(error, errors.DeadlineExceededError) and "30 ms" in str(error)


def test_an_interrupt_ends_the_step(cluster: Cluster) -> None:
    step = cluster.step(n=1, feeds=0)
    worker = cluster.workers[0]
    aborts = []

    def play() -> None:
        order = worker.receive()
        _thread.interrupt_main()
        aborts.append(worker.receive())
        worker.send(reply(order, DONE, extra=1))

    thread = threading.Thread(target=play)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        step.run([])
    thread.join(LATE_S)
    assert (aborts[0].type, aborts[0].payload) == (ABORT, b"the caller was interrupted")
    check_alive(cluster)


def test_values_and_ends_of_others_are_ignored(cluster: Cluster) -> None:
    stranger = RawPeer(cluster.master, 99, "/job:other")
    calling = Calling(cluster.step(n=1, feeds=0))
    worker = cluster.workers[0]
    order = worker.receive()
    for peer in (stranger, cluster.workers[1]):
        peer.send(fetched(order, 7, 5.0), reply(order, DONE, extra=3))
    # They have been read once what was sent behind them has its effect.
    stranger.send(Frame(10))
    assert cluster.master.next_event(LATE_S) == ("lost", 99, "the peer was stopped")
    worker.send(
        fetched(order, 1234, 9.0),
        fetched(order, 7, 1.0),
        fetched(order, 7, 2.0),
        reply(order, DONE),
        reply(order, DONE, extra=3),
    )
    assert calling.end() is None
    assert calling.result[0] == [1.0]
    stranger.socket.close()


@pytest.mark.parametrize(
    ("extra", "payload", "code", "text"),
    [
        (17, b"", 2, ""),
        (-1, b"", 2, ""),
        (1 << 62, done_text("a", "b"), 2, "b"),
        (3, b"1234567", 3, ""),
        (3, b"\xff" * 8, 3, ""),
        (3, b"\x05\0\0\0\0\0\0\0abc", 3, ""),
        (3, done_text("n" * 1000, "m" * 100_000), 3, "m" * 100_000),
        (3, done_text("", "\udcff".encode("utf-8", "surrogatepass").decode("latin-1")), 3, None),
    ],
)
def test_ends_that_are_badly_described(
    cluster: Cluster, extra: int, payload: bytes, code: int, text: str | None
) -> None:
    calling = Calling(cluster.step(n=1, feeds=0))
    order = cluster.workers[0].receive()
    cluster.workers[0].send(reply(order, DONE, extra=extra, payload=payload))
    error = calling.end()
    assert error.error_code == code
    assert text is None or str(error) == text


def test_fetches_without_a_value(cluster: Cluster) -> None:
    worker = cluster.workers[0]
    for frames, kind, text in (
        ([Frame(TENSOR, FETCH | DEAD, edge=7)], errors.InvalidArgumentError, "does not have value"),
        ([], errors.InternalError, "fetch 0 has not come"),
    ):
        calling = Calling(cluster.step(n=1, feeds=0))
        order = worker.receive()
        for frame in frames:
            worker.send(reply(order, frame.type, flags=frame.flags, edge=frame.edge))
        worker.send(reply(order, DONE))
        error = calling.end()
        assert isinstance(error, kind) and text in str(error)


def test_a_run_that_is_fed_and_fetched_by_and_by(cluster: Cluster) -> None:
    step = cluster.step(n=1, feeds=2, fetches=[7, 8, -1])
    running = step.start()
    worker = cluster.workers[0]
    order = worker.receive()
    assert order.type == RUN
    running.feed(1, np.float32(4.0))
    assert array_of(worker.receive().payload) == 4.0
    worker.send(fetched(order, 8, np.full(50_000, 2.0)))
    assert running.fetch(1, 60_000).tolist() == [2.0] * 50_000
    with pytest.raises(errors.InvalidArgumentError, match="fetch 1 was fetched before"):
        running.fetch(1)
    running.feed(0, np.float32(6.0))
    assert running.fetch(2) == 6.0
    for number in (-1, 2):
        with pytest.raises(IndexError):
            running.feed(number, np.float32(1.0))
    with pytest.raises(IndexError):
        running.fetch(3)
    worker.send(fetched(order, 7, 1.0), reply(order, DONE))
    running.finish()
    assert running.fetch(0) == 1.0
    # One that is dropped aborts its step.
    running = step.start()
    while worker.receive().type != RUN:
        pass
    del running
    abort = worker.receive()
    assert (abort.type, abort.payload) == (ABORT, b"the run was abandoned")
    running = step.start()
    running.cancel("that will do")
    with pytest.raises(errors.CancelledError, match="that will do"):
        running.fetch(0)


def test_closing_the_master_ends_its_steps(cluster: Cluster) -> None:
    callings = [Calling(cluster.step(feeds=0)) for _ in range(5)]
    for _ in callings:
        cluster.workers[0].receive()
    cluster.master.close()
    for calling in callings:
        error = calling.end()
        assert isinstance(error, errors.CancelledError) and "was stopped" in str(error)
    with pytest.raises(errors.UnavailableError, match="was stopped"):
        cluster.step(feeds=0).run([])


def test_steps_that_cannot_be_are_rejected(cluster: Cluster) -> None:
    make = cluster.master.make_step
    here = [(21, "a", 1)]
    for arguments, text in (
        ((1, here * 2, [], [], []), "takes part in the step twice"),
        ((1, here, [(0, 1, 0)], [], [FLOAT]), "from feed 1 to participant 0"),
        ((1, here, [(0, 0, 1)], [], [FLOAT]), "from feed 0 to participant 1"),
        ((1, here, [(0, -1, 0)], [], [FLOAT]), "from feed -1"),
        ((1, here, [], [-2], [FLOAT]), "feed 1 is fetched; there are 1"),
        ((1, here, [], [], [RESOURCE]), "DataType 20"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=text):
            make(*arguments)
    step = cluster.step(n=1, feeds=1)
    with pytest.raises(errors.InvalidArgumentError, match="2 values for 1 feeds"):
        step.run([np.float32(1.0)] * 2)
    with pytest.raises(errors.InvalidArgumentError, match="where float32 is expected"):
        step.run([np.int32(1)])
    empty = make(1, [], [], [-1], [FLOAT])
    assert empty.run([np.float32(3.0)]) == ([3.0], b"")
    assert cluster.master.n_steps == 0


# ---- calls of clients ----------------------------------------------------------------------------


@pytest.fixture(params=["local", "uds"])
def client(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    made = Endpoint("client", 5)
    connect(made, cluster.master, request.param)
    yield made
    made.close()


def call_of(client: Endpoint, callable: int, feeds: int = 1, fetches: int = 1) -> Step:
    return client.make_call(11, "the master", 1 << 60, callable, [FLOAT] * feeds, fetches)


def test_a_client_runs_a_callable(cluster: Cluster, client: Endpoint) -> None:
    cluster.master.serve(3, cluster.step(feeds=2, fetches=[8, -1]))
    big = np.arange(30_000, dtype=np.float32)
    calling = Calling(call_of(client, 3, 2, 2), [np.float32(1.0), big], traced=True)
    assert array_of(cluster.workers[1].receive().payload).tolist() == big.tolist()
    orders = []
    for worker in cluster.workers:
        while (order := worker.receive()).type != RUN:
            pass
        assert order.flags == TRACED
        orders.append(order)
    cluster.workers[0].send(fetched(orders[0], 8, big))
    for worker, order in zip(cluster.workers, orders, strict=True):
        worker.send(reply(order, DONE, payload=done_text("", "", b"x")))
    assert calling.end() is None
    assert calling.result[0][0].tolist() == big.tolist() and calling.result[0][1] == 1.0
    assert calling.result[1] == b"xx"
    assert client.n_steps == 0


def test_errors_of_calls(cluster: Cluster, client: Endpoint) -> None:
    worker = cluster.workers[0]
    step = cluster.step(n=1, feeds=1)
    cluster.master.serve(3, step)
    with pytest.raises(errors.AbortedError, match="no callable 4"):
        call_of(client, 4).run([np.float32(1.0)])
    with pytest.raises(errors.InvalidArgumentError, match="feed 0 of the call has no value"):
        call_of(client, 3, 0).run([])
    other = client.make_call(11, "the master", 1, 3, [INT32], 1)
    with pytest.raises(errors.InvalidArgumentError, match="DataType 3, where 1 is expected"):
        other.run([np.int32(1)])
    calling = Calling(call_of(client, 3), [np.float32(1.0)])
    worker.receive()
    order = worker.receive()
    worker.send(reply(order, DONE, extra=9, payload=done_text("node", "no")))
    error = calling.end()
    assert isinstance(error, errors.FailedPreconditionError)
    assert (str(error), error.node_name) == ("no", "node")
    cluster.master.unserve(3)
    with pytest.raises(errors.AbortedError, match="no callable 3"):
        call_of(client, 3).run([np.float32(1.0)])
    cluster.master.serve(3, step)
    worker.close()
    assert cluster.master.next_event(LATE_S)[1] == 21
    with pytest.raises(errors.UnavailableError, match=f"no link to {NAMES[21]}"):
        call_of(client, 3).run([np.float32(1.0)])
    assert cluster.master.n_steps == client.n_steps == 0


def test_a_client_that_is_gone_or_in_a_hurry_ends_its_call(
    cluster: Cluster, client: Endpoint
) -> None:
    worker = cluster.workers[0]
    cluster.master.serve(3, cluster.step(n=1, feeds=0))
    calling = Calling(call_of(client, 3, 0), timeout_ms=30)
    order, abort = worker.receive(), worker.receive()
    assert (abort.type, abort.extra, abort.step) == (ABORT, 4, order.step)
    worker.send(reply(order, DONE, extra=1))
    assert isinstance(calling.end(), errors.DeadlineExceededError)
    calling = Calling(call_of(client, 3, 0))
    worker.receive()
    client.close()
    abort = worker.receive()
    assert (abort.type, abort.extra) == (ABORT, 1)
    assert isinstance(calling.end(), errors.CancelledError)
    worker.send(reply(abort, DONE, extra=1))


def test_a_call_over_a_raw_link(cluster: Cluster) -> None:
    client = RawPeer(cluster.master, 5, "client")
    cluster.master.serve(3, cluster.step(n=1, feeds=1))
    payload = tensor(np.float32(1.0), FLOAT)
    for value in (
        Frame(TENSOR, FEED | DEAD, 8, 1),
        Frame(TENSOR, FEED, 8, 1, edge=-1, payload=payload),
    ):
        client.send(value, Frame(CALL, 0, 8, 1, edge=3))
        answer = client.receive()
        assert (answer.type, answer.session, answer.step, answer.extra) == (DONE, 8, 1, 3)
    value = Frame(TENSOR, FEED, 8, 2, payload=payload)
    # The order comes twice, and a value after it.
    client.send(value, value, *[Frame(CALL, 0, 8, 2, edge=3)] * 2, value)
    worker = cluster.workers[0]
    worker.receive()
    order = worker.receive()
    worker.send(fetched(order, 7, 2.0), reply(order, DONE))
    assert array_of(client.receive().payload) == 2.0
    assert client.receive().type == DONE
    # A call is ended before its order.
    client.send(Frame(TENSOR, FEED, 8, 3, payload=payload), Frame(ABORT, 0, 8, 3))
    client.send(Frame(CALL, 0, 8, 3, edge=3))
    assert client.receive().extra == 3
    client.close()
