"""Writes checkpoints: tensors by name, in TensorFlow's V2 bundle format.

A bundle PREFIX consists of an index file PREFIX.index, a sorted table of BundleEntryProto by tensor
name, and data shards PREFIX.data-00000-of-00001, … that hold the bytes. Renaming the index file
creates the bundle or replaces an older one. `finish` keeps the older bundle's shards until then, so
that a writer killed at any moment leaves the older bundle intact. PREFIX may be a URL
(remote_bundle.py).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from headrace.formats import dtypes
from headrace.formats.bundle_files import (
    make_folders,
    publish,
    remove,
    remove_stale_temporaries,
    shard_count,
    shard_path,
    temporary_name,
)
from headrace.formats.dtypes import DType
from headrace.formats.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
)
from headrace.formats.file_systems import is_remote
from headrace.formats.masked_crc import crc32c, mask
from headrace.formats.ordered_code import encode_slice_key
from headrace.formats.os_errors import os_errors_about
from headrace.formats.proto.bundle_pb2 import BundleEntryProto
from headrace.formats.remote_file import RemoteWriter
from headrace.formats.string_tensor import encode_strings
from headrace.formats.tensor_codec import make_shape_proto
from headrace.formats.tensor_slice import normal_extents, slice_proto

# Tensors start at multiples of this, so that they are aligned in a memory map.
_ALIGNMENT = 64


class BundleWriter:
    """Writes a bundle; readers see it under its prefix only after `finish`.

    Args:
      prefix: path or URL of the bundle; its folder is created if necessary.
      max_shard_bytes: greatest size of a shard in bytes; a larger tensor gets its own shard. None
        writes one shard.
      sync: call fsync on the data before the index refers to it.
    Raises: an OpError for each failure of the file system, also from the methods: for instance
      ResourceExhaustedError on a full disk, PermissionDeniedError.
    """

    def __init__(
        self,
        prefix: str | os.PathLike[str],
        max_shard_bytes: int | None = None,
        sync: bool = True,
    ) -> None:
        self.prefix = os.fspath(prefix)
        self._folder = os.path.dirname(self.prefix) or "."
        self._is_remote = is_remote(self.prefix)
        with os_errors_about(self._folder):
            make_folders(self._folder)
            if not self._is_remote:
                remove_stale_temporaries(self._folder)
        self._max_shard_bytes = max_shard_bytes
        self._sync = sync
        self._temporary = temporary_name(self.prefix)
        self._entries: dict[bytes, BundleEntryProto] = {}
        self._shards: list[str] = []
        self._file: BinaryIO | RemoteWriter | None = None
        self._position = 0
        with os_errors_about(self.prefix):
            self._open_shard()

    def add(self, name: str, value: Any) -> None:
        """Writes a whole tensor.

        Args:
          name: key of the tensor; not empty.
          value: array, or anything that np.asarray accepts; strings as bytes or str.
        Raises: AlreadyExistsError for a name added before; InvalidArgumentError for an empty name
          or a finished writer; UnimplementedError for resources and variants.
        """
        array, dtype = _checked_array(name, value)
        key = name.encode("utf-8")
        if key in self._entries:
            raise AlreadyExistsError(None, None, f"{self.prefix}: {name!r} was already added")
        self._entries[key] = self._write(array, dtype)

    def add_slice(
        self,
        name: str,
        full_shape: Sequence[int],
        starts: Sequence[int],
        lengths: Sequence[int],
        value: Any,
    ) -> None:
        """Writes one slice of a partitioned tensor; other writers may write its other slices.

        Args:
          name: name of the whole tensor.
          full_shape: shape of the whole tensor.
          starts: first index of the slice in each dimension.
          lengths: size of the slice in each dimension; -1 extends to the end.
          value: [lengths] the slice.
        Raises: InvalidArgumentError if the slice does not fit the shape or disagrees with an
          earlier slice; AlreadyExistsError for a slice added before; the errors of `add`.
        """
        array, dtype = _checked_array(name, value)
        full = tuple(int(d) for d in full_shape)
        extents = normal_extents(name, full, starts, lengths)
        sizes = tuple(full[i] if n < 0 else n for i, (_, n) in enumerate(extents))
        if array.shape != sizes:
            raise InvalidArgumentError(
                None,
                None,
                f"{self.prefix}: slice of {name!r} is {list(sizes)}, its value {list(array.shape)}",
            )
        key = name.encode("utf-8")
        whole = self._entries.get(key)
        known = None if whole is None else tuple(d.size for d in whole.shape.dim)
        if whole is None:
            whole = BundleEntryProto(dtype=_enum(dtype), shape=make_shape_proto(full))
        elif not whole.slices or known != full or whole.dtype != int(dtype):
            raise InvalidArgumentError(
                None,
                None,
                f"{self.prefix}: slices of {name!r} disagree about its shape or dtype: "
                f"{known} and {full}",
            )
        slice_key = encode_slice_key(name, extents)
        if slice_key in self._entries:
            raise AlreadyExistsError(
                None, None, f"{self.prefix}: slice {extents} of {name!r} was already added"
            )
        self._entries[slice_key] = self._write(array, dtype)
        whole.slices.append(slice_proto(extents))
        self._entries[key] = whole

    def finish(self) -> None:
        """Publishes the bundle atomically, replacing an older one with this prefix."""
        try:
            with os_errors_about(self.prefix):
                self._close_shard()
                publish(self.prefix, self._temporary, self._shards, self._entries, self._sync)
        except BaseException:
            self.abort()
            raise
        self._shards = []

    def abort(self) -> None:
        """Removes the files written so far; an older bundle with this prefix stays unchanged."""
        file, self._file = self._file, None
        if isinstance(file, RemoteWriter):
            self._shards.pop()  # it is no file yet
            file.discard()
        elif file is not None:
            with contextlib.suppress(OSError):  # a full disk, already reported to the caller
                file.close()
        for path in [*self._shards, self._temporary + ".index"]:
            remove(path)
        self._shards = []

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    def _open_shard(self) -> None:
        path = f"{self._temporary}.data-{len(self._shards):05d}"
        if self._is_remote:
            if self._max_shard_bytes is None:  # the only shard: it need not be renamed
                path = shard_path(self.prefix, 0, shard_count(self.prefix, 1))
            self._file = RemoteWriter(path)
        else:
            self._file = open(path, "wb")
        self._shards.append(path)
        self._position = 0

    def _close_shard(self) -> None:
        if self._file is None:
            raise InvalidArgumentError(None, None, f"{self.prefix}: the writer is finished")
        if not isinstance(self._file, RemoteWriter):
            self._file.flush()
            if self._sync:
                os.fsync(self._file.fileno())
        self._file.close()
        self._file = None

    def _write(self, array: np.ndarray, dtype: DType) -> BundleEntryProto:
        with os_errors_about(self.prefix):
            return self._write_bytes(array, dtype)

    def _write_bytes(self, array: np.ndarray, dtype: DType) -> BundleEntryProto:
        parts: Sequence[Any]
        if dtype is dtypes.string:
            parts, crc = encode_strings(array)
            size = sum(map(len, parts))
        else:
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            parts, crc, size = [data], crc32c(data), data.nbytes
        full = self._max_shard_bytes
        if full is not None and self._position and self._position + size > full:
            self._close_shard()
            self._open_shard()
        if self._file is None:
            raise InvalidArgumentError(None, None, f"{self.prefix}: the writer is finished")
        padding = -self._position % _ALIGNMENT if dtype is not dtypes.string else 0
        if padding and size:
            self._file.write(bytes(padding))
            self._position += padding
        entry = BundleEntryProto(
            dtype=_enum(dtype),
            shape=make_shape_proto(array.shape),
            shard_id=len(self._shards) - 1,
            offset=self._position,
            size=size,
            crc32c=mask(crc),
        )
        for part in parts:
            self._file.write(part)
        self._position += size
        return entry


def _enum(dtype: DType) -> Any:
    return dtype.as_datatype_enum  # the stubs require the enum type


def _checked_array(name: str, value: Any) -> tuple[np.ndarray, DType]:
    if not name or name[0] == "\0":
        raise InvalidArgumentError(
            None, None, f"a tensor in a checkpoint needs a name, not {name!r}"
        )
    array = np.asarray(value)
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        array = np.array(value, dtype=object)
    dtype = dtypes.as_dtype(array.dtype)
    if dtype is dtypes.string:
        return array, dtype
    native = np.dtype(dtype.as_numpy_dtype)
    return array if array.dtype == native else array.astype(native), dtype
