"""File names of a checkpoint bundle, and the atomic publication of its files."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import socket
import time
from collections.abc import Iterator

from google.protobuf.message import DecodeError

from headrace.formats import file_systems, remote_bundle
from headrace.formats.errors import OpError
from headrace.formats.file_systems import is_remote
from headrace.formats.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from headrace.formats.sorted_table import TableReader, TableWriter

VERSION = 1
_STALE_AFTER_S = 600
_numbers = itertools.count()


def index_path(prefix: str | os.PathLike[str]) -> str:
    """Returns the name of a bundle's index file."""
    return os.fspath(prefix) + ".index"


def shard_path(prefix: str | os.PathLike[str], shard: int, shards: int) -> str:
    """Returns the name of one of a bundle's data files."""
    return f"{os.fspath(prefix)}.data-{shard:05d}-of-{shards:05d}"


def bundle_exists(prefix: str | os.PathLike[str]) -> bool:
    """Returns whether a bundle with this prefix exists."""
    path = index_path(prefix)
    return file_systems.exists(path) if is_remote(path) else os.path.exists(path)


def bundle_files(prefix: str | os.PathLike[str]) -> list[str]:
    """Returns the paths of all files that belong to a prefix, the index first."""
    prefix = os.fspath(prefix)
    if is_remote(prefix):
        index = [index_path(prefix)] if bundle_exists(prefix) else []
        return index + remote_bundle.data_files(prefix)
    folder, stem = os.path.split(prefix)
    pattern = re.compile(re.escape(stem) + r"\.data-\d{5,}-of-\d{5,}\Z")
    try:
        names = sorted(n for n in os.listdir(folder or ".") if pattern.match(n))
    except FileNotFoundError:
        names = []
    index = [index_path(prefix)] if bundle_exists(prefix) else []
    return index + [os.path.join(folder, name) for name in names]


def publish(
    prefix: str,
    temporary: str,
    shards: list[str],
    entries: dict[bytes, BundleEntryProto],
    sync: bool,
) -> None:
    """Renames the shards and then the index to their final names; the last rename is atomic.

    Writers of one folder are serialized by a lock, because the names of a bundle's files depend on
    the bundle that they replace. After a failure only the older bundle and the temporary files are
    left. remote_bundle.py says what differs for URLs.

    Args:
      prefix: prefix of the bundle.
      temporary: result of `temporary_name`; the index is first written under this name.
      shards: paths of the data files, in order of shard_id; empty shards may be appended.
      entries: entries of the index by key, without the header.
      sync: call fsync after each stage.
    """
    if is_remote(prefix):
        count = shard_count(prefix, len(shards))
        remote_bundle.publish(
            prefix,
            shards,
            [shard_path(prefix, number, count) for number in range(count)],
            _index(count, entries),
        )
        return
    folder = os.path.dirname(prefix) or "."
    with _folder_lock(folder):
        older = bundle_files(prefix)
        count = shard_count(prefix, len(shards))
        for number in range(len(shards), count):  # empty: no tensor refers to these
            shards.append(f"{temporary}.data-{number:05d}")
            with open(shards[-1], "wb"):
                pass
        index = temporary + ".index"
        _write_index(index, count, entries, sync)
        names = [shard_path(prefix, number, count) for number in range(count)]
        try:
            for path, name in zip(shards, names, strict=True):
                os.replace(path, name)
            if sync:
                _sync_folder(folder)
            os.replace(index, index_path(prefix))
        except BaseException:
            for name in set(names) - set(older):
                remove(name)
            raise
        if sync:
            _sync_folder(folder)
        kept = {index_path(prefix), *names}
        for path in older:
            if path not in kept:
                remove(path)


def _index(shards: int, entries: dict[bytes, BundleEntryProto]) -> bytes:
    header = BundleHeaderProto(num_shards=shards, endianness=BundleHeaderProto.LITTLE)
    header.version.producer = VERSION
    file = io.BytesIO()
    table = TableWriter(file)
    table.add(b"", header.SerializeToString(deterministic=True))
    for key in sorted(entries):
        table.add(key, entries[key].SerializeToString(deterministic=True))
    table.finish()
    return file.getvalue()


def _write_index(
    path: str, shards: int, entries: dict[bytes, BundleEntryProto], sync: bool
) -> None:
    with open(path, "wb") as file:
        file.write(_index(shards, entries))
        file.flush()
        if sync:
            os.fsync(file.fileno())


@contextlib.contextmanager
def _folder_lock(folder: str) -> Iterator[None]:
    """Holds the folder's flock, which the C++ writers take too; the system frees it on a kill."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Windows has neither
        yield
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


def shard_count(prefix: str, requested: int) -> int:
    """Returns the number of shards in the new file names of a bundle.

    It differs from the replaced bundle's: with equal numbers both bundles would have the same shard
    names, and renaming a shard would overwrite the older bundle before its index is replaced.
    """
    if not bundle_exists(prefix):
        return requested
    try:
        header = TableReader.open(index_path(prefix)).get(b"") or b""
        taken = BundleHeaderProto.FromString(header).num_shards
    except (OpError, DecodeError):
        return requested  # the older bundle is unreadable anyway
    return requested + 1 if taken == requested else requested


def temporary_name(prefix: str) -> str:
    """Returns a unique prefix for a bundle's files until they are complete."""
    return f"{prefix}.tmp-{socket.gethostname()}-{os.getpid()}-{next(_numbers)}"


def remove_stale_temporaries(folder: str) -> None:
    """Removes temporary files that killed writers of this host left at least 600 s ago."""
    pattern = re.compile(rf"\.tmp-{re.escape(socket.gethostname())}-(\d+)-\d+\.(index|data-\d+)\Z")
    for name in os.listdir(folder):
        match = pattern.search(name)
        if match is None or _is_alive(int(match.group(1))):
            continue
        path = os.path.join(folder, name)
        try:
            if time.time() - os.stat(path).st_mtime > _STALE_AFTER_S:
                os.remove(path)
        except OSError:
            pass  # another process removed it first


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def link_or_copy(origin: str, path: str) -> None:
    """Hard-links a file to a second path; copies it where the file system has no hard links."""
    if is_remote(origin):
        return file_systems.copy(origin, path)
    try:
        os.link(origin, path)
    except OSError:  # another file system, or one without hard links
        import shutil

        shutil.copyfile(origin, path)
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def make_folders(folder: str) -> None:
    """Creates a folder and its parents, unless they exist. Raises: OSError, or an OpError."""
    if is_remote(folder):
        file_systems.make_directories(folder)
    else:
        os.makedirs(folder, exist_ok=True)


def _sync_folder(folder: str) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows has no folders to sync
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Removes a file if it exists."""
    if is_remote(path):
        return file_systems.discard(path)
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
