"""Asks a task who it is, and which ways there are to it."""

from __future__ import annotations

from headrace.distributed.rpc.calls import RemoteService
from headrace.distributed.rpc.channels import Channels
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.hello import PROTOCOL_VERSION
from headrace.formats import errors
from headrace.formats.proto.worker_service_pb2 import GetStatusRequest, GetStatusResponse

WORKER_SERVICE = "headrace.WorkerService"


def ask_status(
    channels: Channels, task: str, address: str, deadline: Deadline
) -> GetStatusResponse:
    """Calls GetStatus.

    Raises: UnavailableError and others, with the task and its address; FailedPreconditionError for
      another version of the protocol.
    """
    service = RemoteService(channels, WORKER_SERVICE, task, address)
    try:
        status = _call(service, deadline)
    except errors.UnavailableError:
        # The channel may report an attempt of a while ago, and wait before it makes another.
        channels.renew(address)
        status = _call(service, deadline)
    if status.protocol_version != PROTOCOL_VERSION:
        raise errors.FailedPreconditionError(
            None, None, f"{task} at {address} speaks version {status.protocol_version} of the "
            f"protocol, this process version {PROTOCOL_VERSION}: install the same "
            "headrace-distributed on all hosts",
        )  # fmt: skip
    return status


def _call(service: RemoteService, deadline: Deadline) -> GetStatusResponse:
    status: GetStatusResponse = service.call(
        "GetStatus", GetStatusRequest(), GetStatusResponse, deadline
    )
    return status


def check_incarnation(status: GetStatusResponse, task: str, address: str, expected: int) -> None:
    """Raises: AbortedError if the task is another start than expected."""
    if status.incarnation != expected:
        raise errors.AbortedError(
            None, None, f"{task} at {address} has been restarted: its incarnation was {expected}, "
            f"it is now {status.incarnation}",
        )  # fmt: skip
