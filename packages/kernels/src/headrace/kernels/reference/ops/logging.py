"""Ops that look at values and report on them, or fail the run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel
from headrace.kernels.reference.tensor_text import encoded, flat_summary_of


@kernel("Assert")
def assert_(attrs: Attrs, condition: np.ndarray, *data: np.ndarray) -> list[np.ndarray]:
    if not condition:
        shown = " ".join(flat_summary_of(x, attrs["summarize"]) for x in data)
        text = encoded(shown).decode("utf-8", "backslashreplace")
        raise InvalidArgumentError(None, None, f"assertion failed: {text}")
    return []


@stateful_kernel("Print")
def print_(attrs: Attrs) -> Callable[..., np.ndarray]:
    printed = [0]

    def compute(x: np.ndarray, *data: np.ndarray) -> np.ndarray:
        if attrs["first_n"] < 0 or printed[0] < attrs["first_n"]:
            printed[0] += 1
            shown = "".join(flat_summary_of(one, attrs["summarize"]) for one in data)
            _write("stderr", attrs["message"] + encoded(shown) + b"\n")
        return x.copy()

    return compute


@kernel("PrintV2")
def print_v2(attrs: Attrs, text: np.ndarray) -> list[np.ndarray]:
    shown = text.item() + attrs["end"]
    where = attrs["output_stream"].decode()
    if where.startswith("file://"):
        with open(where[len("file://") :], "ab") as stream:
            stream.write(shown)
    elif where.startswith("log("):
        _write("stderr", shown)
    else:
        _write(where, shown)
    return []


def _write(stream: str, text: bytes) -> None:
    if stream not in ("stdout", "stderr"):
        raise InvalidArgumentError(None, None, f"Unknown output stream: {stream}")
    getattr(sys, stream).write(text.decode("utf-8", "backslashreplace"))
    getattr(sys, stream).flush()


@kernel("CheckNumerics")
def check_numerics(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    kinds = {"Inf": bool(np.isinf(wide(x)).any()), "NaN": bool(np.isnan(wide(x)).any())}
    return _reject_any(attrs, x, " and ".join(name for name, found in kinds.items() if found))


@kernel("CheckNumericsV2")
def check_numerics_v2(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    values = wide(x)
    kinds = {
        "-Inf": bool(np.isneginf(values).any()),
        "+Inf": bool(np.isposinf(values).any()),
        "NaN": bool(np.isnan(values).any()),
    }
    found = [name for name, there in kinds.items() if there]
    if len(found) > 1:
        found[-1] = "and " + found[-1]
    return _reject_any(attrs, x, (", " if len(found) > 2 else " ").join(found))


def _reject_any(attrs: Attrs, x: np.ndarray, found: str) -> np.ndarray:
    if found:
        shown = attrs["message"].decode("utf-8", "backslashreplace")
        raise InvalidArgumentError(None, None, f"{shown} : Tensor had {found} values")
    return x.copy()


@kernel("Timestamp")
def timestamp(attrs: Attrs) -> np.ndarray:
    return np.array(time.time())
