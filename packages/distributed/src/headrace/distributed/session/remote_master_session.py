"""A session whose master is in another process: gRPC for control, frames for steps."""

from __future__ import annotations

import itertools
import logging
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any

from headrace.distributed.rpc.calls import RemoteService, new_request_id
from headrace.distributed.rpc.deadline import Deadline, operation_timeout_s
from headrace.distributed.rpc.status import is_unimplemented
from headrace.distributed.rpc.status_call import WORKER_SERVICE, ask_status
from headrace.distributed.session.client_process import ClientProcess
from headrace.distributed.session.remote_partial_step import RemotePartialStep
from headrace.distributed.session.remote_step import RemoteStep
from headrace.formats import errors
from headrace.formats.proto import master_pb2 as messages
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import CallableOptions, ConfigProto
from headrace.formats.proto.worker_service_pb2 import LiveTasksRequest, LiveTasksResponse

_log = logging.getLogger("headrace.distributed")
_RECENT_SIGNATURES = 128
_GOODBYE_S = 5.0


class RemoteMasterSession:
    """services.ClusterSession over a master of another process.

    Args:
      client: this process.
      address: of the server, "host:port".
      target: what the user named, "grpc://host:port".
      config: a serialized ConfigProto.
    Raises: UnavailableError if there is no server at the address within the time of an operation.
    """

    def __init__(self, client: ClientProcess, address: str, target: str, config: bytes) -> None:
        options = ConfigProto.FromString(config)
        self.operation_s = operation_timeout_s(options.operation_timeout_in_ms)
        self.timeout_ms = max(0, options.operation_timeout_in_ms)
        self.client = client
        self.address = address
        self.master = RemoteService(
            client.channels, "tensorflow.MasterService", "the master", address
        )
        self._worker = RemoteService(client.channels, WORKER_SERVICE, "the master", address)
        self.number = new_request_id()  # of its steps
        self._lock = threading.Lock()
        self._closed = False
        self._steps: weakref.WeakValueDictionary[Any, RemoteStep] = weakref.WeakValueDictionary()
        self._recent: OrderedDict[Any, RemoteStep] = OrderedDict()
        self._released: deque[int] = deque()
        self.task, self.incarnation = "", 0
        self._link(Deadline.after(self.operation_s))
        response = self.call(
            "CreateSession",
            messages.CreateSessionRequest(
                config=options,
                target=target,
                request_id=new_request_id(),
                client=client.endpoint.incarnation if self.incarnation else 0,
            ),
            messages.CreateSessionResponse,
        )
        self.handle: str = response.session_handle
        self._version = response.graph_version

    # ---- calls

    def call(self, method: str, request: Any, response: type, repeat: bool = True) -> Any:
        """Calls the master, within the time of an operation."""
        return self.master.call(
            method, request, response, Deadline.after(self.operation_s), repeat=repeat
        )

    def _link(self, deadline: Deadline) -> None:
        """Links to the master, if it is one of Headrace's."""
        while True:
            try:
                status = ask_status(self.client.channels, "the master", self.address, deadline)
                break
            except errors.UnavailableError as error:
                if deadline.left_s <= 0.1:
                    raise errors.UnavailableError(
                        None, None, f"there is no server at {self.address} after "
                        f"{self.operation_s:g} s: {error}",
                    ) from None  # fmt: skip
                threading.Event().wait(0.1)
            except errors.OpError as error:
                if is_unimplemented(error):  # TensorFlow's: steps are calls
                    return
                raise
        self.task, self.incarnation = status.task, status.incarnation
        try:
            self.renew_link(deadline)
        except errors.UnavailableError as error:
            _log.warning("steps of %s run without a link, more slowly: %s", self.address, error)
            self.incarnation = 0

    def renew_link(self, deadline: Deadline) -> None:
        """Makes the link to the master again, if it was lost."""
        self.client.links.ensure(self.task, self.address, self.incarnation, deadline)

    # ---- services.SessionService

    def extend(self, graph_def: bytes) -> None:
        with self._lock:
            self._check_open()
            response = self.call(
                "ExtendSession",
                messages.ExtendSessionRequest(
                    session_handle=self.handle,
                    graph_def=GraphDef.FromString(graph_def),
                    current_graph_version=self._version,
                    request_id=new_request_id(),
                ),
                messages.ExtendSessionResponse,
            )
            self._version = response.new_graph_version

    def prepare(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> RemoteStep:
        key = tuple(feeds), tuple(fetches), tuple(targets)
        with self._lock:
            self._check_open()
            found = self._steps.get(key)
        if found is None:
            self._release()
            found = self._make(*key)
        with self._lock:
            found = self._steps.setdefault(key, found)
            self._recent[key] = found
            self._recent.move_to_end(key)
            while len(self._recent) > _RECENT_SIGNATURES:
                self._recent.popitem(last=False)
        return found

    def _make(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> RemoteStep:
        # The values of fetches that are fed are here already.
        places = {_tensor(name): i for i, name in enumerate(feeds)}
        fed = [(i, places[_tensor(f)]) for i, f in enumerate(fetches) if _tensor(f) in places]
        asked = [f for f in fetches if _tensor(f) not in places]
        response = self.call(
            "MakeCallable",
            messages.MakeCallableRequest(
                session_handle=self.handle,
                options=CallableOptions(feed=feeds, fetch=asked, target=targets),
                request_id=new_request_id(),
            ),
            messages.MakeCallableResponse,
        )
        step = RemoteStep(self, (feeds, tuple(asked), targets), fed, response)
        weakref.finalize(step, self._released.append, response.handle).atexit = False
        return step

    def _release(self) -> None:
        """Lets the master forget the callables of steps that nothing holds any more."""
        while self._released:
            request = messages.ReleaseCallableRequest(
                session_handle=self.handle, handle=self._released.popleft()
            )
            self.client.threads.submit(
                self._quietly, "ReleaseCallable", request, messages.ReleaseCallableResponse
            )

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> RemotePartialStep:
        self._check_open()
        response = self.call(
            "PartialRunSetup",
            messages.PartialRunSetupRequest(
                session_handle=self.handle, feed=feeds, fetch=fetches, target=targets
            ),
            messages.PartialRunSetupResponse,
            repeat=False,
        )
        return RemotePartialStep(self, response.partial_run_handle, targets)

    def list_devices(self) -> list[bytes]:
        self._check_open()
        response = self.call(
            "ListDevices",
            messages.ListDevicesRequest(session_handle=self.handle),
            messages.ListDevicesResponse,
        )
        found = itertools.chain(response.local_device, response.remote_device)
        return [device.SerializeToString() for device in found]

    def reset(self, containers: Sequence[str]) -> None:
        self.call("Reset", messages.ResetRequest(container=containers), messages.ResetResponse)

    def live_tasks(self, job: str) -> list[int]:
        """The tasks of a job that are alive; services.ClusterSession."""
        request = LiveTasksRequest(session_handle=self.handle, job=job)
        deadline = Deadline.after(self.operation_s)
        response = self._worker.call("LiveTasks", request, LiveTasksResponse, deadline, repeat=True)
        return list(response.index)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._recent.clear()
        request = messages.CloseSessionRequest(session_handle=self.handle)
        self._quietly("CloseSession", request, messages.CloseSessionResponse)

    def _quietly(self, method: str, request: Any, response: type) -> None:
        try:
            self.master.call(method, request, response, Deadline.after(_GOODBYE_S))
        except (errors.OpError, RuntimeError) as error:  # the master ends it with the client
            _log.debug("%s of session %s: %s", method, self.handle, error)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")


def _tensor(name: str) -> str:
    return name if ":" in name else f"{name}:0"
