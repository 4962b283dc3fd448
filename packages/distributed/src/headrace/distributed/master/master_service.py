"""The service tensorflow.MasterService on gRPC, for clients of Headrace and of TensorFlow."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from typing import Any

import grpc

from headrace.distributed.master.callables import Callables
from headrace.distributed.master.master import Master
from headrace.distributed.master.partial_step import PartialStep
from headrace.distributed.master.remote_run import run_for_client
from headrace.distributed.rpc.handlers import Responses, service_handler
from headrace.formats import errors
from headrace.formats.proto import master_pb2 as messages
from headrace.formats.proto.run_pb2 import RunMetadata
from headrace.formats.proto.status_pb2 import Code
from headrace.formats.proto.tensor_pb2 import NamedTensorProto
from headrace.formats.proto.types_pb2 import DataType
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto

SERVICE = "tensorflow.MasterService"
_MOST_PARTIAL_RUNS = 1024  # of all clients; the oldest is ended


class MasterService:
    """The methods of the service."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._callables = Callables()
        self._responses = Responses()
        self._lock = threading.Lock()
        self._partial: dict[str, PartialStep] = {}

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the handler for a gRPC server."""
        return service_handler(
            SERVICE,
            {
                "CreateSession": (self.create_session, messages.CreateSessionRequest),
                "ExtendSession": (self.extend_session, messages.ExtendSessionRequest),
                "PartialRunSetup": (self.partial_run_setup, messages.PartialRunSetupRequest),
                "RunStep": (self.run_step, messages.RunStepRequest),
                "CloseSession": (self.close_session, messages.CloseSessionRequest),
                "ListDevices": (self.list_devices, messages.ListDevicesRequest),
                "Reset": (self.reset, messages.ResetRequest),
                "MakeCallable": (self.make_callable, messages.MakeCallableRequest),
                "RunCallable": (self.run_callable, messages.RunCallableRequest),
                "ReleaseCallable": (self.release_callable, messages.ReleaseCallableRequest),
            },
            {},
        )

    def create_session(self, request: Any, context: Any) -> Any:
        return self._responses.once(
            "CreateSession", request.request_id, lambda: self._create_session(request)
        )

    def _create_session(self, request: messages.CreateSessionRequest) -> Any:
        if request.client < 0:
            raise errors.InvalidArgumentError(
                None, None, f"the client has the incarnation {request.client}, below 0"
            )
        config = request.config.SerializeToString()
        session = self._master.create_session(config, request.target, request.client)
        try:
            if request.graph_def.node or request.graph_def.HasField("library"):
                session.extend(request.graph_def)
        except errors.OpError:
            self._master.close_session(session)
            raise
        return messages.CreateSessionResponse(
            session_handle=session.handle,
            graph_version=session.graph_version,
            task=self._master.task,
            incarnation=self._master.incarnation,
        )

    def extend_session(self, request: Any, context: Any) -> Any:
        return self._responses.once(
            "ExtendSession", request.request_id, lambda: self._extend_session(request)
        )

    def _extend_session(self, request: messages.ExtendSessionRequest) -> Any:
        session = self._master.session(request.session_handle)
        if request.current_graph_version != session.graph_version:
            raise errors.AbortedError(
                None, None, f"Current version is {session.graph_version} but caller expected "
                f"{request.current_graph_version}.",
            )  # fmt: skip
        session.extend(request.graph_def)
        return messages.ExtendSessionResponse(new_graph_version=session.graph_version)

    def run_step(self, request: Any, context: Any) -> Any:
        response = messages.RunStepResponse()
        try:
            self._run_step(request, response, context)
        except errors.OpError as error:
            if not request.store_errors_in_response_body:
                raise
            response = messages.RunStepResponse(
                status_code=Code.Name(error.error_code),
                status_error_message=error.message,
                status_error_node=error.node_name or "",
            )
        return response

    def _run_step(
        self, request: messages.RunStepRequest, response: messages.RunStepResponse, context: Any
    ) -> None:
        session = self._master.session(request.session_handle)
        fetches = list(request.fetch)
        if request.partial_run_handle:
            values = self._continue(request.partial_run_handle, request.feed, fetches)
            for name, value in zip(fetches, values):
                if value is not None:
                    response.tensor.add(name=name, tensor=make_tensor_proto(value))
            return
        step = session.prepare([feed.name for feed in request.feed], fetches, request.target)
        feeds = [feed.tensor for feed in request.feed]
        tensors, metadata = run_for_client(step, feeds, request.options, context)
        for name, tensor in zip(fetches, tensors):
            response.tensor.add(name=name, tensor=tensor)
        if metadata:
            response.metadata.MergeFromString(metadata)

    def partial_run_setup(self, request: Any, context: Any) -> Any:
        session = self._master.session(request.session_handle)
        step = session.partial_run_setup(request.feed, request.fetch, request.target)
        handle = secrets.token_hex(8)
        with self._lock:
            self._partial[handle] = step
            oldest = next(iter(self._partial))
            left = self._partial.pop(oldest) if len(self._partial) > _MOST_PARTIAL_RUNS else None
        if left is not None:
            left.cancel("newer partial runs took its place")
        return messages.PartialRunSetupResponse(partial_run_handle=handle)

    def _continue(
        self, handle: str, feeds: Sequence[NamedTensorProto], fetches: list[str]
    ) -> list[Any]:
        with self._lock:
            step = self._partial.get(handle)
        if step is None:
            raise errors.InvalidArgumentError(
                None, None,
                f"Must run 'setup' before performing partial runs! No partial run has the handle "
                f"{handle!r}, or it has ended",
            )  # fmt: skip
        try:
            return step.run({feed.name: make_ndarray(feed.tensor) for feed in feeds}, fetches)
        finally:
            if step.finished:
                with self._lock:
                    self._partial.pop(handle, None)

    def close_session(self, request: Any, context: Any) -> Any:
        try:
            session = self._master.session(request.session_handle)
        except errors.AbortedError:  # it was closed before
            return messages.CloseSessionResponse()
        self._callables.end(session.handle)
        self._master.close_session(session)
        return messages.CloseSessionResponse()

    def list_devices(self, request: Any, context: Any) -> Any:
        handle = request.session_handle
        session = self._master.session(handle) if handle else None
        local, remote = self._master.list_devices(session)
        return messages.ListDevicesResponse(local_device=local, remote_device=remote)

    def reset(self, request: Any, context: Any) -> Any:
        self._master.reset(request.container, request.device_filters)
        self._callables.keep_only(set())
        return messages.ResetResponse()

    def make_callable(self, request: Any, context: Any) -> Any:
        return self._responses.once(
            "MakeCallable", request.request_id, lambda: self._make_callable(request)
        )

    def _make_callable(self, request: messages.MakeCallableRequest) -> Any:
        session = self._master.session(request.session_handle)
        options = request.options
        if options.tensor_connection:
            raise errors.UnimplementedError(
                None, None, "CallableOptions.tensor_connection is not supported"
            )
        step = session.prepare(options.feed, options.fetch, options.target)
        return messages.MakeCallableResponse(
            handle=self._callables.add(session, step, options.run_options),
            feed_dtype=[DataType.Name(d) for d in step.signature.feed_dtypes],
        )

    def run_callable(self, request: Any, context: Any) -> Any:
        session = self._master.session(request.session_handle)
        step, options = self._callables.get(session, request.handle)
        if request.HasField("options"):
            options = request.options
        tensors, metadata = run_for_client(step, request.feed, options, context)
        response = messages.RunCallableResponse(fetch=tensors)
        if metadata:
            response.metadata.CopyFrom(RunMetadata.FromString(metadata))
        return response

    def release_callable(self, request: Any, context: Any) -> Any:
        session = self._master.session(request.session_handle)
        self._callables.release(session, request.handle)
        return messages.ReleaseCallableResponse()
