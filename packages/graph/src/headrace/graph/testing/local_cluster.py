"""hr.test.create_local_cluster: servers of several tasks in this process."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from headrace.graph.cluster.cluster_spec import ClusterSpec
from headrace.graph.cluster.server import Server
from headrace.graph.typing.aliases import Proto


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Proto | None = None,
    ps_config: Proto | None = None,
) -> tuple[list[Server], list[Server]]:
    """Starts the servers of a cluster in this process, at free ports of this machine.

    Args:
      num_workers, num_ps: numbers of tasks of the jobs "worker" and "ps".
      protocol: as in Server.
      worker_config, ps_config: ConfigProtos of the servers.
    Returns: (servers of the workers, servers of the parameter servers).
    Raises: as Server.
    """
    ports = _free_ports(num_workers + num_ps)
    addresses = [f"localhost:{port}" for port in ports]
    cluster = ClusterSpec({"worker": addresses[:num_workers], "ps": addresses[num_workers:]})

    def serve(job: str, number: int, config: Proto | None) -> list[Server]:
        return [
            Server(cluster, job_name=job, task_index=i, protocol=protocol, config=config)
            for i in range(number)
        ]

    return serve("worker", num_workers, worker_config), serve("ps", num_ps, ps_config)


def _free_ports(number: int) -> list[int]:
    """Returns ports that no process listens on; all are held until the last one is known."""
    with ExitStack() as open_sockets:
        found = []
        for _ in range(number):
            held = open_sockets.enter_context(socket.socket())
            held.bind(("localhost", 0))
            found.append(held.getsockname()[1])
        return found
