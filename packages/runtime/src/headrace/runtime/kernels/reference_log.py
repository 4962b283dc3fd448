"""Logs, once per op, that a Python kernel was chosen: such kernels are slow."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("headrace.runtime")
# Calling Python is the purpose of these ops.
_PYTHON_BY_NATURE = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_logged: dict[str, object] = {}


def log_once(op: str, node: str, library: str) -> None:
    """Logs a warning the first time that a Python library computes an op."""
    if op in _PYTHON_BY_NATURE:
        return
    mine = object()
    if _logged.setdefault(op, mine) is not mine:
        return
    _LOGGER.warning(
        "%s '%s' runs on the Python kernel of library '%s', which is slow: no compiled kernel "
        "takes this op with these types and attributes. Further %s nodes are not logged; "
        "ConfigProto.experimental.refuse_reference_kernels rejects them.",
        op,
        node,
        library,
        op,
    )
