"""Sessions over each way by which tensors can travel, forced, and under TLS."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served_cluster import (
    InProcess,
    environment,
    free_addresses,
    in_process,
    make_server,
    processes,
)

import headrace.graph as hr
from headrace.formats import errors

TRANSPORTS = ("tcp", "uds", "shm", "stream")


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as made:
        yield made


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def there_and_back() -> tuple[Any, Any]:
    with hr.device("/job:ps/task:0"):
        x = hr.placeholder(hr.float32, [None])
        doubled = x * 2.0
    with hr.device("/job:ps/task:1"):
        more = doubled + 1.0
    with hr.device("/job:worker/task:0"):
        return x, hr.reduce_sum(more)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_session_over_a_forced_transport(transport: str) -> None:
    x, y = there_and_back()
    with in_process(f"grpc+{transport}", ps=2, worker=1) as cluster:
        with hr.Session(cluster.target("worker")) as session:
            for size in (1, 1000, 700_000):
                assert session.run(y, {x: np.ones(size, np.float32)}) == 3.0 * size
            planes = {
                (link["name"], link["plane"])
                for link in cluster.servers["worker:0"]._endpoint.links()
                if link["plane"] != "local"
            }
            assert planes == {
                ("/job:ps/replica:0/task:0", transport),
                ("/job:ps/replica:0/task:1", transport),
            }
            ps0, ps1 = (cluster.servers[f"ps:{i}"]._endpoint for i in range(2))
            ps0.close_link(ps1.incarnation, "the test has cut it")
            until(lambda: not ps0.has_link(ps1.incarnation))
            with pytest.raises(errors.UnavailableError):
                session.run(y, {x: np.ones(3, np.float32)})
            assert session.run(y, {x: np.ones(3, np.float32)}) == 9.0
            worker = cluster.servers["worker:0"]._endpoint
            worker.close_link(ps0.incarnation, "the test has cut it")
            until(lambda: not worker.has_link(ps0.incarnation))
            assert session.run(y, {x: np.ones(3, np.float32)}) == 9.0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_client_of_another_process_over_a_forced_transport(
    transport: str, tmp_path: Path
) -> None:
    x, y = there_and_back()
    variables = {"HEADRACE_TRANSPORT": transport}
    with environment(**variables), processes(tmp_path, 2, 1, **variables) as cluster:
        with hr.Session(cluster.target("worker")) as session:
            for size in (1, 700_000):
                assert session.run(y, {x: np.ones(size, np.float32)}) == 3.0 * size
            links = session._service.client.endpoint.links()
            assert [link["plane"] for link in links if link["plane"] != "local"] == [transport]


def test_a_transport_that_two_tasks_do_not_have_in_common() -> None:
    x, y = there_and_back()
    cluster = InProcess(free_addresses(ps=2, worker=1), "grpc+tcp")
    try:
        cluster.start("worker", 0)
        cluster.protocol = "grpc+stream"
        cluster.start("ps", 0)
        cluster.start("ps", 1)
        with hr.Session(cluster.target("worker")) as session:
            with pytest.raises(errors.FailedPreconditionError, match="'tcp', only by"):
                session.run(y, {x: np.ones(1, np.float32)})
    finally:
        for server in cluster.servers.values():
            server.stop()
    with pytest.raises(errors.InvalidArgumentError, match="rdma.*not a transport"):
        make_server({"worker": ["127.0.0.1:0"]}, "worker", 0, "grpc+rdma")


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, str]:
    """An authority and a certificate for 127.0.0.1, as variables of the environment."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=tmp_path)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for authority in ("ca", "other"):
        openssl("req", "-x509", *key, "-keyout", f"{authority}.key", "-out", f"{authority}.pem",
                "-subj", f"/CN={authority}", "-days", "2")  # fmt: skip
    (tmp_path / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:headrace")
    for name, authority in (("task", "ca"), ("stranger", "other")):
        openssl(
            "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"
        )
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey",
                f"{authority}.key", "-CAcreateserial", "-out", f"{name}.pem", "-extfile", "names",
                "-days", "2")  # fmt: skip
    return {
        "HEADRACE_TLS_CERT": str(tmp_path / "task.pem"),
        "HEADRACE_TLS_KEY": str(tmp_path / "task.key"),
        "HEADRACE_TLS_CA": str(tmp_path / "ca.pem"),
    }


def test_mutual_tls(certificates: dict[str, str], tmp_path: Path) -> None:
    x, y = there_and_back()
    folder = tmp_path / "cluster"
    folder.mkdir()
    with processes(folder, 2, 1, **certificates) as cluster:
        with environment(**certificates), hr.Session(cluster.target("worker")) as session:
            assert session.run(y, {x: np.ones(10, np.float32)}) == 30.0
            status = session._service._worker
            assert status.address in cluster.target("worker")
        stranger = {
            **certificates,
            "HEADRACE_TLS_CERT": str(tmp_path / "stranger.pem"),
            "HEADRACE_TLS_KEY": str(tmp_path / "stranger.key"),
        }
        config = hr.ConfigProto(operation_timeout_in_ms=1000)
        for variables in (stranger, {}):
            with environment(**variables), pytest.raises(errors.UnavailableError):
                hr.Session(cluster.target("worker"), config=config)


def test_with_tls_frames_do_not_travel_over_plain_tcp(certificates: dict[str, str]) -> None:
    x, y = there_and_back()
    with environment(**certificates), in_process("grpc+stream", ps=2, worker=1) as cluster:
        with hr.Session(cluster.target("worker")) as session:
            assert session.run(y, {x: np.ones(10, np.float32)}) == 30.0
    with environment(**certificates), in_process("grpc", ps=1, worker=1) as cluster:
        status = cluster.servers["ps:0"]._worker.get_status()
        assert not status.data_address
        assert status.socket_name
