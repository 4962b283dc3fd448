"""The library object that the runtime finds by entry point."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from headrace.formats import op_catalogue
from headrace.formats.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
)
from headrace.formats.interrupts import interrupts_held
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
        return _modules().keys()

    def create(self, op: str, attrs: registry.Attrs) -> Callable[..., Any]:
        """The kernel of one node.

        Raises: NotFoundError for an op that is not in `ops()`.
        """
        module = _modules().get(op)
        if module is None:
            raise NotFoundError(None, None, f"the reference library has no kernel for {op}")
        with interrupts_held():
            import_module(f"headrace.kernels.reference.ops.{module}")
        family = op_catalogue.family(op)
        compute = registry.factories[op](attrs)

        ranks = _sparse_ranks(op, attrs) if family == "sparse" else []

        # What Python or NumPy rejects in a kernel is input that the kernel does not check itself;
        # in the user's own function it may be anything.
        caught = (ValueError, IndexError, OverflowError) if family == "script" else Exception

        def error_boundary(*inputs: np.ndarray) -> Any:
            for x, (name, rank) in zip(inputs, ranks, strict=False):
                if rank and x.ndim != rank:
                    kind = "matrix" if rank == 2 else "vector"
                    text = f"Input {name} should be a {kind} but received shape {list(x.shape)}"
                    raise InvalidArgumentError(None, None, text)
            try:
                with np.errstate(all="ignore"):  # NaN and infinity are ordinary values here
                    outputs = compute(*inputs)
            except OpError:
                raise
            except MemoryError as error:
                raise ResourceExhaustedError(None, None, f"{op}: no memory: {error}") from error
            except caught as error:
                shapes = ", ".join(f"{x.dtype}{list(x.shape)}" for x in inputs)
                text = f"{op}: {error} (the inputs are {shapes})"
                raise InvalidArgumentError(None, None, text) from error
            if isinstance(outputs, (list, tuple)):
                return [_as_array(output) for output in outputs]
            return _as_array(outputs)

        return error_boundary


def _sparse_ranks(op: str, attrs: registry.Attrs) -> list[tuple[str, int]]:
    """Each input's name, and its rank where it is a part of a sparse tensor, else 0."""
    if op == "SparseToDense":  # takes a single cell as well
        return []
    ranks = []
    for arg in op_catalogue.signature(op).inputs:
        count = 1
        if arg.number_attr:
            count = attrs[arg.number_attr]
        elif arg.type_list_attr:
            count = len(attrs[arg.type_list_attr])
        part = arg.name.rpartition("_")[2]
        rank = {"indices": 2, "values": 1, "shape": 1, "shapes": 1}.get(part, 0)
        ranks += [(arg.name, rank)] * count
    return ranks


def _as_array(value: Any) -> np.ndarray:
    """NumPy makes a scalar of an array without dimensions; of bytes it would make a fixed size."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


@lru_cache(maxsize=1)
def library() -> ReferenceKernels:
    """The entry point `headrace.kernels: reference`."""
    return ReferenceKernels()


@lru_cache(maxsize=1)
def _modules() -> dict[str, str]:
    """Op name to module below `ops`, read from the decorators without importing any module."""
    found: dict[str, str] = {}
    top = os.path.join(os.path.dirname(__file__), "ops")
    for folder, _, files in sorted(os.walk(top)):
        package = os.path.relpath(folder, top).replace(os.sep, ".")
        for file in sorted(files):
            stem, extension = os.path.splitext(file)
            if extension == ".py":
                module = stem if package == "." else f"{package}.{stem}"
                with open(os.path.join(folder, file), encoding="utf-8") as stream:
                    for registration in _REGISTRATION.finditer(stream.read()):
                        found.update((op, module) for op in _NAME.findall(registration.group(1)))
    return found
