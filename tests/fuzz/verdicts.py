"""Verdicts on the outcomes of a case."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Outcome = tuple[str, Any]
UNKNOWN, INTERNAL, DEADLINE, CANCELLED = 2, 13, 4, 1
SLOW_S = 3.0  # of CPU time beyond what the timeouts of the runs allow
# Relative and absolute, by dtype: kernels of two systems sum in different orders.
_TOLERANCES = {
    "float64": (1e-6, 1e-9), "complex128": (1e-6, 1e-9), "float32": (2e-3, 1e-4),
    "complex64": (2e-3, 1e-4), "float16": (2e-2, 2e-2), "bfloat16": (6e-2, 6e-2),
}  # fmt: skip


def of_ours(outcomes: list[Outcome], random: bool, used_s: float) -> list[tuple[str, str]]:
    """Verdicts that need no other system: (verdict, detail) each."""
    found = []
    for how, what in outcomes:
        if how == "raw":
            found.append(("raw exception", what))
        if how == "rejected" and what[0] in (UNKNOWN, INTERNAL):
            found.append(("unfit code", f"{what[0]}: {what[1]}"))
    if len(outcomes) > 1 and not random:
        first, second = outcomes[:2]
        if {first[0], second[0]} == {"values", "rejected"}:
            late = [w for h, w in (first, second) if h == "rejected"]
            if late[0][0] not in (DEADLINE, CANCELLED):
                found.append(("unstable", f"one of two equal runs: {late[0]}"))
        elif first[0] == "values" and (reason := difference(first[1], second[1])):
            found.append(("unstable", f"two equal runs: {reason}"))
    if used_s > SLOW_S:
        found.append(("slow", f"{used_s:.1f} s of CPU time under timeouts of 0.15 s"))
    return list(dict(found).items())


def against(ours: list[Outcome], theirs: list[Outcome], random: bool) -> list[tuple[str, str]]:
    """Verdicts by comparison with TensorFlow's outcomes."""
    found: dict[str, str] = {}
    for mine, peer in zip(ours, theirs, strict=False):
        if mine[0] == "values" and peer[0] == "rejected":
            code, text = peer[1]
            if code in (DEADLINE, CANCELLED) or _has_no_kernel(text):
                continue
            found.setdefault("TensorFlow rejects", text[:300])
        elif mine[0] == "rejected" and peer[0] == "values":
            code, text = mine[1]
            if code not in (DEADLINE, CANCELLED):
                found.setdefault("rejected, TensorFlow gives a result", f"{code}: {text[:300]}")
        elif mine[0] == peer[0] == "values" and not random:
            if reason := difference(mine[1], peer[1]):
                found.setdefault("different values", reason)
    return list(found.items())


def _has_no_kernel(text: str) -> bool:
    """Whether TensorFlow's CPU kernels just lack the dtype, or have lost the op."""
    words = (  # client: what only the Python session of today's TensorFlow rejects
        "No OpKernel", "Could not find device for node", "not registered", "no longer supported",
        "is not available in GraphDef version", "No registered", "client:",
        "has constraint on attr", "only supports NHWC", "only supports the NHWC",
        "do not yet support", "does not yet support", "not supported on CPU",
    )  # fmt: skip
    return any(word in text for word in words)


def difference(ours: list[Any], theirs: list[Any]) -> str:
    """How two lists of portable arrays differ; empty where they agree."""
    for index, (mine, peer) in enumerate(zip(ours, theirs, strict=True)):
        if mine[0] != peer[0]:
            return f"output {index}: dtype {mine[0]}, {peer[0]}"
        if tuple(mine[1]) != tuple(peer[1]):
            return f"output {index}: shape {mine[1]}, {peer[1]}"
        if mine[2] == peer[2]:
            continue
        if mine[0] == "object":
            return f"output {index}: {str(mine[2])[:120]}, {str(peer[2])[:120]}"
        kind = np.dtype(getattr(ml_dtypes, mine[0], mine[0]))
        a, b = (np.frombuffer(form[2], kind) for form in (mine, peer))
        if mine[0] in _TOLERANCES:
            relative, absolute = _TOLERANCES[mine[0]]
            wide = np.complex128 if kind.kind == "c" else np.float64
            with np.errstate(all="ignore"):
                same = np.isclose(a.astype(wide), b.astype(wide), relative, absolute, True)
        else:
            same = a == b
        if not same.all():
            at = int(np.argmin(same))
            return f"output {index}, element {at} of {mine[1]}: {a[at]}, {b[at]}"
    return ""
