"""Compares results of Qr and Svd except for the sign, or the phase, of each column."""

from __future__ import annotations

from typing import Any

import numpy as np
import verdicts


def equal_but_for_signs(op: str, ours: list[Any], theirs: list[Any]) -> bool:
    """Whether all outputs of a Qr or Svd are equal except for the signs of columns.

    The columns of a full basis beyond the span of the matrix may be any orthonormal ones.

    Args:
      ours, theirs: (dtype, shape, bytes) of all outputs of the node, in order.
    """
    if len(ours) != {"Qr": 2, "Svd": 3}.get(op) or [o[:2] for o in ours] != [o[:2] for o in theirs]:
        return False
    shapes = [form[1] for form in ours]
    spanned = min(shapes[0][-2], shapes[1][-1]) if op == "Qr" else shapes[0][-1]
    bases = (0,) if op == "Qr" else (1, 2)
    forms = [
        [_magnitudes(form, spanned if i in bases else None) for i, form in enumerate(side)]
        for side in (ours, theirs)
    ]
    return not verdicts.difference(*forms)


def _magnitudes(form: Any, columns: int | None) -> Any:
    dtype, shape, data = form
    values = np.abs(np.frombuffer(data, dtype).reshape(shape))
    values = np.ascontiguousarray(values[..., :columns])
    return values.dtype.name, values.shape, values.tobytes()
