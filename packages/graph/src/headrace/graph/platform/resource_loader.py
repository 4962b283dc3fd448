"""Data files beside the program's modules."""

from __future__ import annotations

import inspect
import os

from headrace.graph.platform.gfile import GFile


def _callers_folder(depth: int = 2) -> str:
    frame = inspect.stack(context=0)[depth]
    return os.path.dirname(os.path.abspath(frame.filename))


def load_resource(path: str) -> bytes:
    """Returns the bytes of a file. Raises: NotFoundError if it does not exist."""
    with GFile(path, "rb") as file:
        data: bytes = file.read()
        return data


def get_data_files_path() -> str:
    """Returns the folder of the calling module."""
    return _callers_folder()


def get_root_dir_with_all_resources() -> str:
    """Returns the folder of the calling module; there is no other root."""
    return _callers_folder()


def get_path_to_datafile(path: str) -> str:
    """Returns the path of a file that is given relative to the calling module."""
    return os.path.join(_callers_folder(), path)


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Returns the path unchanged: no file system here has a read-ahead option."""
    return path
