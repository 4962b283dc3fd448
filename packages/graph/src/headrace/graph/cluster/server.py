"""Server: a task of a cluster in this process."""

from __future__ import annotations

from typing import Any

from headrace.formats import services
from headrace.formats.proto.server_pb2 import ServerDef
from headrace.graph.cluster.cluster_spec import ClusterLike, ClusterSpec
from headrace.graph.typing.aliases import Proto

# Servers that serve. As in TensorFlow, one goes on when the program drops its last reference:
# sessions know it by its address only.
_serving: set[Any] = set()


class Server:
    """A task of a cluster: it runs operations, and steps of the sessions that connect to it.

    Args:
      server_or_cluster_def: ServerDef; or a ClusterSpec, or what it is made from.
      job_name: job of the task; by default the only one.
      task_index: index of the task; by default the only one.
      protocol: "grpc" by default; what follows a "+" chooses how tensors are sent.
      config: ConfigProto of sessions without one.
      start: serve at once, instead of when `start` is called.
    Raises: TypeError for another kind of cluster; ValueError if there are several jobs or tasks and
      none is named; NotFoundError if no installed package serves the protocol; InvalidArgumentError
      for a task that the cluster does not have; UnknownError or UnavailableError for a port in use.
    """

    def __init__(
        self,
        server_or_cluster_def: ServerDef | ClusterLike,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Proto | None = None,
        start: bool = True,
    ) -> None:
        requested = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        scheme = requested.protocol.partition("+")[0]
        make = services.find_service(services.SERVERS, scheme)
        self._service: services.ServerService = make(requested.SerializeToString())
        if start:
            self.start()

    def start(self) -> None:
        """Begins to serve; nothing happens if it serves already."""
        self._service.start()
        _serving.add(self._service)

    def join(self) -> None:
        """Waits until the server is stopped, by another thread or a signal."""
        self._service.join()

    def stop(self) -> None:
        """Ends its sessions and frees its port; TensorFlow's servers end with their process."""
        _serving.discard(self._service)
        self._service.stop()

    @property
    def server_def(self) -> ServerDef:
        """The ServerDef of the task, with what was filled in."""
        return ServerDef.FromString(self._service.server_def)

    @property
    def target(self) -> str:
        """The target of sessions that connect to it, "grpc://HOST:PORT"."""
        return self._service.target

    @staticmethod
    def create_local_server(config: Proto | None = None, start: bool = True) -> Server:
        """Returns the server of a cluster of one task, "/job:local/task:0", at a free port."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _server_def(
    server_or_cluster_def: Any,
    job_name: str | None,
    task_index: int | None,
    protocol: str | None,
    config: Any,
) -> ServerDef:
    made = ServerDef()
    if isinstance(server_or_cluster_def, ServerDef):
        made.CopyFrom(server_or_cluster_def)
        if job_name is not None:
            made.job_name = job_name
        if task_index is not None:
            made.task_index = task_index
        if protocol is not None:
            made.protocol = protocol
        made.protocol = made.protocol or "grpc"
    else:
        try:
            cluster = ClusterSpec(server_or_cluster_def)
        except TypeError as error:
            raise TypeError(
                "Could not convert `server_or_cluster_def` to a `hr.train.ServerDef` or "
                f"`hr.train.ClusterSpec`: {error}"
            ) from None
        if job_name is None:
            if len(cluster.jobs) != 1:
                raise ValueError(
                    f"Must specify an explicit `job_name`: the cluster has {cluster.jobs}"
                )
            job_name = cluster.jobs[0]
        if task_index is None:
            indices = cluster.task_indices(job_name)
            if len(indices) != 1:
                raise ValueError(
                    f"Must specify an explicit `task_index`: job {job_name!r} has {indices}"
                )
            task_index = indices[0]
        made.cluster.CopyFrom(cluster.as_cluster_def())
        made.job_name = job_name
        made.task_index = task_index
        made.protocol = "grpc" if protocol is None else protocol
    if config is not None:
        made.default_session_config.MergeFrom(config)
    return made
