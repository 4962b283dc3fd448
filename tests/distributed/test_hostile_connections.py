"""Garbage, half-open connections and wrong tokens: they are refused, and the server lives."""

from __future__ import annotations

import logging
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from served_cluster import InProcess, environment, in_process

import headrace.graph as hr
from headrace.distributed.rpc import hello
from headrace.distributed.rpc.calls import RemoteService
from headrace.distributed.rpc.channels import Channels
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.hello import Party
from headrace.distributed.rpc.listener import dial_socket
from headrace.distributed.rpc.settings import Settings
from headrace.formats import errors
from headrace.formats.proto.worker_service_pb2 import GetStatusRequest, GetStatusResponse


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as made:
        yield made


@pytest.fixture
def cluster() -> Iterator[InProcess]:
    with in_process("grpc+tcp", ps=1, worker=1) as made:
        yield made


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def check_it_lives(cluster: InProcess) -> None:
    with hr.Graph().as_default(), hr.device("/job:ps/task:0"):
        x = hr.constant(1.0) + 1.0
        with hr.Session(cluster.target("worker")) as session:
            assert session.run(x) == 2.0


def status_of(cluster: InProcess, name: str) -> GetStatusResponse:
    status: GetStatusResponse = cluster.servers[name]._worker.get_status()
    return status


def data_port(cluster: InProcess, name: str = "ps:0") -> int:
    return int(status_of(cluster, name).data_address.rpartition(":")[2])


def talk(address: Any, data: bytes) -> bytes:
    """Sends bytes, and returns what comes back until the other side closes the connection."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as connection:
        connection.settimeout(20.0)
        connection.connect(address)
        found = b""
        try:
            connection.sendall(data)
            while len(found) < 1 << 16:
                got = connection.recv(4096)
                if not got:
                    break
                found += got
        except ConnectionError:
            pass
        return found


def packed(text: bytes) -> bytes:
    return b"HRHELLO1" + struct.pack(">I", len(text)) + text


GARBAGE = [
    b"GET / HTTP/1.1\r\n\r\n",
    bytes(64),
    b"HRF1" + bytes(60),
    b"HRHELLO1" + struct.pack(">I", 1 << 31),
    b"HRHELLO1" + struct.pack(">I", 0),
    packed(b"{"),
    packed(b"[]"),
    packed(b"{}"),
    packed(b'{"version": 1}'),
    packed(b'{"version": 1, "task": 3, "incarnation": "x"}'),
    packed(b'{"version": 1, "task": "t", "incarnation": -1, "to": 1}'),
    packed(b'{"version": 1, "task": "t", "incarnation": 99999999999999999999999, "to": 1}'),
    packed(b'{"version": 99, "task": "t", "incarnation": 1, "to": 1}'),
    packed(b'{"error": "I refuse", "code": "much"}'),
    packed(b"\xff\xfe" * 100),
    packed(b"[" * 4000),
    random.Random(3).randbytes(5000),
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_at_the_data_port(
    cluster: InProcess, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "headrace.distributed"):
        answer = talk(("127.0.0.1", data_port(cluster)), garbage)
        assert not answer or b'"error"' in answer
        name = status_of(cluster, "ps:0").socket_name
        answer = talk("\0" + name, garbage)
        assert not answer or b'"error"' in answer
    assert "closed a connection" in caplog.text
    check_it_lives(cluster)


def test_garbage_at_the_port_of_calls(cluster: InProcess) -> None:
    host, _, port = cluster.jobs["ps"][0].rpartition(":")
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", bytes(1000), random.Random(5).randbytes(5000)):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(garbage)
    with socket.create_connection((host, int(port))):
        check_it_lives(cluster)  # beside a connection that says nothing


@pytest.mark.parametrize("service", ["headrace.WorkerService", "tensorflow.MasterService"])
def test_calls_whose_request_is_no_message(cluster: InProcess, service: str) -> None:
    methods = {
        "headrace.WorkerService": ["OpenSession", "RegisterGraph", "Connect", "CloseSession"],
        "tensorflow.MasterService": ["CreateSession", "RunStep", "MakeCallable", "RunCallable"],
    }[service]
    with grpc.insecure_channel(cluster.jobs["ps"][0]) as channel:
        for method in methods:
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(f"/{service}/{method}")(b"\xff\xff\xff", timeout=20.0)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert method in caught.value.details()
    check_it_lives(cluster)


def test_streams_that_do_not_begin_with_a_handshake(cluster: InProcess) -> None:
    with grpc.insecure_channel(cluster.jobs["ps"][0]) as channel:
        stream = channel.stream_stream("/headrace.WorkerService/Stream")
        for first in (
            b"",
            b"garbage",
            b"{}",
            b'{"version": 9, "to": 1, "task": "", "incarnation": 1}',
        ):
            with pytest.raises(grpc.RpcError):
                next(stream(iter([first]), timeout=20.0))
    check_it_lives(cluster)


def test_garbage_after_the_handshake_ends_the_link_only(cluster: InProcess) -> None:
    incarnation = status_of(cluster, "ps:0").incarnation
    endpoint = cluster.servers["ps:0"]._endpoint
    with socket.create_connection(("127.0.0.1", data_port(cluster))) as connection:
        me = Party("/job:stranger/replica:0/task:0", 12345)
        greeted = dial_socket(connection, me, incarnation, b"", False, 20.0)
        assert greeted.peer == Party("/job:ps/replica:0/task:0", incarnation)
        until(lambda: endpoint.has_link(12345))
        connection.sendall(random.Random(9).randbytes(4096))
        connection.settimeout(20.0)
        with pytest.raises(ConnectionError):
            while connection.recv(4096):
                pass
            raise ConnectionResetError
    until(lambda: not endpoint.has_link(12345))
    check_it_lives(cluster)


def test_half_open_connections_give_way_to_others(cluster: InProcess) -> None:
    address = ("127.0.0.1", data_port(cluster))
    limit = Settings().half_open
    held = [socket.create_connection(address) for _ in range(limit + 10)]
    try:
        held[0].settimeout(20.0)
        assert held[0].recv(1) == b"", "the oldest gave way"
        check_it_lives(cluster)
    finally:
        for connection in held:
            connection.close()


def test_a_handshake_that_does_not_go_on_is_ended(
    cluster: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.distributed.rpc.listener.HELLO_DEADLINE_S", 0.2)
    with socket.create_connection(("127.0.0.1", data_port(cluster))) as connection:
        connection.sendall(b"HRHELLO1")
        connection.settimeout(20.0)
        assert connection.recv(1) == b""
    check_it_lives(cluster)


def test_the_wrong_start_of_a_task_is_named(cluster: InProcess) -> None:
    with socket.create_connection(("127.0.0.1", data_port(cluster))) as connection:
        with pytest.raises(errors.AbortedError, match="has been restarted"):
            dial_socket(connection, Party("me", 5), 77, b"", False, 20.0)


# ---- tokens


@pytest.fixture
def secret_cluster() -> Iterator[InProcess]:
    with environment(HEADRACE_CLUSTER_TOKEN="s3cret"), in_process("grpc+tcp", ps=1, worker=1) as c:
        yield c


def test_the_right_token_works(secret_cluster: InProcess) -> None:
    check_it_lives(secret_cluster)


@pytest.mark.parametrize("token", [b"", b"wrong", b"s3cret "])
def test_a_wrong_token_is_refused_by_every_method(secret_cluster: InProcess, token: bytes) -> None:
    channels = Channels(Settings(token=token))
    address = secret_cluster.jobs["ps"][0]
    for service, method in (
        ("headrace.WorkerService", "GetStatus"),
        ("headrace.WorkerService", "RegisterGraph"),
        ("tensorflow.MasterService", "CreateSession"),
        ("tensorflow.MasterService", "NoSuchMethod"),
    ):
        remote = RemoteService(channels, service, "/job:ps/task:0", address)
        with pytest.raises(errors.UnauthenticatedError, match="HEADRACE_CLUSTER_TOKEN"):
            remote.call(method, GetStatusRequest(), GetStatusResponse, Deadline.after(20.0))
    stream = channels.get(address).stream_stream("/headrace.WorkerService/Stream")
    with pytest.raises(grpc.RpcError) as caught:
        next(stream(iter([b"{}"]), timeout=20.0))
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    channels.close()
    incarnation = status_of(secret_cluster, "ps:0").incarnation
    with socket.create_connection(("127.0.0.1", data_port(secret_cluster))) as connection:
        with pytest.raises(errors.UnauthenticatedError):
            dial_socket(connection, Party("me", 5), incarnation, token, False, 20.0)
    check_it_lives(secret_cluster)


def test_a_dialler_that_ignores_the_missing_proof_is_refused(secret_cluster: InProcess) -> None:
    """One that does not check the other side's proof must still prove that it knows the token."""
    incarnation = status_of(secret_cluster, "ps:0").incarnation
    hello_ = (
        b'{"incarnation": 5, "nonce": "00", "shared_memory": false, "task": "me", "to": %d, '
        b'"version": 1}' % incarnation
    )
    for forged in (b'{"proof": ""}', b'{"proof": 3}', b"{}"):
        answer = talk(("127.0.0.1", data_port(secret_cluster)), packed(hello_) + packed(forged))
        assert b'"error"' in answer and b"welcome" not in answer
    assert not secret_cluster.servers["ps:0"]._endpoint.has_link(5)


def test_a_client_without_the_token_is_told_what_to_set(secret_cluster: InProcess) -> None:
    with environment(HEADRACE_CLUSTER_TOKEN=""):
        from headrace.distributed.session.client_process import client_process
        from headrace.distributed.session.remote_master_session import RemoteMasterSession

        with pytest.raises(errors.UnauthenticatedError, match="HEADRACE_CLUSTER_TOKEN"):
            address = secret_cluster.jobs["worker"][0]
            RemoteMasterSession(client_process(), address, f"grpc://{address}", b"")


def test_handshakes_of_many_at_once(cluster: InProcess) -> None:
    incarnation = status_of(cluster, "ps:0").incarnation
    endpoint = cluster.servers["ps:0"]._endpoint
    failures: list[Any] = []

    def dial(number: int) -> None:
        try:
            with socket.create_connection(("127.0.0.1", data_port(cluster))) as connection:
                me = Party(f"client {number}", 1000 + number)
                dial_socket(connection, me, incarnation, b"", False, 20.0)
                until(lambda: endpoint.has_link(1000 + number))
        except Exception as error:  # noqa: BLE001 - it is what the test looks at
            failures.append(error)

    threads = [threading.Thread(target=dial, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not failures
    assert hello.PROTOCOL_VERSION == status_of(cluster, "ps:0").protocol_version
    assert np.all([not thread.is_alive() for thread in threads])
