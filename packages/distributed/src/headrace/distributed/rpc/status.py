"""Errors as the status of gRPC calls, and back.

An error that a handler raises is marked in the trailing metadata: it reaches the caller as it is.
Any other status is one of the connection, and its error names the task and its address.
"""

from __future__ import annotations

from typing import Any

import grpc

from headrace.formats import errors

_ERROR_KEY = "headrace-error-bin"  # the name of the node that failed, or nothing
_MOST_TEXT = 1 << 16  # bytes of a message; gRPC limits all metadata of a call
METADATA_LIMIT = 4 * _MOST_TEXT
OF_CONNECTION = "connection"  # the details of errors that no handler has raised

_STATUS = {status.value[0]: status for status in grpc.StatusCode}


def abort(context: grpc.ServicerContext, error: errors.OpError) -> None:
    """Ends a call with an error. Raises: Exception, by which gRPC leaves the handler."""
    context.set_trailing_metadata(((_ERROR_KEY, (error.node_name or "").encode()),))
    text = error.message.encode()[:_MOST_TEXT].decode(errors="ignore")
    context.abort(_STATUS.get(error.error_code, grpc.StatusCode.UNKNOWN), text)


def from_call(call: Any, who: str) -> errors.OpError:
    """Returns the error of a failed call.

    Args:
      call: the grpc.RpcError, which is the call.
      who: the task, its address and the method, for errors of the connection.
    """
    code = call.code().value[0]
    details = call.details() or "no details"
    for key, value in call.trailing_metadata() or ():
        if key == _ERROR_KEY:
            return errors.from_code(code, details, value.decode(errors="replace") or None)
    return errors.from_code(code, f"{who}: {details}", details=OF_CONNECTION)


def is_unimplemented(error: errors.OpError) -> bool:
    """Whether the server has no such method: it is one of another system."""
    return error.error_code == errors.UNIMPLEMENTED
