"""hr.train.Server and hr.test.create_local_cluster, over a fake service of servers."""

from __future__ import annotations

import gc
import weakref
from importlib.metadata import entry_points

import pytest

import headrace.graph as hr
from headrace.formats import services

CLUSTER = {"ps": ["a:1", "b:1"], "worker": {3: "c:1"}}


class FakeServer:
    """A server that keeps what is asked of it."""

    def __init__(self, server_def: bytes) -> None:
        self.message = hr.train.ServerDef.FromString(server_def)
        task = self.message.task_index
        self.address = hr.train.ClusterSpec(self.message.cluster).task_address(
            self.message.job_name, task
        )
        self.target = f"grpc://{self.address}"
        self.server_def = server_def
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def join(self) -> None:
        self.calls.append("join")

    def stop(self) -> None:
        self.calls.append("stop")


@pytest.fixture
def servers(monkeypatch):
    """Replaces the service of servers; returns (names asked for, servers made)."""
    asked: list[str] = []
    made: list[FakeServer] = []

    def find(group, name):
        assert group == services.SERVERS
        asked.append(name)

        def make(server_def):
            made.append(FakeServer(server_def))
            return made[-1]

        return make

    monkeypatch.setattr(services, "find_service", find)
    return asked, made


def test_a_server_is_given_its_cluster_and_task(servers) -> None:
    config = hr.ConfigProto(allow_soft_placement=True)
    server = hr.train.Server(CLUSTER, job_name="ps", task_index=1, config=config)
    found = servers[1][0].message
    assert servers[0] == ["grpc"]
    assert hr.train.ClusterSpec(found.cluster) == hr.train.ClusterSpec(CLUSTER)
    assert (found.job_name, found.task_index, found.protocol) == ("ps", 1, "grpc")
    assert found.default_session_config.allow_soft_placement
    assert server.target == "grpc://b:1"
    assert server.server_def == found
    server.join()
    server.stop()
    assert servers[1][0].calls == ["start", "join", "stop"]


def test_a_server_that_shall_not_start_waits_for_start(servers) -> None:
    server = hr.train.Server(CLUSTER, "worker", start=False)
    assert servers[1][0].calls == [] and servers[1][0].message.task_index == 3
    server.start()
    assert servers[1][0].calls == ["start"]
    server.stop()


def test_a_server_goes_on_without_a_reference_until_it_is_stopped(servers) -> None:
    server = hr.train.Server(CLUSTER, "ps", 0)
    service = weakref.ref(servers[1].pop())
    stop = server.stop
    del server
    gc.collect()
    assert service() is not None and "stop" not in service().calls
    stop()
    del stop
    gc.collect()
    assert service() is None


def test_arguments_change_a_given_server_def(servers) -> None:
    given = hr.train.ServerDef(
        cluster=hr.train.ClusterSpec(CLUSTER).as_cluster_def(), job_name="ps", task_index=0
    )
    given.default_session_config.inter_op_parallelism_threads = 3
    config = hr.ConfigProto(intra_op_parallelism_threads=2)
    hr.train.Server(given, "worker", 3, "grpc+uds", config).stop()
    found = servers[1][0].message
    assert servers[0] == ["grpc"] and found.protocol == "grpc+uds"
    assert (found.job_name, found.task_index) == ("worker", 3)
    assert found.default_session_config.inter_op_parallelism_threads == 3
    assert found.default_session_config.intra_op_parallelism_threads == 2
    assert given.job_name == "ps" and not given.default_session_config.intra_op_parallelism_threads
    hr.train.Server(given).stop()
    assert servers[1][1].message.protocol == "grpc" and servers[1][1].message.job_name == "ps"


def test_the_only_job_and_task_need_no_name(servers) -> None:
    server = hr.train.Server.create_local_server()
    found = server.server_def
    assert (found.job_name, found.task_index) == ("local", 0)
    assert dict(found.cluster.job[0].tasks) == {0: "localhost:0"}
    server.stop()


@pytest.mark.parametrize(
    ("cluster", "job", "error", "message"),
    [
        (CLUSTER, None, ValueError, r"explicit `job_name`: the cluster has \['ps', 'worker'\]"),
        (CLUSTER, "ps", ValueError, r"explicit `task_index`: job 'ps' has \[0, 1\]"),
        (CLUSTER, "chief", ValueError, "No such job in cluster: 'chief'"),
        (7, None, TypeError, "Could not convert `server_or_cluster_def`"),
        ({"ps": 7}, None, TypeError, "The tasks for job 'ps' must be a list"),
    ],
)
def test_a_server_of_no_task_is_refused(cluster, job, error, message, servers) -> None:
    with pytest.raises(error, match=message):
        hr.train.Server(cluster, job_name=job)
    assert servers[1] == []


def test_a_protocol_without_a_package_names_what_is_installed() -> None:
    with pytest.raises(hr.errors.NotFoundError, match="headrace.servers service named 'verbs'"):
        hr.train.Server(CLUSTER, "ps", 0, protocol="verbs+gdr")


@pytest.mark.skipif(
    any(entry.name == "grpc" for entry in entry_points(group=services.SERVERS)),
    reason="headrace-distributed is installed",
)
def test_without_the_package_of_servers_the_error_names_it() -> None:
    with pytest.raises(hr.errors.NotFoundError, match="install headrace-distributed"):
        hr.train.Server(CLUSTER, "ps", 0)


def test_a_local_cluster_has_a_server_for_each_task_at_a_port_of_its_own(servers) -> None:
    config = hr.ConfigProto(intra_op_parallelism_threads=2)
    workers, parameter_servers = hr.test.create_local_cluster(2, 3, ps_config=config)
    assert [s.server_def.job_name for s in workers] == ["worker"] * 2
    assert [s.server_def.task_index for s in parameter_servers] == [0, 1, 2]
    assert len({s.target for s in workers + parameter_servers}) == 5
    threads = [
        s.server_def.default_session_config.intra_op_parallelism_threads
        for s in workers + parameter_servers
    ]
    assert threads == [0, 0, 2, 2, 2]
    assert len({s.server_def.cluster.SerializeToString(deterministic=True) for s in workers}) == 1
    for server in workers + parameter_servers:
        server.stop()
