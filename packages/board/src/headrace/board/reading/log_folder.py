"""Opens files below the logdir, and nowhere else.

Each part of a path is opened relative to its parent folder and without following links, so that
changes in the logdir during the call cannot lead out of it.
"""

from __future__ import annotations

import os
import stat
import threading

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not wait for a writer.
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW


class LogFolder:
    """A logdir that is kept open.

    Args:
      path: the folder; it need not exist yet.
      follow_links: whether symbolic links may lead out of it.
    """

    def __init__(self, path: str | os.PathLike[str], follow_links: bool = False) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.follow_links = follow_links
        self._lock = threading.Lock()  # a descriptor must not be closed while another thread opens
        self._fd = -1
        self._real = ""

    def refresh(self) -> bool:
        """Opens the folder, again if it was replaced. Returns: whether it exists."""
        with self._lock:
            try:
                now = os.stat(self.path)
                if self._fd >= 0:
                    held = os.fstat(self._fd)
                    if (held.st_dev, held.st_ino) == (now.st_dev, now.st_ino):
                        return True
                    self._close()
                self._fd = os.open(self.path, _FOLDER)
            except OSError:
                self._close()
                return False
            self._real = os.path.realpath(self.path)
            return True

    def missing(self) -> list[str]:
        """Returns the folder's name if it did not exist at the last `refresh`."""
        return [] if self._fd >= 0 else [os.path.basename(self.path)]

    def roots(self) -> list[str]:
        """Returns the paths at which a walk starts."""
        return [""]

    def absolute(self, path: str) -> str:
        """Returns a path in the file system."""
        return os.path.join(self.path, path)

    def stat(self, path: str) -> os.stat_result:
        """Returns the state of a file or folder; follows links. Raises: OSError."""
        return os.stat(self.absolute(path))

    def close(self) -> None:
        """Closes the folder."""
        with self._lock:
            self._close()

    def open_folder(self, path: str) -> int:
        """Returns a descriptor of a folder below the logdir ("" for itself). Raises: OSError."""
        return self._open(path, _FOLDER)

    def open_file(self, path: str) -> int:
        """Returns a descriptor of a regular file below the logdir. Raises: OSError."""
        fd = self._open(path, _FILE)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(f"{path}: not a regular file")
        return fd

    def resolve(self, path: str) -> str | None:
        """Returns the target of a link below the logdir, or None if it must not be followed.

        The target is relative to the logdir, or absolute if the link leads out of it.
        """
        real = os.path.realpath(os.path.join(self.path, path))
        if real == self._real:
            return ""
        if real.startswith(self._real.rstrip(os.sep) + os.sep):
            return os.path.relpath(real, self._real)
        return real if self.follow_links else None

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self, path: str, flags: int) -> int:
        if os.path.isabs(path):
            if not self.follow_links:
                raise PermissionError(f"{path}: leads out of {self.path}")
            return os.open(path, flags)
        parts = [part for part in path.split(os.sep) if part]
        if ".." in parts:
            raise PermissionError(f"{path}: leads out of {self.path}")
        with self._lock:
            if self._fd < 0:
                raise FileNotFoundError(f"{self.path}: not there")
            at = os.dup(self._fd)
        try:
            if not parts:
                return os.open(".", _FOLDER, dir_fd=at)
            for part in parts[:-1]:
                below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = below
            return os.open(parts[-1], flags | os.O_NOFOLLOW, dir_fd=at)
        finally:
            os.close(at)
