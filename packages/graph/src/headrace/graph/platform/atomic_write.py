"""Atomic writing of files, by path or URL."""

from __future__ import annotations

import contextlib
import itertools
import os

from headrace.formats.file_systems import is_remote
from headrace.formats.os_errors import os_errors_about
from headrace.formats.remote_file import write_bytes

_numbers = itertools.count()


def write_atomically(path: str | os.PathLike[str], data: bytes, sync: bool = False) -> None:
    """Writes a file under a temporary name, and renames it.

    Args:
      path: path or URL of the file.
      data: contents.
      sync: call fsync before renaming.
    Raises: an OpError for each failure of the file system, for instance ResourceExhaustedError on a
      full disk, NotFoundError for a missing folder; the file is then unchanged.
    """
    if is_remote(path):
        write_bytes(os.fspath(path), data)
        return
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
