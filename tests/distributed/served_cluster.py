"""Clusters of servers: all in this process, or each in a process of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster_processes import Cluster, free_ports

from headrace.distributed.cluster.cluster_text import cluster_from_jobs
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.proto.server_pb2 import ServerDef
from headrace.formats.services import SERVERS, find_service


def make_server(
    jobs: dict[str, list[str]], job: str, index: int, protocol: str = "grpc", **config: Any
) -> Any:
    """Makes a server that does not serve yet."""
    definition = ServerDef(
        cluster=cluster_from_jobs(jobs), job_name=job, task_index=index, protocol=protocol
    )
    definition.default_session_config.CopyFrom(ConfigProto(**config))
    return find_service(SERVERS, "grpc")(definition.SerializeToString())


def free_addresses(**counts: int) -> dict[str, list[str]]:
    """Returns addresses for the tasks of jobs."""
    ports = iter(free_ports(sum(counts.values())))
    return {job: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for job, n in counts.items()}


class InProcess:
    """Servers of this process, by task, "ps:0"."""

    def __init__(self, jobs: dict[str, list[str]], protocol: str = "grpc") -> None:
        self.jobs = jobs
        self.protocol = protocol
        self.servers: dict[str, Any] = {}

    def start(self, job: str, index: int, **config: Any) -> Any:
        server = make_server(self.jobs, job, index, self.protocol, **config)
        self.servers[f"{job}:{index}"] = server
        server.start()
        return server

    def target(self, job: str, index: int = 0) -> str:
        return f"grpc://{self.jobs[job][index]}"

    def stop(self, job: str, index: int) -> None:
        self.servers.pop(f"{job}:{index}").stop()


@contextlib.contextmanager
def in_process(protocol: str = "grpc", **counts: int) -> Iterator[InProcess]:
    """Servers of all tasks of jobs, in this process."""
    cluster = InProcess(free_addresses(**counts), protocol)
    try:
        for job, n in counts.items():
            for index in range(n):
                cluster.start(job, index)
        yield cluster
    finally:
        for server in list(cluster.servers.values()):
            server.stop()


class Processes:
    """Servers in processes of their own, with two devices each."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.jobs = cluster.jobs

    def target(self, job: str, index: int = 0) -> str:
        return f"grpc://{self.jobs[job][index]}"


@contextlib.contextmanager
def processes(folder: Path, n_ps: int, n_workers: int, **env: str) -> Iterator[Processes]:
    """Servers of all tasks, each in a process of its own."""
    cluster = Cluster(folder, n_ps, n_workers, **env)
    try:
        for job, addresses in cluster.jobs.items():
            for index in range(len(addresses)):
                cluster.start_task(job, index)
        for name in cluster.processes:
            cluster.until(name, lambda event: event.get("event") == "serving")
        yield Processes(cluster)
    finally:
        cluster.close()


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Sets variables of this process for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
