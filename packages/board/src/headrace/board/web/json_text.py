"""JSON text: written so that every parser reads it, and checked for depth."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def dump_json(document: Any) -> str:
    """Returns JSON that every parser reads: NaN and infinities become strings."""
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    except ValueError:
        plain = _without_nan(document)
        return json.dumps(plain, allow_nan=False, separators=(",", ":"), ensure_ascii=True)


def is_deeper(document: Any, max_depth: int) -> bool:
    """Returns whether lists and objects are nested deeper than max_depth.

    Parsers and writers recurse, so very deep documents exhaust their stack.
    """
    level = [document]
    for _ in range(max_depth):
        level = [
            item
            for outer in level
            if isinstance(outer, (list, dict))
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value
