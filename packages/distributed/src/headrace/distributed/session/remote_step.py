"""Steps of a session whose master is in another process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.distributed.rpc.deadline import Deadline
from headrace.formats import errors
from headrace.formats.proto import master_pb2 as messages
from headrace.formats.proto.run_pb2 import RunOptions
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto

if TYPE_CHECKING:
    from headrace.distributed.session.remote_master_session import RemoteMasterSession

# What the master's endpoint says where a call runs nothing, and asking by gRPC first helps.
_NOT_STARTED = ("has no callable", "there is no link to")


class RemoteStep:
    """services.Step: a callable of the master, run by frames where there is a link.

    Args:
      session: its session.
      names: feeds, fetches that are not fed, and targets.
      fed: pairs (place in the fetches, number of the feed) of those that are fed.
      made: the master's response.
    """

    def __init__(
        self,
        session: RemoteMasterSession,
        names: tuple[Sequence[str], Sequence[str], Sequence[str]],
        fed: list[tuple[int, int]],
        made: messages.MakeCallableResponse,
    ) -> None:
        self._session = session
        self._names = names
        self._fed = fed
        self._handle = made.handle
        self._dtypes = list(made.feed_dtype)
        self._call = None
        if session.incarnation and len(self._dtypes) == len(names[0]):
            self._call = session.client.endpoint.make_call(
                session.incarnation,
                session.task,
                session.number,
                made.handle,
                self._dtypes,
                len(names[1]),
            )

    def __call__(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        return self._with_fed(self._run(values, self._session.timeout_ms, False)[0], values)

    def run(self, values: Sequence[np.ndarray], options: bytes) -> tuple[list[np.ndarray], bytes]:
        """Runs the step with serialized RunOptions; services.Step.run."""
        parsed = RunOptions.FromString(options)
        traced = parsed.trace_level > RunOptions.NO_TRACE
        if traced or parsed.output_partition_graphs:  # the master joins the traces of the tasks
            results, metadata = self._run_by_rpc(values, parsed)
        else:
            timeout_ms = parsed.timeout_in_ms or self._session.timeout_ms
            results, metadata = self._run(values, timeout_ms, False)
        return self._with_fed(results, values), metadata

    def explain(self) -> str:
        """Returns a readable report."""
        feeds, fetches, targets = (", ".join(names) or "none" for names in self._names)
        plane = "frames" if self._call is not None else "gRPC"
        return (
            f"callable {self._handle} of {self._session.task} at {self._session.address}, run by "
            f"{plane}\n  feeds: {feeds}\n  fetches: {fetches}\n  targets: {targets}"
        )

    def _run(
        self, values: Sequence[np.ndarray], timeout_ms: int, traced: bool
    ) -> tuple[list[Any], bytes]:
        if self._call is None:
            return self._run_by_rpc(values, RunOptions(timeout_in_ms=timeout_ms))
        try:
            found: tuple[list[Any], bytes] = self._call.run(values, timeout_ms, traced)
            return found
        except errors.OpError as error:
            if error.error_code not in (errors.UNAVAILABLE, errors.ABORTED):
                raise
            if error.details != "not started" and not any(
                text in error.message for text in _NOT_STARTED
            ):
                raise
        self._renew()
        return self._run_by_rpc(values, RunOptions(timeout_in_ms=timeout_ms))

    def _renew(self) -> None:
        session = self._session
        limit_s = min(session.operation_s, session.client.channels.settings.dead_after_s)
        try:
            session.renew_link(Deadline.after(limit_s))
        except errors.UnavailableError:
            pass  # the call says what is wrong

    def _run_by_rpc(
        self, values: Sequence[np.ndarray], options: RunOptions
    ) -> tuple[list[Any], bytes]:
        session = self._session
        request = messages.RunCallableRequest(
            session_handle=session.handle, handle=self._handle, options=options
        )
        for i, value in enumerate(values):
            request.feed.append(make_tensor_proto(value, self._dtypes[i] if self._dtypes else None))
        # The master ends the step in time; a step without a limit may take any time.
        deadline = None
        if options.timeout_in_ms:
            deadline = Deadline.after(options.timeout_in_ms / 1000 + session.operation_s)
        response = session.master.call(
            "RunCallable", request, messages.RunCallableResponse, deadline
        )
        results: list[Any] = [make_ndarray(tensor)[()] for tensor in response.fetch]
        return results, response.metadata.SerializeToString()

    def _with_fed(self, results: list[Any], values: Sequence[np.ndarray]) -> list[Any]:
        for place, feed in self._fed:
            # A copy: the caller may modify the fed array later.
            results.insert(place, np.array(values[feed])[()])
        return results
