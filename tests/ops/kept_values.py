"""Intended differences from TensorFlow's values: op, reason, inputs to which it applies, examples.

tests/fuzz/kept_differences.py does not report such values; edge_cases/poles.py leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

INF, NAN = np.inf, np.nan


class Kept(NamedTuple):
    """A pattern of ops; `where` takes the inputs and gives a mask; examples: inputs, our value."""

    op: str
    reason: str
    where: Callable[..., Any]
    examples: tuple[tuple[tuple[float, ...], float], ...]


def _large(*inputs: np.ndarray) -> Any:
    return np.all([x >= 1e9 for x in inputs], axis=0)


KEPT = (
    Kept("BesselJ[01]|BesselY[01]", "the limit at infinity is 0; TensorFlow's angle loses digits",
         lambda x: np.abs(x) >= 1e9, (((INF,), 0.0),)),
    Kept("BesselY1", "the limit at 0; TensorFlow's single kernel gives NaN",
         lambda x: x == 0, (((0.0,), -INF),)),
    Kept("Expint", "the limit at infinity", lambda x: x == INF, (((INF,), INF),)),
    Kept("Spence", "the limit at infinity", lambda x: x == INF, (((INF,), -INF),)),
    Kept("Dawsn", "odd; TensorFlow's loses the sign of what is large",
         lambda x: x <= -1e9, (((-1e10,), -5e-11),)),
    Kept("Erf", "Eigen's Erf of doubles whose square is infinite is NaN",
         lambda x: (x.dtype == np.float64) & np.isinf(x * x), (((-INF,), -1.0),)),
    Kept("Igamma", "a below 0 is outside of the domain; TensorFlow looks at x = 0 first",
         lambda a, x: ~(a >= 0) & (x == 0), (((-1.0, 0.0), NAN), ((NAN, 0.0), NAN))),
    Kept("IgammaGradA", "a up to 0 is outside of the domain; TensorFlow looks at x = 0 first",
         lambda a, x: ~(a > 0) & (x == 0), (((0.0, 0.0), NAN), ((-1.0, 0.0), NAN))),
    Kept("Igammac?|IgammaGradA", "TensorFlow's series ends before it converges",
         _large, (((INF, INF), NAN),)),
    Kept("Igamma", "TensorFlow's series ends before it converges",
         _large, (((1e10, 1e10), 0.500001329807601),)),
    Kept("Polygamma", "the sign is that of the order; TensorFlow's powers are single",
         lambda n, x: (n >= 1e9) & (n < INF), (((1e10, 1.0), -INF), ((1e10, 0.0), NAN))),
    Kept("RandomGammaGrad", "TensorFlow's density underflows, and 0 stands for the quotient",
         lambda a, x: (a >= 1e9) | (x >= 1e9),
         (((1.0, 1e10), 23.60306659494199), ((1e10, 1e10), 1.0), ((1e10, 1.0), 2.302585093e-9))),
    Kept("Betainc", "NaN stays; TensorFlow looks at x first",
         lambda a, b, x: (np.isnan(a) | np.isnan(b)) & ((x == 0) | (x == 1)),
         (((NAN, 1.0, 0.0), NAN), ((1.0, NAN, 1.0), NAN))),
)  # fmt: skip


def where_kept(op: str, inputs: Sequence[np.ndarray]) -> tuple[Any, str]:
    """The mask of elements whose value is ours alone, and a reason; False where there are none."""
    found: Any = False
    reason = ""
    for kept in KEPT:
        if not re.fullmatch(kept.op, op):
            continue
        try:
            with np.errstate(all="ignore"):
                mask = kept.where(*inputs)
        except (TypeError, ValueError):  # as many inputs or shapes as the op does not take
            continue
        if np.any(mask):
            found, reason = mask | found, kept.reason
    return found, reason
