"""Partial runs of a session whose master is in another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.distributed.rpc.deadline import Deadline
from headrace.formats import errors
from headrace.formats.proto import master_pb2 as messages
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto

if TYPE_CHECKING:
    from headrace.distributed.session.remote_master_session import RemoteMasterSession


class RemotePartialStep:
    """services.PartialStep by calls.

    Args:
      session: its session.
      handle: the master's, of the partial run.
      targets: operations, which have no value.
    """

    def __init__(self, session: RemoteMasterSession, handle: str, targets: Sequence[str]) -> None:
        self._session = session
        self._handle = handle
        self._targets = frozenset(targets)

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[Any]:
        """Supplies feeds and waits for fetches; services.PartialStep.run."""
        session = self._session
        request = messages.RunStepRequest(
            session_handle=session.handle,
            fetch=fetches,
            partial_run_handle=self._handle,
            store_errors_in_response_body=True,
        )
        for name, value in feeds.items():
            request.feed.add(name=name, tensor=make_tensor_proto(value))
        deadline = None
        if session.timeout_ms:
            deadline = Deadline.after(session.timeout_ms / 1000 + session.operation_s)
        response = session.master.call("RunStep", request, messages.RunStepResponse, deadline)
        if response.status_code:
            raise errors.from_code(
                response.status_code,
                response.status_error_message,
                response.status_error_node or None,
            )
        values = {tensor.name: make_ndarray(tensor.tensor)[()] for tensor in response.tensor}
        return [values.get(name) for name in fetches]

    def cancel(self, why: str) -> None:
        """Ends the run. The master ends it with the session, or when newer ones take its place."""
