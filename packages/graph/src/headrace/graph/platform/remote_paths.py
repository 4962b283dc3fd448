"""What hr.gfile does with URLs ("s3://bucket/key"), where it is not one call of file_systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.formats import file_systems
from headrace.formats.errors import (
    FailedPreconditionError,
    NotFoundError,
    UnimplementedError,
)
from headrace.formats.file_systems import is_remote
from headrace.formats.remote_file import PART_BYTES, RemoteWriter, open_input


def open_file(url: str, mode: str) -> Any:
    """Opens a file for GFile.

    Args:
      url: the file.
      mode: r, w or a. What is written replaces the file when it is closed; a copies it first.
    Raises: UnimplementedError for other modes; as file_systems.errors_about.
    """
    if mode == "r":
        return open_input(url)
    if mode not in ("w", "a"):
        raise UnimplementedError(
            None, None, f"{url}: mode {mode!r} is not supported by URL; use r, w or a", path=url
        )
    writer = RemoteWriter(url)
    if mode == "a" and file_systems.exists(url):
        try:
            _copy_contents(open_input(url), writer)
        except BaseException:
            writer.discard()
            raise
    return writer


def _copy_contents(source: Any, target: Any) -> None:
    with source:
        while data := source.read(PART_BYTES):
            target.write(data)


def list_directory(url: str) -> list[str]:
    """Returns the names in a folder. Raises: NotFoundError; as file_systems.errors_about."""
    try:
        return file_systems.list_directory(url)
    except (NotFoundError, FailedPreconditionError):
        raise NotFoundError(None, None, f"Could not find directory {url}", path=url) from None


def remove(url: str) -> None:
    """Removes a file. Raises: NotFoundError; FailedPreconditionError for a folder."""
    if file_systems.status(url).is_directory:
        raise FailedPreconditionError(None, None, f"{url}; Is a directory", path=url)
    file_systems.remove(url)


def remove_tree(url: str) -> None:
    """Removes a file, or a folder with its contents. Raises: NotFoundError."""
    file_systems.status(url)
    file_systems.remove_tree(url)


def copy(origin: str, path: str) -> None:
    """Copies a file, of which at least one path is a URL. Raises: NotFoundError."""
    if not is_remote(path):
        source = open_input(origin)
        with open(path, "wb") as target:
            _copy_contents(source, target)
        return
    if is_remote(origin) and origin.partition("://")[0] == path.partition("://")[0]:
        file_systems.copy(origin, path)
        return
    source = open_input(origin) if is_remote(origin) else open(origin, "rb")
    with RemoteWriter(path) as writer:
        _copy_contents(source, writer)


def rename(origin: str, path: str) -> None:
    """Renames a file or folder within a file system. Raises: NotFoundError, UnimplementedError."""
    if not (is_remote(origin) and is_remote(path)):
        raise UnimplementedError(
            None, None, f"{origin} cannot be renamed to {path}: use Copy and Remove", path=origin
        )
    file_systems.status(origin)
    file_systems.rename(origin, path)


def walk(top: str, in_order: bool) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields (folder, subfolders, files), as gfile.Walk."""
    if not file_systems.is_directory(top):
        return
    top = top.rstrip("/")
    names = file_systems.list_directory(top)
    folders = [name for name in names if file_systems.is_directory(f"{top}/{name}")]
    here = (top, folders, [name for name in names if name not in folders])
    if in_order:
        yield here
    for name in folders:
        yield from walk(f"{top}/{name}", in_order)
    if not in_order:
        yield here
