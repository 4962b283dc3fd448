"""One checkpoint bundle of several, as the writers of a sharded save leave them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from headrace.formats.bundle_files import (
    index_path,
    link_or_copy,
    publish,
    remove,
    shard_path,
    temporary_name,
)
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.errors import AlreadyExistsError, InvalidArgumentError
from headrace.formats.os_errors import os_errors_about
from headrace.formats.proto.bundle_pb2 import BundleEntryProto
from headrace.formats.tensor_codec import shape_from_proto


def merge_bundles(
    prefixes: Iterable[str | os.PathLike[str]],
    merged_prefix: str | os.PathLike[str],
    delete_old: bool = True,
    sync: bool = True,
) -> None:
    """Makes one bundle of several (MergeV2Checkpoints); data files move, they are not copied.

    Args:
      prefixes: bundles to merge; a partitioned tensor may have slices in several.
      merged_prefix: the bundle to make.
      delete_old: move the data and remove the old bundles and their folders if empty; False
        links or copies the data.
    Raises: AlreadyExistsError for a tensor that two of them have; InvalidArgumentError if their
      slices disagree; else as BundleReader.
    """
    merged = os.fspath(merged_prefix)
    sources = [os.fspath(p) for p in prefixes]
    folder = os.path.dirname(merged) or "."
    with os_errors_about(folder):
        os.makedirs(folder, exist_ok=True)
    temporary = temporary_name(merged)
    entries: dict[bytes, BundleEntryProto] = {}
    shards: list[str] = []
    origins: list[str] = []
    for prefix in sources:
        with BundleReader(prefix) as reader:
            first = len(origins)
            for key, entry in reader.entries():
                _merge_entry(entries, key, entry, first, prefix)
            origins += [shard_path(prefix, i, reader.num_shards) for i in range(reader.num_shards)]
    try:
        with os_errors_about(merged):
            for number, origin in enumerate(origins):
                shards.append(f"{temporary}.data-{number:05d}")
                link_or_copy(origin, shards[-1])
            publish(merged, temporary, shards, entries, sync)
    except BaseException:
        for path in [*shards, temporary + ".index"]:
            remove(path)
        raise
    if delete_old:
        # Only now, so that a kill before this point loses nothing.
        for prefix in sources:
            if prefix == merged:
                continue
            remove(index_path(prefix))
        for origin in origins:
            if not origin.startswith(merged + ".data-"):
                remove(origin)
        for prefix in sources:
            try:
                os.rmdir(os.path.dirname(prefix) or ".")
            except OSError:
                pass  # other files live there


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
    there = entries.get(key)
    if there is None:
        entries[key] = copy
        return
    name = key.decode("utf-8", "replace")
    if not there.slices or not copy.slices:
        raise AlreadyExistsError(None, None, f"{prefix}: {name!r} is in another bundle too")
    if there.dtype != copy.dtype or there.shape != copy.shape:
        raise InvalidArgumentError(
            None,
            None,
            f"{prefix}: slices of {name!r} disagree about its shape or dtype: "
            f"{shape_from_proto(there.shape)} and {shape_from_proto(copy.shape)}",
        )
    there.slices.extend(copy.slices)
