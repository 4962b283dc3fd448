"""Merges the bundles that the writers of a sharded save produce into one checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterable

from headrace.formats.bundle_files import (
    index_path,
    link_or_copy,
    make_folders,
    publish,
    remove,
    shard_count,
    shard_path,
    temporary_name,
)
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from headrace.formats.file_systems import is_remote, remove_empty_directory
from headrace.formats.os_errors import os_errors_about
from headrace.formats.proto.bundle_pb2 import BundleEntryProto
from headrace.formats.tensor_codec import shape_from_proto


def merge_bundles(
    prefixes: Iterable[str | os.PathLike[str]],
    merged_prefix: str | os.PathLike[str],
    delete_old: bool = True,
    sync: bool = True,
) -> None:
    """Merges several bundles into one (MergeV2Checkpoints); data files are linked, not copied.

    An object store copies its objects itself.

    Args:
      prefixes: bundles to merge; a partitioned tensor may have slices in several of them.
      merged_prefix: prefix of the merged bundle.
      delete_old: remove the source bundles, and their folders where these are empty.
      sync: call fsync before the merged bundle becomes visible.
    Raises: AlreadyExistsError for a tensor in two bundles; InvalidArgumentError for slices of one
      tensor with different shapes or dtypes; the errors of BundleReader, and OpErrors for failures
      of the file system, such as ResourceExhaustedError on a full disk.
    """
    merged = os.fspath(merged_prefix)
    sources = [os.fspath(p) for p in prefixes]
    folder = os.path.dirname(merged) or "."
    with os_errors_about(folder):
        make_folders(folder)
    temporary = temporary_name(merged)
    entries: dict[bytes, BundleEntryProto] = {}
    shards: list[str] = []
    origins: list[str] = []
    for prefix in sources:
        with _opened_part(prefix) as reader:
            first = len(origins)
            for key, entry in reader.entries():
                _merge_entry(entries, key, entry, first, prefix)
            origins += [shard_path(prefix, i, reader.num_shards) for i in range(reader.num_shards)]
    try:
        with os_errors_about(merged):
            remote_count = shard_count(merged, len(origins)) if is_remote(merged) else 0
            for number, origin in enumerate(origins):
                shards.append(
                    shard_path(merged, number, remote_count)
                    if remote_count
                    else f"{temporary}.data-{number:05d}"
                )
                link_or_copy(origin, shards[-1])
            publish(merged, temporary, shards, entries, sync)
    except BaseException:
        for path in [*shards, temporary + ".index"]:
            remove(path)
        raise
    if delete_old:
        # The merged bundle is complete: a kill before this point loses nothing.
        for prefix in sources:
            if prefix == merged:
                continue
            remove(index_path(prefix))
        for origin in origins:
            if not origin.startswith(merged + ".data-"):
                remove(origin)
        for prefix in sources:
            if is_remote(prefix):
                remove_empty_directory(os.path.dirname(prefix))
                continue
            try:
                os.rmdir(os.path.dirname(prefix) or ".")
            except OSError:
                pass  # other files live there


def _opened_part(prefix: str) -> BundleReader:
    try:
        return BundleReader(prefix)
    except NotFoundError as error:
        raise NotFoundError(
            None,
            None,
            f"{error.message}; the tasks of a sharded save write to one folder, which all of them "
            "must share, or to an object store",
            path=error.path,
        ) from None


def _merge_entry(
    entries: dict[bytes, BundleEntryProto],
    key: bytes,
    entry: BundleEntryProto,
    first_shard: int,
    prefix: str,
) -> None:
    copy = BundleEntryProto()
    copy.CopyFrom(entry)
    copy.shard_id += first_shard
    earlier = entries.get(key)
    if earlier is None:
        entries[key] = copy
        return
    name = key.decode("utf-8", "replace")
    if not earlier.slices or not copy.slices:
        raise AlreadyExistsError(
            None, None, f"{prefix}: {name!r} is also in another of the merged bundles"
        )
    if earlier.dtype != copy.dtype or earlier.shape != copy.shape:
        raise InvalidArgumentError(
            None,
            None,
            f"{prefix}: slices of {name!r} disagree about its shape or dtype: "
            f"{shape_from_proto(earlier.shape)} and {shape_from_proto(copy.shape)}",
        )
    earlier.slices.extend(copy.slices)
