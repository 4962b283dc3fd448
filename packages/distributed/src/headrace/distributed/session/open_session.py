"""The entry point `grpc` of the group headrace.sessions."""

from __future__ import annotations

from headrace.distributed.cluster.addresses import check_address
from headrace.distributed.master import in_process
from headrace.distributed.session.client_process import client_process
from headrace.distributed.session.local_master_session import LocalMasterSession
from headrace.distributed.session.remote_master_session import RemoteMasterSession
from headrace.formats.services import ClusterSession


def open_session(target: str, config: bytes) -> ClusterSession:
    """Opens a session over the tasks of a cluster.

    Args:
      target: "grpc://host:port" of the server that is its master.
      config: a serialized ConfigProto.
    Raises: InvalidArgumentError for another target; UnavailableError if there is no server.
    """
    address = check_address(target.removeprefix("grpc://"))
    master = in_process.find(address)
    if master is not None:
        return LocalMasterSession(master, target, config)
    return RemoteMasterSession(client_process(), address, target, config)
