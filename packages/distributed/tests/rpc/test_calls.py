"""Calls between processes: errors, deadlines, repeated requests, threads."""

from __future__ import annotations

import doctest
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from headrace.distributed.cluster import device_filters
from headrace.distributed.master import graph_feeds
from headrace.distributed.rpc import planes
from headrace.distributed.rpc.calls import RemoteService, new_request_id
from headrace.distributed.rpc.channels import SERVER_OPTIONS, Channels
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.handlers import Responses, service_handler
from headrace.distributed.rpc.settings import Settings
from headrace.distributed.rpc.token import TokenCheck
from headrace.formats import errors
from headrace.formats.proto.worker_service_pb2 import LiveTasksRequest, LiveTasksResponse

SERVICE = "headrace.Test"


@pytest.mark.parametrize("module", [device_filters, graph_feeds, planes])
def test_examples_of_docstrings(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


class Service:
    """A service whose one method does what `act` does."""

    def __init__(self, started: bool = True) -> None:
        self.act: Any = lambda request, context: LiveTasksResponse()
        self.server = grpc.server(
            DaemonThreads("test"), options=SERVER_OPTIONS, interceptors=[TokenCheck(b"")]
        )
        method = lambda request, context: self.act(request, context)  # noqa: E731
        self.server.add_generic_rpc_handlers(
            (service_handler(SERVICE, {"Act": (method, LiveTasksRequest)}, {}),)
        )
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        if started:
            self.server.start()
        self.channels = Channels(Settings())
        self.remote = RemoteService(self.channels, SERVICE, "/job:ps/task:3", self.address)

    def call(self, timeout_s: float = 30.0, method: str = "Act", repeat: bool = False) -> Any:
        deadline = Deadline.after(timeout_s)
        return self.remote.call(method, LiveTasksRequest(), LiveTasksResponse, deadline, repeat)

    def close(self) -> None:
        self.channels.close()
        self.server.stop(None).wait()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.close()


def raising(error: BaseException) -> Any:
    def act(request: Any, context: Any) -> Any:
        raise error

    return act


@pytest.mark.parametrize("code", range(1, 17))
def test_errors_of_handlers_come_as_they_are(service: Service, code: int) -> None:
    service.act = raising(errors.from_code(code, "it is wrong: é", "node/1"))
    with pytest.raises(errors.exception_type_from_error_code(code)) as caught:
        service.call()
    assert caught.value.message == "it is wrong: é"
    assert caught.value.node_name == "node/1"


def test_an_error_without_a_node_has_none(service: Service) -> None:
    service.act = raising(errors.NotFoundError(None, None, "no such thing"))
    with pytest.raises(errors.NotFoundError, match="^no such thing$") as caught:
        service.call()
    assert caught.value.node_name is None


def test_a_long_message_is_cut_but_comes(service: Service) -> None:
    service.act = raising(errors.InternalError(None, None, "é" * 200_000))
    with pytest.raises(errors.InternalError) as caught:
        service.call()
    assert 10_000 < len(caught.value.message) < 200_000


def test_a_fault_of_a_handler_is_internal_and_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.act = raising(KeyError("oops"))
    with pytest.raises(errors.InternalError, match="/headrace.Test/Act.*oops"):
        service.call()
    assert "/headrace.Test/Act failed" in caplog.text


def test_errors_of_the_connection_name_task_address_and_method(service: Service) -> None:
    service.act = lambda request, context: threading.Event().wait(20.0)
    where = f"/job:ps/task:3 at {service.address}, Act"
    with pytest.raises(errors.DeadlineExceededError, match=where):
        service.call(0.2)
    with pytest.raises(errors.DeadlineExceededError, match=where):
        service.call(0.0)
    where = f"/job:ps/task:3 at {service.address}, Missing"
    with pytest.raises(errors.UnimplementedError, match=where):
        service.call(method="Missing")
    service.server.stop(None).wait()
    with pytest.raises(errors.UnavailableError, match=f"{service.address}.*"):
        service.call(0.5)


def test_a_call_is_repeated_until_the_service_is_there() -> None:
    late = Service(started=False)
    late.act = lambda request, context: LiveTasksResponse(index=[1])
    results: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    late.remote.address = address
    with pytest.raises(errors.UnavailableError, match=f"{address}.*refused"):
        late.call(0.3, repeat=True)
    caller = threading.Thread(target=lambda: results.append(late.call(repeat=True)))
    caller.start()
    late.server.add_insecure_port(address)
    late.server.start()
    caller.join(30.0)
    late.close()
    assert [list(response.index) for response in results] == [[1]]


def test_what_a_handler_finds_unavailable_is_not_repeated(service: Service) -> None:
    asked: list[int] = []

    def act(request: Any, context: Any) -> Any:
        asked.append(1)
        raise errors.UnavailableError(None, None, "a third one is gone")

    service.act = act
    with pytest.raises(errors.UnavailableError, match="^a third one is gone$"):
        service.call(repeat=True)
    assert asked == [1]


def test_a_message_of_many_megabytes_passes(service: Service) -> None:
    service.act = lambda request, context: LiveTasksResponse(index=range(3_000_000))
    assert len(service.call().index) == 3_000_000


# ---- repeated requests


def test_a_repeated_request_gets_the_first_response_or_error() -> None:
    responses, made = Responses(), []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [responses.once("a", 5, make) for _ in range(3)] == [1, 1, 1]
    assert responses.once("b", 5, make) == 2
    assert responses.once("a", 6, make) == 3
    assert responses.once("a", 0, make) == 4
    assert responses.once("a", 0, make) == 5

    def fail() -> int:
        made.append(1)
        raise errors.NotFoundError(None, None, "gone")

    for _ in range(2):
        with pytest.raises(errors.NotFoundError, match="gone"):
            responses.once("a", 7, fail)
    assert len(made) == 6


def test_a_request_that_is_repeated_meanwhile_waits_for_the_first() -> None:
    responses = Responses()
    begun, go = threading.Event(), threading.Event()
    made: list[int] = []
    results: list[int] = []

    def make() -> int:
        begun.set()
        go.wait(20.0)
        made.append(1)
        return len(made)

    threads = [
        threading.Thread(target=lambda: results.append(responses.once("a", 9, make)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    begun.wait(20.0)
    go.set()
    for thread in threads:
        thread.join(20.0)
    assert results == [1, 1, 1, 1]


def test_old_responses_are_forgotten() -> None:
    responses = Responses()
    for number in range(1, 3000):
        responses.once("a", number, lambda: None)
    assert len(responses._futures) <= 1024


def test_request_numbers_are_positive_and_differ() -> None:
    numbers = {new_request_id() for _ in range(1000)}
    assert len(numbers) == 1000
    assert all(0 < number < 1 << 63 for number in numbers)


# ---- threads


def test_calls_run_at_once_and_threads_are_used_again() -> None:
    threads = DaemonThreads("test-pool")
    barrier = threading.Barrier(20)
    calls = [threads.submit(barrier.wait, 20.0) for _ in range(20)]
    assert sorted(call.result(20.0) for call in calls) == list(range(20))
    end = time.monotonic() + 20.0
    while threads._idle < 20 and time.monotonic() < end:
        time.sleep(0.001)  # a thread has a result before it waits for the next call
    names = set()
    for _ in range(50):
        names.add(threads.submit(threading.get_ident).result(20.0))
    assert len(names) <= 20


def test_calls_beyond_the_limit_wait() -> None:
    threads = DaemonThreads("test-pool", limit=2)
    go = threading.Event()
    running = [threads.submit(go.wait, 20.0) for _ in range(2)]
    waiting = threads.submit(lambda: 5)
    assert not waiting.done()
    go.set()
    assert waiting.result(20.0) == 5
    assert all(call.result(20.0) for call in running)


def test_errors_reach_who_waits_and_the_thread_goes_on() -> None:
    threads = DaemonThreads("test-pool", limit=1)
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(20.0)
    assert threads.submit(lambda: 7).result(20.0) == 7


def test_nothing_is_taken_after_the_shutdown() -> None:
    threads = DaemonThreads("test-pool")
    threads.shutdown()
    with pytest.raises(RuntimeError):
        threads.submit(lambda: 1)


def test_idle_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.distributed.rpc.daemon_threads._IDLE_S", 0.05)
    threads = DaemonThreads("test-idle")
    found = [threads.submit(threading.current_thread) for _ in range(3)]
    for call in found:
        call.result(20.0).join(20.0)
        assert not call.result().is_alive()
    assert threads.submit(lambda: 8).result(20.0) == 8
