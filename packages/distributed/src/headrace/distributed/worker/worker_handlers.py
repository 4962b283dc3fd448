"""The service headrace.WorkerService on gRPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from headrace.distributed.rpc.deadline import DEFAULT_TIMEOUT_S
from headrace.distributed.rpc.handlers import service_handler
from headrace.distributed.rpc.links import Links
from headrace.distributed.rpc.status_call import WORKER_SERVICE
from headrace.distributed.worker.worker_service import WorkerService
from headrace.formats.proto import worker_service_pb2 as messages


def worker_handler(
    worker: WorkerService, links: Links, live_tasks: Callable[[str, str], list[int]]
) -> grpc.GenericRpcHandler:
    """Makes the handler.

    Args:
      live_tasks: of the master of this task: the indices of the living tasks of a job, by session.
    """

    def get_status(request: Any, context: Any) -> Any:
        return worker.get_status()

    def open_session(request: Any, context: Any) -> Any:
        worker.open_session(request, _time_left(context))
        return messages.OpenWorkerSessionResponse()

    def connect(request: Any, context: Any) -> Any:
        worker.connect(request, _time_left(context))
        return messages.ConnectResponse()

    def register_graph(request: Any, context: Any) -> Any:
        partition = worker.register_graph(request, _time_left(context))
        return messages.RegisterGraphResponse(partition=partition)

    def deregister_graph(request: Any, context: Any) -> Any:
        worker.deregister_graph(request)
        return messages.DeregisterGraphResponse()

    def close_session(request: Any, context: Any) -> Any:
        worker.close_session(request.session)
        return messages.CloseWorkerSessionResponse()

    def reset(request: Any, context: Any) -> Any:
        worker.reset(list(request.container))
        return messages.ResetWorkerResponse()

    def live(request: Any, context: Any) -> Any:
        return messages.LiveTasksResponse(index=live_tasks(request.session_handle, request.job))

    return service_handler(
        WORKER_SERVICE,
        {
            "GetStatus": (get_status, messages.GetStatusRequest),
            "OpenSession": (open_session, messages.OpenWorkerSessionRequest),
            "Connect": (connect, messages.ConnectRequest),
            "RegisterGraph": (register_graph, messages.RegisterGraphRequest),
            "DeregisterGraph": (deregister_graph, messages.DeregisterGraphRequest),
            "CloseSession": (close_session, messages.CloseWorkerSessionRequest),
            "Reset": (reset, messages.ResetWorkerRequest),
            "LiveTasks": (live, messages.LiveTasksRequest),
        },
        {"Stream": links.accept_stream},
    )


def _time_left(context: grpc.ServicerContext) -> float:
    left = context.time_remaining()
    return DEFAULT_TIMEOUT_S if left is None else min(left, 1e6)
