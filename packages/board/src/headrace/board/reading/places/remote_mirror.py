"""Follows the log files of a URL: copies what they gain into a temporary folder.

Event files are read by descriptors of local files. A copy keeps one reader for all places, and each
byte is fetched once.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from headrace.board.reading.trace_file_names import is_trace_file
from headrace.board.store.problems import WARNING, Problems
from headrace.formats.errors import OpError
from headrace.formats.event_file import is_event_file
from headrace.formats.file_systems import open_file_system

_POLL_S = 2.0
_LONGEST_WAIT_S = 30.0
_BLOCK = 8 << 20
_MARK_BYTES = 64
_LONGEST_STOP_S = 5.0
_LEAVE_FREE = 1 << 30  # bytes of the disk, for other programs

_log = logging.getLogger(__name__)


@dataclass
class _Copied:
    size: int
    token: str  # changes when the store's object does


class RemoteMirror:
    """A local copy of the event files and trace files below a URL.

    Args:
      url: of a folder, such as s3://bucket/runs; what fsspec can open.
      problems: where an unreachable store is reported.
    Raises: UnimplementedError if fsspec, or its package for the scheme, is missing.
    """

    def __init__(self, url: str, problems: Problems) -> None:
        self._url = url
        self._problems = problems
        self._store, self._root = open_file_system(url)
        self._root = self._root.rstrip("/")
        self._copied: dict[str, _Copied] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failures = 0
        self.synced = False  # whether all files have been fetched once
        self.folder = tempfile.mkdtemp(prefix="headrace-board-")

    def start(self) -> None:
        """Starts a thread that fetches all files and follows them."""
        self._thread = threading.Thread(target=self._follow, name="board-mirror", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops following, and removes the copy."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_LONGEST_STOP_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def sync(self) -> None:
        """Fetches what is new; a store that does not respond is reported and asked again later."""
        try:
            self._sync()
        except (OSError, OpError, ValueError, RuntimeError) as error:
            self._failures += 1
            why = str(error) or type(error).__name__
            text = f"{self._url} does not respond: {why[:300]}; the board keeps trying"
            self._problems.put("unreachable", WARNING, text=text, subject=self._url)
        except Exception as error:  # each store has exceptions of its own
            self._failures += 1
            text = f"{self._url} cannot be read: {type(error).__name__}: {str(error)[:300]}"
            self._problems.put("unreachable", WARNING, text=text, subject=self._url)
        else:
            self._respond()
        self.synced = True

    def _respond(self) -> None:
        self._failures = 0
        self._problems.remove("unreachable", subject=self._url)

    def _follow(self) -> None:
        while not self._stopping.is_set():
            self.sync()
            wait = min(_POLL_S * 2 ** min(self._failures, 8), _LONGEST_WAIT_S)
            self._stopping.wait(wait)

    def _sync(self) -> None:
        self._store.invalidate_cache()
        try:
            found: dict[str, dict[str, Any]] = self._store.find(self._root, detail=True)
        except FileNotFoundError:
            found = {}  # an empty bucket, or a folder that does not exist yet
        there = set()
        left_out: list[int] = []  # sizes of files without room on the disk
        for path, info in sorted(found.items()):
            name = self._name_of(path)
            if name is None or info.get("size") is None:
                continue
            size = int(info["size"])
            there.add(name)
            try:
                if self._has_room(name, size):
                    self._take(name, path, size, _token(info))
                else:
                    left_out.append(size)
            except FileNotFoundError:
                there.discard(name)  # deleted since the store listed it
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                left_out.append(size)  # other programs filled the disk meanwhile
            if self._stopping.is_set():
                return
        self._remove_all_but(there)
        self._report_room(left_out)

    def _has_room(self, name: str, size: int) -> bool:
        known = self._copied.get(name)
        gain = size if known is None else size - known.size
        return gain <= 0 or shutil.disk_usage(self.folder).free - gain >= _LEAVE_FREE

    def _report_room(self, left_out: list[int]) -> None:
        if not left_out:
            self._problems.remove("no_room", subject=self._url)
            return
        files = "1 file" if len(left_out) == 1 else f"{len(left_out)} files"
        text = (
            f"No room for {files} of {self._url} ({sum(left_out) / 1e9:.1f} GB), or for what they"
            f" have gained: {tempfile.gettempdir()} would have less than"
            f" {_LEAVE_FREE / 1e9:.1f} GB free. Start the board with TMPDIR on a larger disk"
        )
        self._problems.put("no_room", WARNING, text=text, subject=self._url)

    def _name_of(self, path: str) -> str | None:
        """Returns the name of a log file below the URL, None for any other file."""
        if not path.startswith(self._root + "/"):
            return None
        name = path[len(self._root) + 1 :]
        parts = name.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            return None
        return name if is_event_file(parts[-1]) or is_trace_file(parts[-1]) else None

    def _take(self, name: str, path: str, size: int, token: str) -> None:
        known = self._copied.get(name)
        if known is not None and (known.size, known.token) == (size, token):
            return
        local = os.path.join(self.folder, *name.split("/"))
        if known is not None and size >= known.size and self._append(local, path, known.size, size):
            self._copied[name] = _Copied(size, token)
            return
        os.makedirs(os.path.dirname(local), exist_ok=True)
        # Under a name that the walk does not take for a log: readers see whole files only.
        part = os.path.join(os.path.dirname(local), f".{hash(name) & 0xFFFFFFFF:x}.part")
        try:
            with open(part, "wb") as to:
                fetched = self._fetch(to, path, 0, size)
            os.replace(part, local)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        self._copied[name] = _Copied(fetched, token)

    def _append(self, local: str, path: str, old: int, size: int) -> bool:
        """Adds what a file has gained. Returns: whether what was copied is still its beginning."""
        begin = max(0, old - _MARK_BYTES)
        with open(local, "r+b") as copy:
            copy.seek(begin)
            mark = copy.read(old - begin)
            if mark and self._store.cat_file(path, start=begin, end=old) != mark:
                return False
            copy.seek(old)
            return self._fetch(copy, path, old, size) == size

    def _fetch(self, to: Any, path: str, begin: int, end: int) -> int:
        """Writes a range of a file. Returns: the offset that was reached."""
        while begin < end and not self._stopping.is_set():
            block = self._store.cat_file(path, start=begin, end=min(begin + _BLOCK, end))
            if not block:
                break  # it has become shorter meanwhile
            to.write(block)
            to.flush()
            begin += len(block)
        return begin

    def _remove_all_but(self, there: set[str]) -> None:
        for name in [name for name in self._copied if name not in there]:
            del self._copied[name]
            local = os.path.join(self.folder, *name.split("/"))
            try:
                os.unlink(local)
                os.removedirs(os.path.dirname(local))
            except OSError:
                pass  # the folder has other files
        os.makedirs(self.folder, exist_ok=True)


def _token(info: dict[str, Any]) -> str:
    for key in ("ETag", "etag", "md5Hash", "LastModified", "mtime", "last_modified", "created"):
        if info.get(key) is not None:
            return str(info[key])
    return ""
