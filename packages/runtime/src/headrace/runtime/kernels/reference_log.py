"""Says, once per op, that a kernel written in Python was taken: such a kernel is slow."""

from __future__ import annotations

import logging

_LOGGER = logging.getLogger("headrace.runtime")
# They call Python because that is what they are for.
_PYTHON_BY_NATURE = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_logged: dict[str, object] = {}


def log_once(op: str, node: str, library: str) -> None:
    """Logs a warning the first time that an op is computed by a library written in Python."""
    if op in _PYTHON_BY_NATURE:
        return
    mine = object()
    if _logged.setdefault(op, mine) is not mine:
        return
    _LOGGER.warning(
        "%s '%s' runs on the Python kernel of library '%s', which is slow: no compiled kernel "
        "takes this op with these types and attributes. Further %s nodes are not logged; "
        "ConfigProto.experimental.refuse_reference_kernels refuses them.",
        op,
        node,
        library,
        op,
    )
