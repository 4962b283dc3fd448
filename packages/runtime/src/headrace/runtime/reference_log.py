"""Says, once per op, that a kernel written in Python was taken: such a kernel is slow."""

from __future__ import annotations

import logging
import threading

_LOGGER = logging.getLogger("headrace.runtime")
# They call Python because that is what they are for.
_PYTHON_BY_NATURE = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_logged: set[str] = set()
_logging = threading.Lock()


def log_once(op: str, node: str, library: str) -> None:
    """Logs a warning the first time that an op is computed by a library written in Python."""
    if op in _PYTHON_BY_NATURE:
        return
    with _logging:
        if op in _logged:
            return
        _logged.add(op)
    _LOGGER.warning(
        "%s '%s' runs on the Python kernel of library '%s', which is slow: no compiled kernel "
        "takes this op with these types and attributes. Further %s nodes are not logged; "
        "ConfigProto.experimental.refuse_reference_kernels refuses them.",
        op,
        node,
        library,
        op,
    )
