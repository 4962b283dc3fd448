"""What every request to a worker must say, whoever sends it."""

from __future__ import annotations

from headrace.distributed.cluster.addresses import check_address
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.worker_service_pb2 import RegisterGraphRequest, TaskInstance


def check_session(session: int) -> None:
    """Raises: InvalidArgumentError for a number that no session has."""
    if session <= 0:
        raise InvalidArgumentError(None, None, f"{session} is not the number of a session")


def check_instance(instance: TaskInstance) -> None:
    """Raises: InvalidArgumentError for what is no start of a task, or has no address."""
    if instance.incarnation <= 0:
        raise InvalidArgumentError(
            None, None, f"{instance.task!r} has the incarnation {instance.incarnation}; it must be "
            "above 0",
        )  # fmt: skip
    check_address(instance.address)


def check_registration(request: RegisterGraphRequest) -> None:
    """Raises: InvalidArgumentError for a request that names no session, peers or receivers."""
    check_session(request.session)
    peers = {0}
    for peer in request.peer:
        check_instance(peer)
        peers.add(peer.incarnation)
    for destination in request.destination:
        if destination.incarnation not in peers:
            raise InvalidArgumentError(
                None, None, f"edge {destination.edge} leads to {destination.incarnation}, which is "
                "no peer",
            )  # fmt: skip
