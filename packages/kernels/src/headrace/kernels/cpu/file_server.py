"""Serves the requests of kernels for files by URL, on threads of its own.

Kernels neither take the GIL nor run Python. They put requests into a queue (files/remote_files.cpp)
and wait; these threads carry them out through headrace.formats.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any

from headrace.formats import file_systems
from headrace.formats.errors import INTERNAL, NotFoundError, OpError
from headrace.formats.remote_file import RemoteReader, RemoteWriter
from headrace.kernels.cpu import _table

# handle, size, bytes
Reply = tuple[int, int, bytes]
_NOTHING: Reply = (0, 0, b"")

_numbers = itertools.count(1)
_readers: dict[int, RemoteReader] = {}
_writers: dict[int, RemoteWriter] = {}


def start() -> None:
    """Starts a thread that serves; that starts others when it is busy."""
    threading.Thread(target=_serve, name="headrace_files", daemon=True).start()


def _serve() -> None:
    while (request := _table.next_file_request()) is not None:
        number, verb, path, other, handle, offset, count, data, needs_thread = request
        if needs_thread:
            with contextlib.suppress(RuntimeError):  # the system has no more, or the process ends
                start()
        code, reply = 0, _NOTHING
        try:
            reply = _VERBS[verb](os.fsdecode(path), os.fsdecode(other), handle, offset, count, data)
        except OpError as error:
            code, reply = error.error_code, (0, 0, error.message.encode())
        except BaseException as error:  # whatever it is, a kernel waits for a reply
            text = f"{os.fsdecode(path)}: {type(error).__name__}: {error}"
            code, reply = INTERNAL, (0, 0, text.encode())
        del request, data
        if not _table.finish_file_request(number, code, *reply) and not code:
            _drop(verb, reply[0])


def _drop(verb: int, handle: int) -> None:
    """Closes what was opened for a kernel that has ended."""
    if verb == _OPEN_READER:
        _readers.pop(handle).close()
    elif verb == _OPEN_WRITER:
        _writers.pop(handle).discard()


def _open_reader(path: str, *_: Any) -> Reply:
    reader = RemoteReader(path)
    handle = next(_numbers)
    _readers[handle] = reader
    return handle, reader.size, reader.identity.encode()


def _read_range(path: str, other: str, handle: int, offset: int, count: int, _: bytes) -> Reply:
    return 0, 0, _readers[handle].read_range(offset, count)


def _close_reader(path: str, other: str, handle: int, *_: Any) -> Reply:
    _readers.pop(handle).close()
    return _NOTHING


def _open_writer(path: str, *_: Any) -> Reply:
    writer = RemoteWriter(path)
    handle = next(_numbers)
    _writers[handle] = writer
    return handle, 0, b""


def _write(path: str, other: str, handle: int, offset: int, count: int, data: bytes) -> Reply:
    _writers[handle].write(data)
    return _NOTHING


def _close_writer(path: str, other: str, handle: int, *_: Any) -> Reply:
    _writers[handle].close()
    del _writers[handle]
    return _NOTHING


def _discard_writer(path: str, other: str, handle: int, *_: Any) -> Reply:
    _writers.pop(handle).discard()
    return _NOTHING


def _exists(path: str, *_: Any) -> Reply:
    return int(file_systems.exists(path)), 0, b""


def _list_directory(path: str, *_: Any) -> Reply:
    try:
        return 0, 0, _joined(file_systems.list_directory(path))
    except NotFoundError:  # as the local kernels: no folder has no names
        return _NOTHING


def _glob(path: str, *_: Any) -> Reply:
    return 0, 0, _joined(file_systems.glob(path))


def _joined(names: list[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _rename(path: str, other: str, *_: Any) -> Reply:
    file_systems.rename(path, other)
    return _NOTHING


def _copy(path: str, other: str, *_: Any) -> Reply:
    file_systems.copy(path, other)
    return _NOTHING


def _remove(path: str, *_: Any) -> Reply:
    file_systems.discard(path)
    return _NOTHING


def _make_directories(path: str, *_: Any) -> Reply:
    file_systems.make_directories(path)
    return _NOTHING


def _remove_empty_directory(path: str, *_: Any) -> Reply:
    file_systems.remove_empty_directory(path)
    return _NOTHING


def _identity(path: str, *_: Any) -> Reply:
    return 0, 0, file_systems.status(path).identity.encode()


# In the order of Verb in files/remote_files.hpp.
_VERBS: tuple[Callable[..., Reply], ...] = (
    _open_reader,
    _read_range,
    _close_reader,
    _open_writer,
    _write,
    _close_writer,
    _discard_writer,
    _exists,
    _list_directory,
    _glob,
    _rename,
    _copy,
    _remove,
    _make_directories,
    _remove_empty_directory,
    _identity,
)
_OPEN_READER, _OPEN_WRITER = _VERBS.index(_open_reader), _VERBS.index(_open_writer)
