"""Runs a case's one node in the real runtime."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from cases import Case
from one_node import one_node

from headrace.formats.services import SESSIONS, find_service


def run_in_runtime(
    case: Case, dtype: str, values: list[Any] | None = None, compiled: bool = True
) -> list[np.ndarray]:
    """The outputs of a case.

    Args:
      values: instead of the case's own inputs.
      compiled: reject the reference kernels, so that a compiled one must have run.
    """
    node = one_node(case, dtype, values)
    session = _service()("", _config(compiled))
    try:
        session.extend(node.graph_def)
        step = session.prepare(list(node.feeds), node.fetches, [] if node.fetches else ["it"])
        return [_array(value) for value in step(list(node.feeds.values()))]
    finally:
        session.close()


@lru_cache(maxsize=1)
def _service() -> Any:
    return find_service(SESSIONS, "local")


def _config(compiled: bool) -> bytes:
    from headrace.formats.proto.run_pb2 import ConfigProto

    config = ConfigProto()
    config.experimental.refuse_reference_kernels = compiled
    return config.SerializeToString()


def _array(value: Any) -> np.ndarray:
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
