"""hr.gfile: files and folders by path or URL, with TF 1.x's names and errors."""

from __future__ import annotations

import errno
import functools
import glob
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.formats import file_systems
from headrace.formats.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from headrace.formats.file_systems import is_remote
from headrace.formats.os_errors import from_os_error
from headrace.graph.platform import remote_paths

Function = TypeVar("Function", bound=Callable[..., Any])


def _with_our_errors(function: Function) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except OSError as error:
            raise from_os_error(error, _path_of(args)) from None

    return call  # type: ignore[return-value]


def _path_of(args: tuple[Any, ...]) -> Any:
    """Returns the path among the arguments, for errors that name no file."""
    first = args[0] if args else None
    return first._path if isinstance(first, GFile) else first


class GFile:
    """A file that is opened on first use; a context manager and an iterator over lines.

    Args:
      name: path or URL of the file. What is written to a URL appears when the file is closed.
      mode: r, w, a, r+, w+ or a+; b for bytes instead of UTF-8 text. For a URL r, w or a.
    Raises: InvalidArgumentError for another mode; from the methods an OpError for each failure of
      the file system, and PermissionDeniedError for an operation that the mode does not allow.
    """

    def __init__(self, name: str | os.PathLike[str], mode: str = "r") -> None:
        self._path = os.fspath(name)
        self._mode = mode
        plain = mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(
                None, None, f"mode must be r, w, a, r+, w+ or a+, perhaps with b; got {mode!r}"
            )
        self._binary = "b" in mode
        self._reads = plain[0] == "r" or "+" in plain
        self._writes = plain != "r"
        self._file: Any = None

    @property
    def name(self) -> str:
        """The path."""
        return self._path

    @property
    def mode(self) -> str:
        """The mode."""
        return self._mode

    def _opened(self, requested: bool, way: str) -> Any:
        if not requested:
            raise PermissionDeniedError(None, None, f"{self._path}: the file isn't open for {way}")
        if self._file is None:
            plain = self._mode.replace("b", "")
            if is_remote(self._path):
                self._file = remote_paths.open_file(self._path, plain)
            else:
                self._file = open(file_systems.local_path(self._path), plain + "b")
        return self._file

    @_with_our_errors
    def size(self) -> int:
        """Returns the size in bytes."""
        if self._writes and self._file is not None:
            if is_remote(self._path):
                return int(self._file.tell())
            self._file.flush()
        return Stat(self._path).length

    def _shown(self, data: bytes) -> Any:
        return data if self._binary else data.decode()

    @_with_our_errors
    def read(self, n: int = -1) -> Any:
        """Reads n characters (bytes in mode b); -1 reads to the end."""
        file = self._opened(self._reads, "reading")
        if n < 0 or self._binary:
            return self._shown(file.read(n))
        return "".join(_characters(file, n))

    @_with_our_errors
    def readline(self) -> Any:
        """Reads a line with its line end; returns "" at the end of the file."""
        return self._shown(self._opened(self._reads, "reading").readline())

    @_with_our_errors
    def readlines(self) -> list[Any]:
        """Reads the remaining lines."""
        return [self._shown(line) for line in self._opened(self._reads, "reading")]

    @_with_our_errors
    def write(self, file_content: str | bytes) -> None:
        """Appends text (bytes in mode b)."""
        data = file_content.encode() if isinstance(file_content, str) else bytes(file_content)
        self._opened(self._writes, "writing").write(data)

    @_with_our_errors
    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Seeks to a byte, relative to the start (whence 0), the position (1) or the end (2).

        Raises: InvalidArgumentError for another whence.
        """
        where = position if offset is None else offset
        if where is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(None, None, f"Invalid whence argument: {whence!r}")
        self._opened(self._reads, "reading").seek(where, whence)

    @_with_our_errors
    def tell(self) -> int:
        """Returns the position in bytes."""
        return self._opened(self._reads or self._writes, "reading").tell()

    def seekable(self) -> bool:
        """Returns True."""
        return True

    @_with_our_errors
    def flush(self) -> None:
        """Flushes written data."""
        if self._file is not None and self._writes:
            self._file.flush()

    @_with_our_errors
    def close(self) -> None:
        """Closes the file; in a write mode the file exists afterwards, even without writes."""
        if self._file is None and self._mode.replace("b", "") in ("w", "w+"):
            self._opened(True, "writing")
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> GFile:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self._file.close()


def _characters(file: Any, n: int) -> Iterator[str]:
    """Reads n characters of a UTF-8 file."""
    for _ in range(n):
        lead = file.read(1)
        if not lead:
            return
        more = 0 if lead[0] < 0xC0 else 1 if lead[0] < 0xE0 else 2 if lead[0] < 0xF0 else 3
        yield (lead + file.read(more)).decode()


FastGFile = Open = GFile


def Exists(filename: str | os.PathLike[str]) -> bool:  # noqa: N802 - TF's name
    """Returns whether a path exists."""
    if is_remote(filename):
        return file_systems.exists(os.fspath(filename))
    filename = file_systems.local_path(filename)
    return os.path.exists(filename)


def IsDirectory(dirname: str | os.PathLike[str]) -> bool:  # noqa: N802 - TF's name
    """Returns whether a path is a folder."""
    if is_remote(dirname):
        return file_systems.is_directory(os.fspath(dirname))
    dirname = file_systems.local_path(dirname)
    return os.path.isdir(dirname)


@_with_our_errors
def MkDir(dirname: str | os.PathLike[str]) -> None:  # noqa: N802 - TF's name
    """Creates a folder in an existing one; does nothing if it exists. Raises: NotFoundError."""
    if is_remote(dirname):
        file_systems.make_directories(os.fspath(dirname))
        return
    dirname = file_systems.local_path(dirname)
    if not os.path.isdir(dirname):
        os.mkdir(dirname)


@_with_our_errors
def MakeDirs(dirname: str | os.PathLike[str]) -> None:  # noqa: N802 - TF's name
    """Creates a folder and its parents; does nothing if it exists."""
    if is_remote(dirname):
        file_systems.make_directories(os.fspath(dirname))
        return
    dirname = file_systems.local_path(dirname)
    os.makedirs(dirname, exist_ok=True)


@_with_our_errors
def ListDirectory(dirname: str | os.PathLike[str]) -> list[str]:  # noqa: N802 - TF's name
    """Returns the names in a folder. Raises: NotFoundError."""
    if is_remote(dirname):
        return remote_paths.list_directory(os.fspath(dirname))
    dirname = file_systems.local_path(dirname)
    if not os.path.isdir(dirname):
        raise NotFoundError(
            None, None, f"Could not find directory {os.fspath(dirname)}", path=os.fspath(dirname)
        )
    return sorted(os.listdir(dirname))


def Glob(filename: str | os.PathLike[str]) -> list[str]:  # noqa: N802 - TF's name
    """Returns the sorted paths that match a glob pattern, or one of a list of patterns."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return [path for one in patterns for path in _matching(os.fspath(one))]


def _matching(pattern: str) -> list[str]:
    if is_remote(pattern):
        return file_systems.glob(pattern)
    return sorted(glob.glob(file_systems.local_path(pattern)))


@_with_our_errors
def Remove(filename: str | os.PathLike[str]) -> None:  # noqa: N802 - TF's name
    """Removes a file. Raises: NotFoundError; FailedPreconditionError for a folder."""
    if is_remote(filename):
        remote_paths.remove(os.fspath(filename))
        return
    filename = file_systems.local_path(filename)
    if os.path.isdir(filename):
        raise IsADirectoryError(errno.EISDIR, "Is a directory", os.fspath(filename))
    os.remove(filename)


@_with_our_errors
def DeleteRecursively(dirname: str | os.PathLike[str]) -> None:  # noqa: N802 - TF's name
    """Removes a file, or a folder with its contents. Raises: NotFoundError."""
    if is_remote(dirname):
        remote_paths.remove_tree(os.fspath(dirname))
        return
    dirname = file_systems.local_path(dirname)
    if os.path.isdir(dirname) and not os.path.islink(dirname):
        shutil.rmtree(dirname)
    else:
        os.remove(dirname)


def _free(path: Any, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise AlreadyExistsError(
            None,
            None,
            f"{os.fspath(path)}: the file already exists; overwrite=True replaces it",
            path=os.fspath(path),
        )


@_with_our_errors
def Copy(
    oldpath: str | os.PathLike[str], newpath: str | os.PathLike[str], overwrite: bool = False
) -> None:  # noqa: N802 - TF's name
    """Copies a file. Raises: NotFoundError; AlreadyExistsError if overwrite is False."""
    oldpath, newpath = file_systems.local_path(oldpath), file_systems.local_path(newpath)
    if is_remote(oldpath) or is_remote(newpath):
        Stat(oldpath)
        _free(newpath, overwrite)
        remote_paths.copy(oldpath, newpath)
        return
    with open(oldpath, "rb"):  # a missing source is reported first
        _free(newpath, overwrite)
        shutil.copyfile(oldpath, newpath)


@_with_our_errors
def Rename(
    oldname: str | os.PathLike[str], newname: str | os.PathLike[str], overwrite: bool = False
) -> None:  # noqa: N802 - TF's name
    """Renames a file or folder. Raises: NotFoundError; AlreadyExistsError if not overwrite."""
    oldname, newname = file_systems.local_path(oldname), file_systems.local_path(newname)
    if is_remote(oldname) or is_remote(newname):
        _free(newname, overwrite)
        remote_paths.rename(oldname, newname)
        return
    os.stat(oldname)
    _free(newname, overwrite)
    os.replace(oldname, newname)


def Walk(
    top: str | os.PathLike[str], in_order: bool = True
) -> Iterator[tuple[str, list[str], list[str]]]:  # noqa: N802
    """Yields (folder, subfolders, files) for a folder and all folders below it.

    Args:
      top: the folder.
      in_order: yield a folder before its subfolders, not after them.
    """
    top = file_systems.local_path(top)
    if is_remote(top):
        yield from remote_paths.walk(top, in_order)
        return
    if not os.path.isdir(top):
        return
    names = sorted(os.listdir(top))
    folders = [n for n in names if os.path.isdir(os.path.join(top, n))]
    here = (top, folders, [n for n in names if n not in folders])
    if in_order:
        yield here
    for name in folders:
        yield from Walk(os.path.join(top, name), in_order)
    if not in_order:
        yield here


@dataclass(frozen=True)
class FileStatistics:
    """Size in bytes, modification time in nanoseconds since 1970, and kind of a path."""

    length: int
    mtime_nsec: int
    is_directory: bool


@_with_our_errors
def Stat(filename: str | os.PathLike[str]) -> FileStatistics:  # noqa: N802 - TF's name
    """Returns the FileStatistics of a path. Raises: NotFoundError."""
    if is_remote(filename):
        status = file_systems.status(os.fspath(filename))
        return FileStatistics(max(status.size, 0), status.mtime_ns, status.is_directory)
    filename = file_systems.local_path(filename)
    found = os.stat(filename)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(filename))
