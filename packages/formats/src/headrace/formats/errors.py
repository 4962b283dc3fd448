"""One exception class per canonical status code, with TensorFlow's names and numbers."""

from __future__ import annotations

import re
from typing import Any

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """Base class of the errors that graphs, sessions and file readers raise.

    Args:
      node_def: NodeDef of the op that failed, or None.
      op: Operation that failed, or None; the client session fills it in.
      message: what is wrong, with both values, and how to fix it.
      error_code: canonical code, 1 to 16.
      node_name: name of the failed node, where no NodeDef is available.
      path: file that the error concerns.
      offset: byte offset in that file at which the corruption starts.
      details: further fields, stored as given.
    """

    def __init__(
        self,
        node_def: Any,
        op: Any,
        message: str,
        error_code: int,
        *,
        node_name: str | None = None,
        path: str | None = None,
        offset: int | None = None,
        details: Any = None,
    ) -> None:
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = error_code
        self.node_name = node_name
        if node_name is None:
            self.node_name = getattr(op, "name", None) or getattr(node_def, "name", None)
        self.path = path
        self.offset = offset
        self.details = details

    @property
    def code(self) -> int:
        """Canonical code, 1 to 16."""
        return self.error_code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # The op belongs to a graph of this process; all other fields are pickled.
        state = {
            "node_def": self.node_def,
            "message": self.message,
            "error_code": self.error_code,
            "node_name": self.node_name,
            "path": self.path,
            "offset": self.offset,
            "details": self.details,
        }
        return _rebuild, (type(self), state)


class _CodedError(OpError):
    """An OpError with the code of its class."""

    _code = UNKNOWN

    def __init__(
        self, node_def: Any, op: Any, message: str, error_code: int | None = None, **fields: Any
    ) -> None:
        super().__init__(
            node_def, op, message, self._code if error_code is None else error_code, **fields
        )


class CancelledError(_CodedError):
    """The step was cancelled, often because its session was closed."""

    _code = CANCELLED


class UnknownError(_CodedError):
    """No better code is known."""

    _code = UNKNOWN


class InvalidArgumentError(_CodedError):
    """An argument is wrong whatever the state of the system."""

    _code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """The timeout of a step expired."""

    _code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, resource, op or name does not exist."""

    _code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """An object of this name already exists."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The caller lacks the permission."""

    _code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    """Memory, or another quota, ran out."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the required state: for instance, a variable is uninitialised."""

    _code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The operation was aborted; the caller may retry from a checkpoint."""

    _code = ABORTED


class OutOfRangeError(_CodedError):
    """A reader, queue or iterator reached its end."""

    _code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """No kernel implements the op for this device and these dtypes."""

    _code = UNIMPLEMENTED


class InternalError(_CodedError):
    """An internal invariant of Headrace is violated."""

    _code = INTERNAL


class UnavailableError(_CodedError):
    """A service is unreachable; a retry may succeed."""

    _code = UNAVAILABLE


class DataLossError(_CodedError):
    """Data is missing or corrupted at `offset` of the file `path`."""

    _code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    """The caller has no valid credentials."""

    _code = UNAUTHENTICATED


_CLASS_BY_CODE: dict[int, type[_CodedError]] = {
    cls._code: cls for cls in _CodedError.__subclasses__()
}


def _rebuild(cls: type[OpError], state: dict[str, Any]) -> OpError:
    code = state.pop("error_code")
    return cls(state.pop("node_def"), None, state.pop("message"), code, **state)


_IN_FILE = re.compile(r"(?:\w+ '[^']*': )?(.+?): at byte (\d+): ", re.DOTALL)


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the exception class of a canonical code.

    Raises: KeyError for a code outside 1 to 16.
    """
    return _CLASS_BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns the canonical code of an exception class; UNKNOWN for OpError."""
    return getattr(cls, "_code", UNKNOWN)


def from_code(code: int, message: str, node_name: str | None = None, **fields: Any) -> OpError:
    """Creates the exception for a status received from C or gRPC; unknown codes give UnknownError.

    Args:
      code: canonical code, 1 to 16.
      message: text of the error.
      node_name: name of the failed node, if known.
      fields: path and offset, for errors about files. If they are absent, they are parsed from
        messages of the form "PATH: at byte 12: ...", with or without a preceding node name.
    """
    if not fields and (found := _IN_FILE.match(message)):
        fields = {"path": found[1], "offset": int(found[2])}
    cls = _CLASS_BY_CODE.get(code, UnknownError)
    return cls(None, None, message, code, node_name=node_name, **fields)
