"""Maps OSErrors to OpErrors by errno, for all writers of files."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from headrace.formats import errors

# disk.cpp of headrace-kernels has the same table, for SaveV2 and WriteFile.
_CLASSES: dict[int, type[errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,  # above the size limit of one file
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.ENFILE: errors.ResourceExhaustedError,
    errno.ENOMEM: errors.ResourceExhaustedError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
}


def from_os_error(error: OSError, path: str | os.PathLike[str] | None = None) -> errors.OpError:
    """Converts an OSError to the OpError of its canonical code.

    Args:
      error: the error of the system.
      path: the file concerned, if the error does not name one.
    """
    name = error.filename if isinstance(error.filename, str) else path
    where = None if name is None else os.fspath(name)
    text = error.strerror or str(error)
    kind = _CLASSES.get(error.errno or 0, errors.UnknownError)
    full = text if where is None else f"{where}; {text}"
    return kind(None, None, full, path=where)  # type: ignore[call-arg]


@contextlib.contextmanager
def os_errors_about(path: str | os.PathLike[str]) -> Iterator[None]:
    """Converts OSErrors raised in the block to OpErrors about `path`."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error, path) from None
