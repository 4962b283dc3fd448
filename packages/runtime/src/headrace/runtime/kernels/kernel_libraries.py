"""Loads the kernels of all installed libraries into kernel_table, once in a process."""

from __future__ import annotations

import logging  # noqa: F401  # before _loading: loading may wait for the lock that logging holds in a fork

from headrace.formats import services
from headrace.formats.fork_lock import ForkLock
from headrace.runtime.kernels import (
    copy_kernels,  # noqa: F401  # registers its kernels when it is imported
    kernel_table,
    queue_kernels,  # noqa: F401  # registers its kernels when it is imported
    reference_kernels,  # noqa: F401  # likewise
    variable_kernels,  # noqa: F401  # likewise
)
from headrace.runtime.kernels.synchronisation import (
    synchronisation_kernels,  # noqa: F401  # likewise
)

_loading = ForkLock()
_loaded_names: set[str] = set()
_loaded = False


def load_kernels() -> None:
    """Loads the libraries that are not loaded yet.

    Raises: FailedPreconditionError for a library of another ABI; the import error of a library as
    it is.
    """
    global _loaded
    if _loaded:
        return
    with _loading.current:
        if _loaded:
            return
        for name in services.service_names(services.KERNELS):
            if name not in _loaded_names:  # a forked child continues what its parent began
                kernel_table.add_library(services.find_service(services.KERNELS, name)())
                _loaded_names.add(name)
        _loaded = True


def has_kernels(op: str) -> bool:
    """Whether any installed library has a kernel for an op, for any device and dtypes."""
    load_kernels()
    return kernel_table.has_kernel(op)
