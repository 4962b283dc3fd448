"""Atomic writing of files."""

from __future__ import annotations

import contextlib
import itertools
import os

from headrace.formats.os_errors import os_errors_about

_numbers = itertools.count()


def write_atomically(path: str | os.PathLike[str], data: bytes, sync: bool = False) -> None:
    """Writes a file under a temporary name, and renames it.

    Args:
      path: path of the file.
      data: contents.
      sync: call fsync before renaming.
    Raises: an OpError for each failure of the file system, for instance ResourceExhaustedError on a
      full disk, NotFoundError for a missing folder; the file is then unchanged.
    """
    # the number distinguishes threads of one process that write the same file
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
