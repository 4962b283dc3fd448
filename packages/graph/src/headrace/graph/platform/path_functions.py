"""hr.io.gfile: the functions of hr.gfile under the names of late TensorFlow 1.x."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.graph.platform import gfile
from headrace.graph.typing.aliases import Path


def exists(path: Path) -> bool:
    """Returns whether a file or folder exists."""
    return gfile.Exists(path)  # type: ignore[arg-type]


def isdir(path: Path) -> bool:
    """Returns whether a path is a folder."""
    return gfile.IsDirectory(path)  # type: ignore[arg-type]


def listdir(path: Path) -> list[str]:
    """Returns the names in a folder. Raises: NotFoundError if it does not exist."""
    return gfile.ListDirectory(path)  # type: ignore[arg-type]


def glob(pattern: Path | list[Path]) -> list[str]:
    """Returns the paths that match a pattern, or one of several, sorted."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [path for one in patterns for path in gfile.Glob(one)]  # type: ignore[arg-type]


def mkdir(path: Path) -> None:
    """Creates a folder. Raises: NotFoundError if the folder around it does not exist."""
    gfile.MkDir(path)  # type: ignore[arg-type]


def makedirs(path: Path) -> None:
    """Creates a folder and those around it, unless they exist."""
    gfile.MakeDirs(path)  # type: ignore[arg-type]


def remove(path: Path) -> None:
    """Removes a file. Raises: NotFoundError if it does not exist."""
    gfile.Remove(path)  # type: ignore[arg-type]


def rmtree(path: Path) -> None:
    """Removes a folder and everything in it. Raises: NotFoundError if it does not exist."""
    gfile.DeleteRecursively(path)  # type: ignore[arg-type]


def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copies a file. Raises: AlreadyExistsError if dst exists, unless overwrite is true."""
    gfile.Copy(src, dst, overwrite)  # type: ignore[arg-type]


def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Renames a file or folder. Raises: AlreadyExistsError if dst exists, unless overwrite."""
    gfile.Rename(src, dst, overwrite)  # type: ignore[arg-type]


def stat(path: Path) -> gfile.FileStatistics:
    """Returns length and time of change. Raises: NotFoundError if the path does not exist."""
    return gfile.Stat(path)  # type: ignore[arg-type]


def walk(
    top: Path, topdown: bool = True, onerror: Callable[[Any], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields (folder, names of folders, names of files) for a folder and those below it.

    Args:
      topdown: a folder before those below it.
      onerror: function that errors are given to.
    """
    yield from gfile.Walk(top, topdown)  # type: ignore[arg-type]
