"""Files by URL: paths such as "s3://bucket/key" go through fsspec, an optional dependency.

`is_remote` decides by the prefix "scheme://"; "file://" is local. All other functions take URLs.
An object store replaces an object at once, when its upload ends. On other file systems a file is
written under a temporary name and renamed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from headrace.formats import errors
from headrace.formats.fork_lock import ForkLock
from headrace.formats.interrupts import interrupts_held
from headrace.formats.os_errors import from_os_error

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Stores whose objects have no folders, and appear when an upload is complete.
_OBJECT_STORES = frozenset(
    ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "http", "https")
)

_lock = ForkLock()
# Instances that threads share, by process and arguments. fsspec itself makes one per thread.
_shared: dict[tuple[Any, ...], Any] = {}


def is_remote(path: str | bytes | os.PathLike[str]) -> bool:
    """Returns whether a path is a URL of a file system other than the local one."""
    text = os.fspath(path)
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    found = _SCHEME.match(text)
    return found is not None and found[1] != "file"


def local_path(path: str | os.PathLike[str]) -> str:
    """Returns a path without the scheme "file://"; other paths and URLs as they are."""
    text = os.fspath(path)
    return text[len("file://") :] if text.startswith("file://") else text


def writes_objects(url: str) -> bool:
    """Returns whether the URL's store has objects: complete or absent, and no folders."""
    found = _SCHEME.match(url)
    return found is not None and found[1] in _OBJECT_STORES


def open_file_system(url: str) -> tuple[Any, str]:
    """Returns the fsspec file system of a URL, and the path in it.

    Raises: UnimplementedError if fsspec, or the package that it needs for the scheme, is missing.
    """
    found = _SCHEME.match(url)
    scheme = found[1] if found else ""
    with interrupts_held():  # imports
        try:
            import fsspec
            from fsspec.asyn import AsyncFileSystem
        except ImportError:
            raise errors.UnimplementedError(
                None,
                None,
                f"File system scheme '{scheme}' not implemented (file: '{url}'): install fsspec "
                "with pip install 'headrace-formats[remote]'",
                path=url,
            ) from None
        try:
            kind: Any = fsspec.get_filesystem_class(scheme)
        except (ImportError, ValueError) as error:
            raise errors.UnimplementedError(
                None,
                None,
                f"File system scheme '{scheme}' not implemented (file: '{url}'): {error}",
                path=url,
            ) from None
    path = kind._strip_protocol(url)
    if not issubclass(kind, AsyncFileSystem):
        return fsspec.core.url_to_fs(url)
    # A listing that was kept would hide what other processes wrote since.
    arguments = {**kind._get_kwargs_from_urls(url), "use_listings_cache": False}
    key = (os.getpid(), scheme, tuple(sorted(arguments.items())))
    with _lock.current:
        if key not in _shared:
            _shared[key] = fsspec.filesystem(scheme, **arguments)
        return _shared[key], path


@contextlib.contextmanager
def errors_about(url: str) -> Iterator[None]:
    """Converts what fsspec and its file systems raise to OpErrors about `url`.

    Connections that fail or time out become UnavailableError.
    """
    try:
        yield
    except (errors.OpError, MemoryError):
        raise
    except Exception as error:
        raise _converted(error, url) from error


_BY_CLASS: tuple[tuple[type[Exception], type[errors.OpError]], ...] = (
    (FileNotFoundError, errors.NotFoundError),
    (FileExistsError, errors.AlreadyExistsError),
    (PermissionError, errors.PermissionDeniedError),
    (IsADirectoryError, errors.FailedPreconditionError),
    (NotADirectoryError, errors.FailedPreconditionError),
    (NotImplementedError, errors.UnimplementedError),
    (TimeoutError, errors.UnavailableError),
    (ConnectionError, errors.UnavailableError),
)
# Classes of botocore and aiohttp, which need not be installed.
_BY_NAME: dict[str, type[errors.OpError]] = {
    "NoSuchBucket": errors.NotFoundError,
    "NoSuchKey": errors.NotFoundError,
    "NoCredentialsError": errors.UnauthenticatedError,
    "PartialCredentialsError": errors.UnauthenticatedError,
    "FileExpired": errors.AbortedError,  # s3fs: another object replaced the one that is read
    "FSTimeoutError": errors.UnavailableError,
    "EndpointConnectionError": errors.UnavailableError,
    "HTTPClientError": errors.UnavailableError,
    "ClientError": errors.UnavailableError,
}


_BY_HTTP_STATUS: dict[Any, type[errors.OpError]] = {
    401: errors.PermissionDeniedError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    410: errors.NotFoundError,
}


def _converted(error: Exception, url: str) -> errors.OpError:
    cause = error.__cause__
    if url.startswith("http") and isinstance(cause, Exception) and _kind(cause):
        error = cause  # what fsspec calls a missing file may be a request that failed
    kind = _kind(error) or errors.UnknownError
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if kind is errors.NotFoundError:
        text = "No such file or directory"
    return kind(None, None, f"{url}; {text}", path=url)  # type: ignore[call-arg]


def _kind(error: Exception) -> type[errors.OpError] | None:
    """Returns the class of an error that a store raises, or None if it is not known."""
    status = getattr(error, "status", None)
    if status in _BY_HTTP_STATUS:
        return _BY_HTTP_STATUS[status]
    for base in type(error).__mro__:
        if base.__name__ in _BY_NAME:
            return _BY_NAME[base.__name__]
    for known, found in _BY_CLASS:
        if isinstance(error, known):
            return found
    if isinstance(error, OSError) and error.errno:
        busy = error.errno in (errno.EBUSY, errno.EIO)  # s3fs: the store is busy, or has failed
        return errors.UnavailableError if busy else type(from_os_error(error))
    return None


@dataclass(frozen=True)
class RemoteStatus:
    """What a store says about a path.

    Attributes:
      size: in bytes; -1 if the server does not say.
      mtime_ns: time of the last change in nanoseconds since 1970; 0 if unknown.
      is_directory: whether it is a folder, or the common part of other names.
      identity: differs between two contents of one name: ETag or generation, or time and size.
    """

    size: int
    mtime_ns: int
    is_directory: bool
    identity: str


def status_of(info: dict[str, Any]) -> RemoteStatus:
    """Converts the result of fsspec's `info`."""
    size = info.get("size")
    mtime = 0
    for key in ("mtime", "LastModified", "last_modified", "updated", "modified", "created"):
        mtime = _nanoseconds(info.get(key))
        if mtime:
            break
    for key in ("ETag", "etag", "generation", "version_id", "checksum"):
        if info.get(key):
            identity = f"{key}={info[key]}"
            break
    else:
        identity = f"{mtime}"
    return RemoteStatus(
        -1 if size is None else int(size),
        mtime,
        info.get("type") == "directory",
        f"{identity},{size}",
    )


def _nanoseconds(value: Any) -> int:
    from datetime import datetime, timezone
    from email.utils import parsedate_to_datetime

    if isinstance(value, str):
        for parse in (datetime.fromisoformat, parsedate_to_datetime):
            try:
                value = parse(value)
                break
            except (ValueError, TypeError):
                continue
    if isinstance(value, datetime):
        if value.tzinfo is None:  # fsspec's file systems give UTC
            value = value.replace(tzinfo=timezone.utc)
        value = value.timestamp()
    return int(value * 1e9) if isinstance(value, (int, float)) else 0


def status(url: str) -> RemoteStatus:
    """Returns the status of a file or folder. Raises: NotFoundError; as errors_about."""
    with errors_about(url):
        system, path = open_file_system(url)
        return status_of(system.info(path))


def exists(url: str) -> bool:
    """Returns whether a file or folder exists. Raises: as errors_about, if the store fails."""
    try:
        status(url)
    except errors.NotFoundError:
        return False
    return True


def is_directory(url: str) -> bool:
    """Returns whether a folder exists: in an object store, whether names go on after "url/"."""
    try:
        return status(url).is_directory
    except errors.NotFoundError:
        return False


def list_directory(url: str) -> list[str]:
    """Returns the sorted names in a folder. Raises: NotFoundError; as errors_about."""
    with errors_about(url):
        system, path = open_file_system(url)
        found = system.ls(path, detail=True)
        own = path.rstrip("/")
        names = set()
        for entry in found:
            name = entry["name"].rstrip("/")
            if name == own:
                if entry.get("type") != "directory":
                    raise NotADirectoryError(url)
                continue  # the object that stands for an empty folder
            names.add(name.rpartition("/")[2])
        return sorted(names)


def glob(pattern: str) -> list[str]:
    """Returns the sorted URLs that match a pattern with *, ? and [...]. Raises: as errors_about."""
    with errors_about(pattern):
        system, path = open_file_system(pattern)
        return sorted(_url(pattern, system, found) for found in system.glob(path))


def _url(like: str, system: Any, path: str) -> str:
    """Returns the URL of a path that a file system listed, written as another URL of it is."""
    if _SCHEME.match(path):
        return path
    stripped = system._strip_protocol(like)
    whole = like.rstrip("/")
    if not whole.endswith(stripped):
        return cast(str, system.unstrip_protocol(path))
    return whole[: len(whole) - len(stripped)] + path


def make_directories(url: str) -> None:
    """Creates a folder and its parents; does nothing in an object store, which has none."""
    if writes_objects(url):
        return
    with errors_about(url):
        system, path = open_file_system(url)
        system.makedirs(path, exist_ok=True)


def remove(url: str) -> None:
    """Removes a file. Raises: NotFoundError; as errors_about."""
    with errors_about(url):
        system, path = open_file_system(url)
        if writes_objects(url) and not system.exists(path):  # deleting nothing is no error there
            raise FileNotFoundError(url)
        system.rm_file(path)


def discard(url: str) -> None:
    """Removes a file if it exists."""
    try:
        remove(url)
    except errors.NotFoundError:
        pass


def remove_tree(url: str) -> None:
    """Removes a file, or a folder with its contents. Raises: NotFoundError; as errors_about."""
    with errors_about(url):
        system, path = open_file_system(url)
        system.rm(path, recursive=True)


def remove_empty_directory(url: str) -> None:
    """Removes a folder if it exists and is empty; does nothing in an object store."""
    if writes_objects(url):
        return
    with contextlib.suppress(errors.OpError), errors_about(url):
        system, path = open_file_system(url)
        if not system.ls(path):
            system.rmdir(path)


def rename(origin: str, url: str) -> None:
    """Renames a file or folder, replacing a file; in an object store a copy, then a removal.

    Raises: NotFoundError; as errors_about.
    """
    with errors_about(origin):
        system, path = open_file_system(origin)
        other, target = open_file_system(url)
        if system is not other and type(system) is not type(other):
            raise NotImplementedError(f"cannot rename to another file system: {url}")
        recursive = system.isdir(path)
        try:
            system.mv(path, target, recursive=recursive)
        except FileExistsError:  # some file systems do not replace a file
            if recursive:
                raise
            system.rm_file(target)
            system.mv(path, target)


def copy(origin: str, url: str) -> None:
    """Copies a file within one file system, by the server where it can.

    Raises: NotFoundError; as errors_about.
    """
    with errors_about(origin):
        system, path = open_file_system(origin)
        system.cp_file(path, open_file_system(url)[1])
