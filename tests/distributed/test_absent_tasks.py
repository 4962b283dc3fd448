"""Tasks that are not there: what does not need them runs, and what does says what is missing."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from served_cluster import InProcess, environment, free_addresses, in_process, make_server

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.run_pb2 import ConfigProto


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as made:
        yield made


@pytest.fixture
def only_worker() -> Iterator[InProcess]:
    """A cluster of which only worker 0 is there."""
    cluster = InProcess(free_addresses(ps=1, worker=2))
    cluster.start("worker", 0)
    yield cluster
    for server in list(cluster.servers.values()):
        server.stop()


def test_a_session_waits_only_for_the_tasks_that_it_uses(only_worker: InProcess) -> None:
    x = hr.constant(1.0) + 1.0
    config = ConfigProto(operation_timeout_in_ms=60_000)
    begun = time.monotonic()
    with hr.Session(only_worker.target("worker"), config=config) as session:
        assert session.run(x) == 2.0
        assert len(session.list_devices()) == 1
    assert time.monotonic() - begun < 30.0, "it waited for tasks that it does not use"


def test_a_missing_task_is_named_within_the_time_limit(only_worker: InProcess) -> None:
    with hr.device("/job:ps/task:0"):
        x = hr.constant(1.0) + 1.0
    address = only_worker.jobs["ps"][0]
    config = ConfigProto(operation_timeout_in_ms=500)
    with hr.Session(only_worker.target("worker"), config=config) as session:
        with pytest.raises(errors.UnavailableError) as caught:
            session.run(x)
        for part in ("/job:ps/replica:0/task:0", address, "0.5 s", "refused"):
            assert part in str(caught.value)
        y = hr.constant(3.0) * 2.0
        assert session.run(y) == 6.0, "what does not need it still runs"


def test_a_task_that_comes_late_is_waited_for(only_worker: InProcess) -> None:
    with hr.device("/job:ps/task:0"):
        x = hr.constant(1.0) + 1.0
    results: list[float] = []
    with hr.Session(only_worker.target("worker")) as session:
        thread = threading.Thread(target=lambda: results.append(session.run(x)))
        thread.start()
        only_worker.start("ps", 0)
        thread.join(30.0)
    assert results == [2.0]


def test_a_task_that_failed_to_come_is_asked_again(only_worker: InProcess) -> None:
    with hr.device("/job:ps/task:0"):
        x = hr.constant(1.0) + 1.0
    config = ConfigProto(operation_timeout_in_ms=300)
    with hr.Session(only_worker.target("worker"), config=config) as session:
        with pytest.raises(errors.UnavailableError):
            session.run(x)
        only_worker.start("ps", 0)
        assert session.run(x) == 2.0


def test_devices_of_a_late_task_are_known_when_it_comes(only_worker: InProcess) -> None:
    with hr.device("/job:ps/task:0/device:CPU:1"):
        x = hr.constant(1.0) + 1.0
    config = ConfigProto(operation_timeout_in_ms=300)
    with hr.Session(only_worker.target("worker"), config=config) as session:
        with pytest.raises(errors.InvalidArgumentError, match="CPU:1"):
            session.run(x)
        only_worker.start("ps", 0, device_count={"CPU": 2})
        assert session.run(x) == 2.0


def test_no_server_at_all_is_an_error_within_the_time_limit() -> None:
    (address,) = free_addresses(worker=1)["worker"]
    with pytest.raises(errors.UnavailableError, match=f"{address}.*0.3 s.*refused"):
        hr.Session(f"grpc://{address}", config=ConfigProto(operation_timeout_in_ms=300))


def test_a_server_that_takes_connections_and_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises((errors.UnavailableError, errors.DeadlineExceededError)) as caught:
            hr.Session(f"grpc://127.0.0.1:{port}", config=ConfigProto(operation_timeout_in_ms=400))
        assert str(port) in str(caught.value)


def test_a_second_server_on_a_port_fails_at_start() -> None:
    with in_process(worker=1) as cluster:
        (address,) = cluster.jobs["worker"]
        with pytest.raises(errors.UnavailableError, match=address):
            make_server(cluster.jobs, "worker", 0)
        command = [
            sys.executable, "-m", "headrace.distributed.command.server", "--job", "worker",
            "--task", "0", "--cluster", f"worker={address}",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert address in done.stderr and "Traceback" not in done.stderr
        with hr.Session(cluster.target("worker")) as session:
            assert session.run(hr.constant(1.0)) == 1.0, "the first one still serves"


def test_a_free_port_is_named_in_the_target() -> None:
    server = make_server({"local": ["localhost:0"]}, "local", 0)
    try:
        assert not server.target.endswith(":0")
        server.start()
        server.start()
        with hr.Session(server.target) as session:
            assert session.run(hr.constant(2.0)) == 2.0
    finally:
        server.stop()
    with pytest.raises(errors.FailedPreconditionError, match="stopped"):
        server.start()
    server.join()  # it has ended


def test_a_task_that_the_cluster_does_not_have() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="no task worker:3.*worker:0"):
        make_server({"worker": ["127.0.0.1:0"]}, "worker", 3)


def test_a_server_beyond_loopback_needs_a_secret() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="HEADRACE_CLUSTER_TOKEN"):
        make_server({"worker": ["0.0.0.0:0"]}, "worker", 0)
    with environment(HEADRACE_BIND="127.0.0.1"):
        server = make_server({"worker": ["host.example:0"]}, "worker", 0)
        server.stop()
