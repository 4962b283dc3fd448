"""The worker of a task, as a master calls it: in this process, or over gRPC."""

from __future__ import annotations

from typing import Protocol

from headrace.distributed.rpc.calls import RemoteService
from headrace.distributed.rpc.channels import Channels
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.status_call import WORKER_SERVICE, ask_status
from headrace.distributed.worker.worker_service import WorkerService
from headrace.formats.proto import worker_service_pb2 as messages


class WorkerClient(Protocol):
    """The worker of one task. All methods raise errors.OpError."""

    task: str
    address: str

    def status(self, deadline: Deadline) -> messages.GetStatusResponse: ...

    def open_session(
        self, request: messages.OpenWorkerSessionRequest, deadline: Deadline
    ) -> None: ...

    def connect(self, request: messages.ConnectRequest, deadline: Deadline) -> None: ...

    def register_graph(self, request: messages.RegisterGraphRequest, deadline: Deadline) -> int: ...

    def deregister_graph(
        self, request: messages.DeregisterGraphRequest, deadline: Deadline
    ) -> None: ...

    def close_session(self, session: int, deadline: Deadline) -> None: ...

    def reset(self, containers: list[str], deadline: Deadline) -> None: ...


class LocalWorker:
    """The worker of this process."""

    def __init__(self, task: str, address: str, worker: WorkerService) -> None:
        self.task, self.address = task, address
        self._worker = worker

    def status(self, deadline: Deadline) -> messages.GetStatusResponse:
        return self._worker.get_status()

    def open_session(self, request: messages.OpenWorkerSessionRequest, deadline: Deadline) -> None:
        self._worker.open_session(request, deadline.left_s)

    def connect(self, request: messages.ConnectRequest, deadline: Deadline) -> None:
        self._worker.connect(request, deadline.left_s)

    def register_graph(self, request: messages.RegisterGraphRequest, deadline: Deadline) -> int:
        return self._worker.register_graph(request, deadline.left_s)

    def deregister_graph(
        self, request: messages.DeregisterGraphRequest, deadline: Deadline
    ) -> None:
        self._worker.deregister_graph(request)

    def close_session(self, session: int, deadline: Deadline) -> None:
        self._worker.close_session(session)

    def reset(self, containers: list[str], deadline: Deadline) -> None:
        self._worker.reset(containers)


class RemoteWorker:
    """The worker of another process."""

    def __init__(self, channels: Channels, task: str, address: str) -> None:
        self.task, self.address = task, address
        self._channels = channels
        self._service = RemoteService(channels, WORKER_SERVICE, task, address)

    def status(self, deadline: Deadline) -> messages.GetStatusResponse:
        return ask_status(self._channels, self.task, self.address, deadline)

    def open_session(self, request: messages.OpenWorkerSessionRequest, deadline: Deadline) -> None:
        self._service.call("OpenSession", request, messages.OpenWorkerSessionResponse, deadline)

    def connect(self, request: messages.ConnectRequest, deadline: Deadline) -> None:
        self._service.call("Connect", request, messages.ConnectResponse, deadline)

    def register_graph(self, request: messages.RegisterGraphRequest, deadline: Deadline) -> int:
        response: messages.RegisterGraphResponse = self._service.call(
            "RegisterGraph", request, messages.RegisterGraphResponse, deadline, repeat=True
        )
        return response.partition

    def deregister_graph(
        self, request: messages.DeregisterGraphRequest, deadline: Deadline
    ) -> None:
        self._service.call("DeregisterGraph", request, messages.DeregisterGraphResponse, deadline)

    def close_session(self, session: int, deadline: Deadline) -> None:
        request = messages.CloseWorkerSessionRequest(session=session)
        self._service.call("CloseSession", request, messages.CloseWorkerSessionResponse, deadline)

    def reset(self, containers: list[str], deadline: Deadline) -> None:
        request = messages.ResetWorkerRequest(container=containers)
        self._service.call("Reset", request, messages.ResetWorkerResponse, deadline)
