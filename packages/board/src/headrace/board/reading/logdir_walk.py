"""Finds the event files below the logdir."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.board.reading.places.named_folders import LogSource
from headrace.board.reading.trace_file_names import is_trace_file, run_of_trace
from headrace.formats.event_file import is_event_file

_MAX_DEPTH = 100
_MAX_FILES = 200_000
_MAX_FOLDERS = 100_000
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # the folder was removed or replaced


@dataclass(frozen=True, slots=True)
class FoundFile:
    """An event file.

    run: its folder relative to the logdir, "" for the logdir itself; name: relative to the logdir;
    path: the path to open, which differs from name if a link leads to the file.
    """

    run: str
    name: str
    path: str
    device: int
    inode: int
    size: int
    mtime: float


@dataclass(slots=True)
class Walk:
    """The result. files, traces: event files and trace files by name.

    skipped: (name, reason) of entries that are not read. folder_times: modification time of each
    folder in ns by path, taken before it was listed.
    """

    files: dict[str, FoundFile] = field(default_factory=dict)
    traces: dict[str, FoundFile] = field(default_factory=dict)
    folder_times: dict[str, int] = field(default_factory=dict)
    skipped: set[tuple[str, str]] = field(default_factory=set)


def walk_logdir(logdir: LogSource, stopping: Callable[[], bool] = lambda: False) -> Walk:
    """Returns all event files below the logdir, which must have been opened by `refresh`.

    Folders are identified by device and inode. A folder may have several names: its own and one for
    each link to it. Links below other links are followed to a folder only once, because n folders
    with two links each to the next one would have 2**n names.

    Args:
      stopping: called at each folder; if it returns True, the walk ends and is incomplete.
    """
    walker = _Walker(logdir, stopping)
    for root in logdir.roots():
        walker.enter(root, root, frozenset(), False)
    return walker.walk


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to walk; behind_link: whether a link led to it."""

    name: str
    path: str
    behind_link: bool


class _Walker:
    def __init__(self, logdir: LogSource, stopping: Callable[[], bool]) -> None:
        self._logdir = logdir
        self._stopping = stopping
        self._folders = 0
        self._linked: set[tuple[int, int]] = set()  # targets of links below other links
        self.walk = Walk()

    def enter(
        self, name: str, path: str, above: frozenset[tuple[int, int]], behind_link: bool
    ) -> None:
        """Walks a folder; above: its parent folders."""
        if self._stopping():
            return
        if self._folders >= _MAX_FOLDERS:
            self._skip("", f"more than {_MAX_FOLDERS} folders: the further ones are not read")
            return
        self._folders += 1
        try:
            fd = self._logdir.open_folder(path)
        except OSError as error:
            self._cannot(name, "opened", error)
            return
        folders: list[_Folder] = []
        try:
            own = os.fstat(fd)
            identity = (own.st_dev, own.st_ino)
            if identity in above:
                self._skip(name, "a link leads in a circle")
                return
            if len(above) > _MAX_DEPTH:
                self._skip(name, f"more than {_MAX_DEPTH} folders deep")
                return
            self.walk.folder_times[path] = own.st_mtime_ns
            here = _Folder(name, path, behind_link)
            with os.scandir(fd) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    self._look_at(here, entry, folders)
        except OSError as error:
            self._cannot(name, "listed", error)  # entries found so far are kept
        finally:
            os.close(fd)
        for child in folders:
            self.enter(child.name, child.path, above | {identity}, child.behind_link)

    def _look_at(self, here: _Folder, entry: os.DirEntry[str], folders: list[_Folder]) -> None:
        child = f"{here.name}/{entry.name}" if here.name else entry.name
        child_path = os.path.join(here.path, entry.name)
        try:
            if entry.is_symlink():
                self._follow(here, child, child_path, folders)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(_Folder(child, child_path, here.behind_link))
            elif is_event_file(entry.name) or is_trace_file(entry.name):
                self._add_file(here.name, child, child_path, entry.stat(follow_symlinks=False))
        except OSError:
            pass  # the entry was removed during the walk

    def _follow(self, here: _Folder, child: str, child_path: str, folders: list[_Folder]) -> None:
        target = self._logdir.resolve(child_path)
        if target is None:
            self._skip(child, "a link leads out of the logdir (see --follow-links)")
            return
        found = self._logdir.stat(target)
        if not stat.S_ISDIR(found.st_mode):
            last = child.rsplit("/", 1)[-1]
            if is_event_file(last) or is_trace_file(last):
                self._add_file(here.name, child, target, found)
            return
        identity = (found.st_dev, found.st_ino)
        if here.behind_link and identity in self._linked:
            self._skip(child, "a link below another link, to a folder that was found already")
            return
        if here.behind_link:
            self._linked.add(identity)
        folders.append(_Folder(child, target, True))

    def _add_file(self, run: str, name: str, path: str, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            self._skip(name, "not a regular file")
        elif len(self.walk.files) + len(self.walk.traces) >= _MAX_FILES:
            self._skip("", f"more than {_MAX_FILES} event files: the further ones are not read")
        else:
            is_trace = not is_event_file(name.rsplit("/", 1)[-1])
            to = self.walk.traces if is_trace else self.walk.files
            to[name] = FoundFile(
                run_of_trace(run) if is_trace else run,
                name,
                path,
                found.st_dev,
                found.st_ino,
                found.st_size,
                found.st_mtime,
            )

    def _cannot(self, name: str, what: str, error: OSError) -> None:
        if error.errno not in _GONE:
            self._skip(name, f"the folder cannot be {what}: {error.strerror or error}")

    def _skip(self, what: str, why: str) -> None:
        self.walk.skipped.add((what, why))
