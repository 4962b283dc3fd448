"""Calls of a service of another process: deadline, token, errors, repetition."""

from __future__ import annotations

import secrets
import time
from typing import Any

import grpc

from headrace.distributed.rpc.channels import Channels
from headrace.distributed.rpc.deadline import Deadline
from headrace.distributed.rpc.status import OF_CONNECTION, from_call
from headrace.distributed.rpc.token import call_metadata
from headrace.formats import errors

_PAUSE_S = 0.1  # before a call is repeated


def new_request_id() -> int:
    """Returns a random number above 0, by which a server knows a repeated request."""
    return secrets.randbits(62) + 1


class RemoteService:
    """A service of one process.

    Args:
      channels: of this process.
      service: "tensorflow.MasterService".
      task: who it is, for errors.
      address: "host:port".
    """

    def __init__(self, channels: Channels, service: str, task: str, address: str) -> None:
        self._channels = channels
        self._service = service
        self.task = task
        self.address = address
        self._metadata = call_metadata(channels.settings.token)

    def call(
        self,
        method: str,
        request: Any,
        response: type,
        deadline: Deadline | None,
        repeat: bool = False,
    ) -> Any:
        """Calls a method.

        Args:
          method: its name.
          request: the message.
          response: the class of the response.
          deadline: None: the call may take any time; keepalive finds out that the peer is gone.
          repeat: whether the call is repeated while the peer cannot be reached, for as long as a
            silent task counts as alive: for requests that change nothing, or carry a request_id.
        Returns: the response.
        Raises: errors.OpError: as the handler raised it; UnavailableError, DeadlineExceededError,
          UnauthenticatedError and others with the task and its address.
        """
        last_try: Deadline | None = None
        while True:
            try:
                return self._call(method, request, response, deadline)
            except errors.UnavailableError as error:
                if not repeat or error.details != OF_CONNECTION or deadline is None:
                    raise
                if last_try is None:
                    last_try = deadline.at_most(self._channels.settings.dead_after_s)
                if last_try.left_s <= _PAUSE_S:
                    raise
            time.sleep(_PAUSE_S)

    def _call(self, method: str, request: Any, response: type, deadline: Deadline | None) -> Any:
        who = f"{self.task} at {self.address}, {method}"
        if deadline is not None:
            deadline.check(who)
        call = self._channels.get(self.address).unary_unary(
            f"/{self._service}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,  # type: ignore[attr-defined]
        )
        try:
            return call(
                request,
                timeout=None if deadline is None else deadline.left_s,
                metadata=self._metadata,
            )
        except grpc.RpcError as error:
            raise from_call(error, who) from None
        except ValueError as error:  # the channel was closed meanwhile
            raise errors.CancelledError(None, None, f"{who}: {error}") from None
