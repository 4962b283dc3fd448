"""The library object that the runtime finds by entry point."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from headrace.formats.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
)
from headrace.kernels.reference import registry

_REGISTRATION = re.compile(r"^@?(?:stateful_)?kernel\(([^)]*)\)", re.MULTILINE)
_NAME = re.compile(r'"(\w+)"')


class ReferenceKernels:
    """A `headrace.formats.services.PythonKernels`; a family is imported when an op needs it."""

    library = "reference"
    version = "0.1.0"
    device_type = "CPU"
    priority = -100  # below everything compiled

    def ops(self) -> Iterable[str]:
        """The ops it has kernels for."""
        return _families().keys()

    def create(self, op: str, attrs: registry.Attrs) -> Callable[..., Any]:
        """The kernel of one node.

        Raises: NotFoundError for an op that is not in `ops()`.
        """
        family = _families().get(op)
        if family is None:
            raise NotFoundError(None, None, f"the reference library has no kernel for {op}")
        import_module(f"headrace.kernels.reference.{family}")
        compute = registry.factories[op](attrs)

        # What Python or NumPy refuses in a kernel is input that the kernel does not check itself;
        # in the user's own function it may be anything.
        refused = (ValueError, IndexError, OverflowError) if family == "script" else Exception

        def guarded(*inputs: np.ndarray) -> Any:
            try:
                with np.errstate(all="ignore"):  # NaN and infinity are values here, no accidents
                    outputs = compute(*inputs)
            except OpError:
                raise
            except MemoryError as error:
                raise ResourceExhaustedError(None, None, f"{op}: no memory: {error}") from error
            except refused as error:
                raise InvalidArgumentError(None, None, f"{op}: {error}") from error
            if isinstance(outputs, (list, tuple)):
                return [_as_array(output) for output in outputs]
            return _as_array(outputs)

        return guarded


def _as_array(value: Any) -> np.ndarray:
    """NumPy makes a scalar of an array without dimensions; of bytes it would make a fixed size."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


@lru_cache(maxsize=1)
def library() -> ReferenceKernels:
    """The entry point `headrace.kernels: reference`."""
    return ReferenceKernels()


@lru_cache(maxsize=1)
def _families() -> dict[str, str]:
    """Op name to module, read from the decorators, so that no family need be imported for it."""
    found: dict[str, str] = {}
    folder = os.path.dirname(__file__)
    for file in sorted(os.listdir(folder)):
        stem, extension = os.path.splitext(file)
        if extension == ".py":
            with open(os.path.join(folder, file), encoding="utf-8") as stream:
                for registration in _REGISTRATION.finditer(stream.read()):
                    found.update((op, stem) for op in _NAME.findall(registration.group(1)))
    return found
