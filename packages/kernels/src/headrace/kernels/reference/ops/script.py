"""Functions of the user's Python program as ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats import callables
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    UnimplementedError,
    UnknownError,
)
from headrace.kernels.reference.precision import numpy_type
from headrace.kernels.reference.registry import Attrs, stateful_kernel

# How exceptions of Python fail a run, the first that matches.
_ERRORS: tuple[tuple[type[Exception], Any], ...] = (
    (StopIteration, OutOfRangeError),
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
    (NotImplementedError, UnimplementedError),
    (Exception, UnknownError),
)


def _failure(error: Exception) -> Exception:
    """Returns the error of the run for an exception of a user's function, with its traceback."""
    lines = [f"{type(error).__name__}: {error}"]
    trace = error.__traceback__.tb_next if error.__traceback__ else None  # without this module
    if trace is not None and not isinstance(error, StopIteration):
        lines.append("Traceback (most recent call last):")
    while trace is not None and not isinstance(error, StopIteration):
        code = trace.tb_frame.f_code
        lines.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}')
        trace = trace.tb_next
    kind = next(kind for base, kind in _ERRORS if isinstance(error, base))
    failure: Exception = kind(None, None, "\n".join(lines))
    return failure


@stateful_kernel("PyFunc", "PyFuncStateless", "EagerPyFunc")
def py_func(attrs: Attrs) -> Callable[..., list[np.ndarray]]:
    """Calls what the program registered under the node's token in this process."""
    token = attrs["token"].decode()
    function = callables.find(token)
    requested = [numpy_type(number) for number in attrs["Tout"]]

    def compute(*inputs: np.ndarray) -> list[np.ndarray]:
        try:
            results = function(*inputs)
        except (OpError, MemoryError):  # they have codes of their own
            raise
        except Exception as error:
            raise _failure(error) from error
        if results is None:
            results = []
        elif not isinstance(results, (list, tuple)):
            results = [results]
        if len(results) != len(requested):
            raise InvalidArgumentError(
                None,
                None,
                f"{token} returns {len(results)} values, "
                f"but expects to see {len(requested)} values.",
            )
        return [
            _of_type(token, i, r, t)
            for i, (r, t) in enumerate(zip(results, requested, strict=True))
        ]

    return compute


def _of_type(token: str, place: int, value: Any, requested: np.dtype) -> np.ndarray:
    if requested.kind == "O":
        array = np.asarray(value, object)
        flat = [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
        result = np.empty(len(flat), object)
        result[:] = flat
        return result.reshape(array.shape)
    array = np.asarray(value)
    if array.dtype == requested:
        return array.copy()
    if isinstance(value, (bool, int, float, complex, list, tuple)):  # Python's types have no width
        return array.astype(requested)
    raise InvalidArgumentError(
        None,
        None,
        f"{place}-th value returned by {token} is {as_dtype(array.dtype).name}, but expects "
        f"{as_dtype(requested).name}",
    )
