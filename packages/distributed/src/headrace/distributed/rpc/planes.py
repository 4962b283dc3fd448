"""Which planes two tasks can use for their link, the fastest first."""

from __future__ import annotations

from headrace.distributed.rpc.host import HostIdentity
from headrace.formats.errors import FailedPreconditionError
from headrace.formats.proto.worker_service_pb2 import GetStatusResponse

LOCAL, SHM, UDS, TCP, STREAM = "local", "shm", "uds", "tcp", "stream"


def planes_to(
    status: GetStatusResponse, host: HostIdentity, transport: str, in_process: bool
) -> list[str]:
    """Returns the planes to try, in order.

    Args:
      status: of the other task.
      host: where this process is.
      transport: "auto", or the plane to use whatever it costs.
      in_process: whether the other task is in this process.
    Raises: FailedPreconditionError for a plane that the two do not have in common.
    Example:
      >>> status = GetStatusResponse(boot_id="a", socket_name="s", data_address="h:1")
      >>> planes_to(status, HostIdentity("a", 0, 0), "auto", False)
      ['uds', 'tcp', 'stream']
      >>> planes_to(status, HostIdentity("b", 0, 0), "auto", False)
      ['tcp', 'stream']
    """
    theirs = HostIdentity(status.boot_id, status.user, status.network_namespace)
    same_host = bool(host.boot_id) and theirs == host and bool(status.socket_name)
    possible = []
    if in_process and transport == "auto":
        possible.append(LOCAL)
    if same_host and status.shared_memory:
        possible.append(SHM)
    if same_host:
        possible.append(UDS)
    if status.data_address:
        possible.append(TCP)
    possible.append(STREAM)
    if transport == "auto":
        # Over a UNIX socket with shared memory nothing is sent that one without could not send.
        return [p for p in possible if p != UDS or SHM not in possible]
    if transport not in possible:
        raise FailedPreconditionError(
            None, None, f"{status.task} cannot be reached by the transport {transport!r}, only by "
            f"{', '.join(possible)}",
        )  # fmt: skip
    return [transport]
