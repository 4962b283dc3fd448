"""Methods of a service as gRPC handlers: messages, errors, repeated requests."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from headrace.distributed.rpc.status import abort
from headrace.formats import errors

_log = logging.getLogger("headrace.distributed")
_MOST_RESPONSES = 1024

Method = Callable[[Any, grpc.ServicerContext], Any]


class Responses:
    """The responses of recent requests by their number.

    A request that is repeated, since its sender lost the connection, gets the first one's response
    or error, and changes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: OrderedDict[tuple[str, int], Future[Any]] = OrderedDict()

    def once(self, method: str, request_id: int, make: Callable[[], Any]) -> Any:
        """Returns make(), or what the first request of this number gets; 0: no number."""
        if not request_id:
            return make()
        key = method, request_id
        with self._lock:
            known = self._futures.get(key)
            if known is None:
                future: Future[Any] = Future()
                self._futures[key] = future
                while len(self._futures) > _MOST_RESPONSES:
                    self._futures.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            response = make()
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(response)
        return response


def service_handler(
    service: str, methods: Mapping[str, tuple[Method, type]], streams: Mapping[str, Any]
) -> grpc.GenericRpcHandler:
    """Makes the handler of a service.

    Args:
      service: its full name.
      methods: by name: the function, which gets request and context, and the class of requests.
      streams: by name: functions that get an iterator of bytes and the context, and yield bytes.
    """
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            _bounded(f"/{service}/{name}", function, request),
            response_serializer=lambda message: message.SerializeToString(),
        )
        for name, (function, request) in methods.items()
    }
    for name, function in streams.items():
        handlers[name] = grpc.stream_stream_rpc_method_handler(function)
    return grpc.method_handlers_generic_handler(service, handlers)


def _bounded(path: str, function: Method, request_class: type) -> Callable[[bytes, Any], Any]:
    """The error boundary of a method."""

    def handle(wire: bytes, context: grpc.ServicerContext) -> Any:
        try:
            try:
                request = request_class.FromString(wire)  # type: ignore[attr-defined]
            except DecodeError as error:
                raise errors.InvalidArgumentError(
                    None, None, f"{path}: the request is no {request_class.__name__}: {error}"
                ) from None
            return function(request, context)
        except errors.OpError as error:
            abort(context, error)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not pass for the caller's
            _log.exception("%s failed", path)
            abort(context, errors.InternalError(None, None, f"{path}: {error!r}"))

    return handle
