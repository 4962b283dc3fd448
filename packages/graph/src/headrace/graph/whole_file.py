"""Files that are there whole or not at all, whoever writes them at once."""

from __future__ import annotations

import itertools
import os

_numbers = itertools.count()


def write_whole(path: str | os.PathLike[str], data: bytes, sync: bool = False) -> None:
    """Writes a file under another name and then gives it its own.

    Args:
      sync: let it reach the disk first.
    """
    # the number is for threads of one process that write the same file
    temporary = f"{os.fspath(path)}.tmp{os.getpid()}-{next(_numbers)}"
    with open(temporary, "wb") as stream:
        stream.write(data)
        if sync:
            stream.flush()
            os.fsync(stream.fileno())
    os.replace(temporary, path)
