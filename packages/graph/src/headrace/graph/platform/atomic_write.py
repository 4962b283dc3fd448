"""Files that are there whole or not at all, whoever writes them at once."""

from __future__ import annotations

import contextlib
import itertools
import os

from headrace.formats.os_errors import os_errors_about

_numbers = itertools.count()


def write_atomically(path: str | os.PathLike[str], data: bytes, sync: bool = False) -> None:
    """Writes a file under another name and then gives it its own.

    Args:
      sync: let it reach the disk first.
    Raises: ResourceExhaustedError where the disk is full, NotFoundError where there is no such
      folder, PermissionDeniedError, ...; the file is then as it was.
    """
    # the number is for threads of one process that write the same file
    temporary = f"{os.fspath(path)}.tmp{os.getpid()}-{next(_numbers)}"
    try:
        with os_errors_about(path):
            with open(temporary, "wb") as stream:
                stream.write(data)
                if sync:
                    stream.flush()
                    os.fsync(stream.fileno())
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise
