"""The calls that a session's machine orders, each of which ends in an event."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from headrace.distributed.machines import master_session as machine
from headrace.distributed.master.cluster_view import ClusterView
from headrace.distributed.master.planned_signature import PlannedSignature
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.links import Links
from headrace.distributed.rpc.status_call import check_incarnation
from headrace.formats import errors
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.proto.worker_service_pb2 import (
    ConnectRequest,
    DeregisterGraphRequest,
    OpenWorkerSessionRequest,
    TaskInstance,
)

_log = logging.getLogger("headrace.distributed")

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0  # between attempts to reach a task
_ATTEMPT_S = 5.0
_GOODBYE_S = 2.0  # for calls that only free what a task holds


class TaskCalls:
    """Calls of one session to its tasks.

    Args:
      session: its number.
      config: passed to the tasks.
      view: the tasks.
      links: of this process.
      address: of the master.
      operation_s: the time limit of an operation.
    Attributes:
      instances: the tasks that have the session, as they were when they got it.
    """

    def __init__(
        self,
        session: int,
        config: ConfigProto,
        view: ClusterView,
        links: Links,
        address: str,
        operation_s: float,
    ) -> None:
        self.instances: dict[str, TaskInstance] = {}
        self._session = session
        self._view = view
        self._links = links
        self._operation_s = operation_s
        self._config = ConfigProto()
        self._config.CopyFrom(config)
        self._own_state = config.isolate_session_state
        for field in ("cluster_def", "device_filters", "isolate_session_state"):
            self._config.ClearField(field)
        self._master = TaskInstance(
            task=links.endpoint.name, address=address, incarnation=links.endpoint.incarnation
        )
        self._errors: dict[str, errors.OpError] = {}  # by message, to keep the names of nodes
        self._lock = threading.Lock()

    def error_of(self, code: int, message: str) -> errors.OpError:
        """Returns the error that an event reported."""
        with self._lock:
            found = self._errors.pop(message, None)
        node = found.node_name if found is not None else None
        return errors.from_code(code, message, node)

    def internal(self, error: Exception) -> tuple[int, str]:
        """Returns code and message for a fault of this package, which is logged."""
        _log.exception("session %x: a call failed", self._session)
        return errors.INTERNAL, f"a call of the master failed: {error!r}"

    def open(self, task: str, given_up: Callable[[], bool]) -> machine.Event:
        """Finds a task, links to it, and opens the session there."""
        deadline = Deadline.after(self._operation_s)
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return self._open(task, deadline)
            except errors.OpError as error:
                transient = isinstance(
                    error, (errors.UnavailableError, errors.DeadlineExceededError)
                )
                if not transient:
                    return machine.OpenFailed(task, *self._failure(error))
                if deadline.left_s <= pause or given_up():
                    why = (
                        f"{task} is not available after {self._operation_s:g} s "
                        f"(operation_timeout_in_ms): {error}"
                    )
                    return machine.OpenFailed(task, errors.UNAVAILABLE, why)
            if pause == _LONGEST_PAUSE_S:
                _log.info("session %x waits for %s", self._session, task)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _open(self, task: str, deadline: Deadline) -> machine.Event:
        client = self._view.client(task)
        attempt = deadline.at_most(_ATTEMPT_S)
        status = client.status(attempt)
        self._view.note(task, status)
        try:
            self._links.ensure(task, client.address, status.incarnation, attempt)
        except errors.AbortedError as error:  # restarted since: it is asked again
            raise errors.UnavailableError(None, None, error.message) from None
        request = OpenWorkerSessionRequest(
            session=self._session,
            master=self._master,
            config=self._config,
            own_state=self._own_state,
            task=task,
        )
        client.open_session(request, deadline)
        self.instances[task] = TaskInstance(
            task=task, address=client.address, incarnation=status.incarnation
        )
        return machine.Opened(task, status.incarnation)

    def register(self, signature: PlannedSignature, task: str) -> machine.Event:
        """Registers what a task runs of a signature."""
        deadline = Deadline.after(self._operation_s)
        try:
            request = signature.register_request(self._session, task, self.instances)
            number = self._view.client(task).register_graph(request, deadline)
        except errors.OpError as error:
            return machine.RegisterFailed(signature.number, task, *self._failure(error))
        return machine.Registered(signature.number, task, number)

    def check(
        self, task: str, incarnation: int, signatures: Iterable[PlannedSignature]
    ) -> machine.Event:
        """Asks whether a task still has the session, and renews its links."""
        deadline = Deadline.after(min(self._operation_s, self._links.settings.dead_after_s))
        client = self._view.client(task)
        request = ConnectRequest(session=self._session)
        peers = {peer for s in signatures if task in s.tasks for peer in s.peers_of(task)}
        request.peer.extend(self.instances[p] for p in sorted(peers) if p in self.instances)
        try:
            status = client.status(deadline)
            check_incarnation(status, task, client.address, incarnation)
            self._links.ensure(task, client.address, incarnation, deadline)
            client.connect(request, deadline)
        except errors.AbortedError as error:
            return machine.CheckFailed(task, *self._failure(error))
        except errors.OpError as error:
            _, message = self._failure(error)
            return machine.CheckFailed(task, errors.UNAVAILABLE, message)
        return machine.Checked(task)

    def deregister(self, task: str, partition: int) -> None:
        """Lets a task forget a partition, if it can be reached."""
        request = DeregisterGraphRequest(session=self._session, partition=[partition])
        try:
            self._view.client(task).deregister_graph(request, Deadline.after(_GOODBYE_S))
        except errors.OpError as error:
            _log.debug("%s keeps partition %d: %s", task, partition, error)

    def close(self, task: str) -> None:
        """Lets a task close the session, if it can be reached."""
        try:
            self._view.client(task).close_session(self._session, Deadline.after(_GOODBYE_S))
        except errors.OpError as error:
            _log.debug("%s keeps session %x: %s", task, self._session, error)

    def _failure(self, error: errors.OpError) -> tuple[int, str]:
        if error.node_name:
            with self._lock:
                self._errors[error.message] = error
        return error.error_code, error.message
