"""Find the event files below the logdir."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.board.reading.log_folder import LogFolder
from headrace.formats.event_file import is_event_file

_MAX_DEPTH = 100
_MAX_FILES = 200_000


@dataclass(frozen=True, slots=True)
class FoundFile:
    """An event file.

    run: its folder below the logdir, "" for that itself; name: below the logdir; path: what to
    open, which differs from name behind a link.
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
    """files: by name; skipped: (what, why) of refused entries.

    folder_times: of the last change of each folder's entries, in ns, by path; from before they
    were listed.
    """

    files: dict[str, FoundFile] = field(default_factory=dict)
    folder_times: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def walk_logdir(logdir: LogFolder) -> Walk:
    """Returns all event files below the logdir, which `refresh` has opened.

    Folders are told apart by device and inode, so that links cannot lead in circles.
    """
    walk = Walk()
    _walk(logdir, walk, "", "", frozenset())
    return walk


def _walk(
    logdir: LogFolder, walk: Walk, name: str, path: str, above: frozenset[tuple[int, int]]
) -> None:
    try:
        fd = logdir.open_folder(path)
    except OSError:
        return  # gone, or not ours to read
    try:
        own = os.fstat(fd)
        identity = (own.st_dev, own.st_ino)
        if identity in above:
            walk.skipped.append((name, "a link leads in a circle"))
            return
        if len(above) > _MAX_DEPTH:
            walk.skipped.append((name, f"more than {_MAX_DEPTH} folders deep"))
            return
        walk.folder_times[path] = own.st_mtime_ns
        folders: list[tuple[str, str]] = []
        with os.scandir(fd) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            _look_at(logdir, walk, name, path, entry, fd, folders.append)
    finally:
        os.close(fd)
    for child, child_path in folders:
        _walk(logdir, walk, child, child_path, above | {identity})


def _look_at(
    logdir: LogFolder,
    walk: Walk,
    name: str,
    path: str,
    entry: os.DirEntry[str],
    fd: int,
    add_folder: Callable[[tuple[str, str]], None],
) -> None:
    child = f"{name}/{entry.name}" if name else entry.name
    child_path = os.path.join(path, entry.name)
    try:
        if entry.is_symlink():
            _follow(logdir, walk, name, child, child_path, add_folder)
        elif entry.is_dir(follow_symlinks=False):
            add_folder((child, child_path))
        elif is_event_file(entry.name):
            _add_file(walk, name, child, child_path, entry.stat(follow_symlinks=False))
    except OSError:
        pass  # it went while we looked


def _follow(
    logdir: LogFolder,
    walk: Walk,
    name: str,
    child: str,
    child_path: str,
    add_folder: Callable[[tuple[str, str]], None],
) -> None:
    target = logdir.resolve(child_path)
    if target is None:
        walk.skipped.append((child, "a link leads out of the logdir (see --follow-links)"))
        return
    try:
        found = os.stat(os.path.join(logdir.path, target))
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode):
        add_folder((child, target))
    elif is_event_file(child.rsplit("/", 1)[-1]):
        _add_file(walk, name, child, target, found)


def _add_file(walk: Walk, run: str, name: str, path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        walk.skipped.append((name, "not a regular file"))
    elif len(walk.files) >= _MAX_FILES:
        walk.skipped.append(("", f"more than {_MAX_FILES} event files"))
    else:
        walk.files[name] = FoundFile(
            run, name, path, found.st_dev, found.st_ino, found.st_size, found.st_mtime
        )
