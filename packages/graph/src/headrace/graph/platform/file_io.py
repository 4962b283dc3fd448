"""Whole files as strings, as in TensorFlow's file_io."""

from __future__ import annotations

import os

from headrace.formats.errors import AlreadyExistsError
from headrace.graph.platform.atomic_write import write_atomically
from headrace.graph.platform.gfile import Exists, GFile
from headrace.graph.typing.aliases import Path


def read_file_to_string(filename: Path, binary_mode: bool = False) -> str | bytes:
    """Returns the contents of a file, decoded as UTF-8 unless binary_mode is true.

    Raises: NotFoundError if the file does not exist.
    """
    with GFile(os.fspath(filename), "rb" if binary_mode else "r") as file:  # type: ignore[arg-type]
        text: str | bytes = file.read()
        return text


def write_string_to_file(filename: Path, file_content: str | bytes) -> None:
    """Replaces the contents of a file."""
    with GFile(os.fspath(filename), "wb") as file:  # type: ignore[arg-type]
        file.write(file_content)


def atomic_write_string_to_file(
    filename: Path, contents: str | bytes, overwrite: bool = True
) -> None:
    """Replaces the contents of a file at once: readers see the old or the new contents.

    Raises: AlreadyExistsError if the file exists and overwrite is false.
    """
    path = os.fsdecode(filename)
    if not overwrite and Exists(path):
        raise AlreadyExistsError(None, None, f"{path}: the file already exists", path=path)
    write_atomically(path, contents.encode() if isinstance(contents, str) else contents)
