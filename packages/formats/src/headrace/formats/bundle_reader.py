"""Reads checkpoint bundles through a memory map, or by ranges of a URL.

bundle_writer.py describes the format.
"""

from __future__ import annotations

import math
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from headrace.formats import dtypes
from headrace.formats.bundle_files import (
    VERSION,
    index_path,
    shard_path,
)
from headrace.formats.dtypes import DType
from headrace.formats.errors import (
    AbortedError,
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from headrace.formats.file_systems import is_remote, status
from headrace.formats.masked_crc import crc32c, mask
from headrace.formats.ordered_code import encode_slice_key, is_slice_key
from headrace.formats.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from headrace.formats.proto.tensor_pb2 import TensorSliceProto
from headrace.formats.remote_file import RemoteReader
from headrace.formats.sorted_table import TableReader
from headrace.formats.string_tensor import decode_strings
from headrace.formats.tensor_codec import MAX_RANK
from headrace.formats.tensor_slice import extents_of, normal_extents

# How often to retry when the bundle is replaced while it is opened.
_ATTEMPTS = 1000
# Shards beyond this number are opened on first use: each takes a file descriptor.
_SHARDS_OPENED_AT_ONCE = 64


class BundleReader:
    """Reads the tensors of a bundle; the data stays in the file until a tensor is read.

    All reads see the bundle as it was when opened, also while writers replace it.

    Args:
      prefix: path or URL of the bundle.
      verify: check the CRC of each tensor that is read.
    Raises: NotFoundError if there is no such bundle; DataLossError, with path and offset, if its
      index is corrupted; InvalidArgumentError if it needs a newer reader; AbortedError if writers
      keep replacing it (`read` raises this too, for a URL also if it was replaced once); for a URL
      as file_systems.errors_about.
    """

    def __init__(self, prefix: str | os.PathLike[str], verify: bool = True) -> None:
        self.prefix = os.fspath(prefix)
        self._verify = verify
        self._index_path = index_path(self.prefix)
        self._maps: dict[int, Any] = {}
        self._parsed: dict[bytes, BundleEntryProto] = {}
        self._identity: tuple[int, ...] | str = ()
        self._is_remote = is_remote(self.prefix)
        for _ in range(_ATTEMPTS):
            if self._open():
                return
            time.sleep(0.001)
        raise AbortedError(
            None,
            None,
            f"{self.prefix}: the checkpoint was replaced {_ATTEMPTS} times while it was opened; "
            "try again",
            path=self._index_path,
        )

    def _open(self) -> bool:
        """Opens index and shards; returns False if another bundle replaced them meanwhile."""
        self._maps.clear()
        if self._is_remote:
            return self._open_remote()
        try:
            index = open(self._index_path, "rb")
        except FileNotFoundError:
            raise NotFoundError(
                None,
                None,
                f"{self.prefix}: no checkpoint of this name; {self._index_path} is missing",
                path=self._index_path,
            ) from None
        # The index stays open, so that the file system cannot reuse its inode number.
        with index:
            self._identity = _identity(os.fstat(index.fileno()))
            self._read_index(index.read())
            if self.num_shards <= _SHARDS_OPENED_AT_ONCE:
                for shard in range(self.num_shards):
                    self._map_shard(shard)
            return self._is_current()

    def _open_remote(self) -> bool:
        try:
            with RemoteReader(self._index_path) as index:
                self._identity = index.identity
                self._read_index(index.read_range(0, index.size))
        except NotFoundError:
            raise NotFoundError(
                None,
                None,
                f"{self.prefix}: no checkpoint of this name; {self._index_path} is missing",
                path=self._index_path,
            ) from None
        except AbortedError:
            return False
        return True  # shards are opened on first use: each is a request

    def _is_current(self) -> bool:
        """Returns whether the index file is still the one that was read.

        Writers replace the index last: while it is unchanged, the shards opened so far are its own.
        """
        if self._is_remote:
            try:
                return status(self._index_path).identity == self._identity
            except NotFoundError:
                return False
        try:
            return _identity(os.stat(self._index_path)) == self._identity
        except FileNotFoundError:
            return False

    def _read_index(self, data: bytes) -> None:
        self._table = dict(TableReader(data, self._index_path).items())
        header = self._parse(BundleHeaderProto, self._table.pop(b"", None), "its header")
        if header.version.min_consumer > VERSION:
            raise InvalidArgumentError(
                None,
                None,
                f"{self._index_path}: needs a reader of version {header.version.min_consumer}, "
                f"this one is {VERSION}",
                path=self._index_path,
            )
        self.num_shards = header.num_shards
        self._swap = header.endianness == BundleHeaderProto.BIG

    def names(self) -> list[str]:
        """Returns the names of all tensors, sorted; a partitioned tensor is one name."""
        return [self._name(key) for key in self._table if not is_slice_key(key)]

    def __contains__(self, name: str) -> bool:
        return name.encode("utf-8") in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the full shape of a tensor. Raises: as `read`."""
        return self._checked_shape(self._entry(name), name)

    def dtype(self, name: str) -> DType:
        """Returns a tensor's dtype. Raises: as `read`."""
        return self._checked_dtype(self._entry(name), name)

    def read(self, name: str, copy: bool = True) -> np.ndarray:
        """Reads a whole tensor; assembles a partitioned one from its slices.

        Args:
          name: a name from `names`.
          copy: False returns a read-only view of the file where that is possible.
        Returns: array of the tensor's shape and dtype; strings as an object array of bytes.
        Raises: NotFoundError for an unknown name; UnimplementedError for resources and variants;
          DataLossError, with path and offset, for missing or corrupted bytes and for an invalid
          entry; AbortedError if another bundle replaced this one before its shard was opened.
        """
        entry = self._entry(name)
        if entry.slices:
            shape = self._checked_shape(entry, name)
            return self._assemble(name, entry, [(0, n) for n in shape])
        return self._read_entry(entry, name, copy)

    def read_slice(self, name: str, starts: Sequence[int], lengths: Sequence[int]) -> np.ndarray:
        """Reads a rectangular part of a tensor, whole or partitioned.

        Args:
          name: a name from `names`.
          starts: first index in each dimension.
          lengths: size in each dimension; -1 reads to the end.
        Returns: array of shape `lengths`, dtype of the tensor.
        Raises: InvalidArgumentError if the part does not fit the shape; the errors of `read`.
        """
        entry = self._entry(name)
        shape = self._checked_shape(entry, name)
        extents = normal_extents(name, shape, starts, lengths)
        region = [(s, shape[i] if n < 0 else n) for i, (s, n) in enumerate(extents)]
        if entry.slices:
            return self._assemble(name, entry, region)
        whole = self._read_entry(entry, name, copy=False)
        return whole[tuple(slice(s, s + n) for s, n in region)].copy()

    def slices(self, name: str) -> list[list[tuple[int, int]]]:
        """Returns the stored slices, (start, length) per dimension; [] for a whole tensor."""
        entry = self._entry(name)
        return [extents_of(s, self._checked_shape(entry, name)) for s in entry.slices]

    def close(self) -> None:
        """Closes the files; views that `read` returned stay valid."""
        for shard in self._maps.values():
            if isinstance(shard, RemoteReader):
                shard.close()
        self._maps.clear()

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def entries(self) -> Iterator[tuple[bytes, BundleEntryProto]]:
        """Yields (key, entry) of all entries in stored order, slices included."""
        for key in self._table:
            yield key, self._entry_at(key, self._name(key))

    def _entry(self, name: str) -> BundleEntryProto:
        key = name.encode("utf-8")
        if key not in self._table:
            raise NotFoundError(
                None,
                None,
                f"Key {name} not found in checkpoint {self.prefix}, "
                f"which has {len(self._table)} tensors",
                path=self._index_path,
            )
        return self._entry_at(key, name)

    def _entry_at(self, key: bytes, name: str) -> BundleEntryProto:
        found = self._parsed.get(key)
        if found is None:
            found = self._parse(BundleEntryProto, self._table.get(key), f"the entry of {name!r}")
            self._parsed[key] = found
        return found

    def _parse(self, message: Any, data: bytes | None, what: str) -> Any:
        if data is None:
            raise self._data_loss(self._index_path, 0, f"{what} is missing")
        try:
            return message.FromString(data)
        except DecodeError:
            raise self._data_loss(self._index_path, 0, f"{what} is corrupted") from None

    def _name(self, key: bytes) -> str:
        try:
            return key.decode("utf-8")
        except UnicodeDecodeError:
            if is_slice_key(key):
                return repr(key)
            raise self._data_loss(self._index_path, 0, f"the name {key!r} is corrupted") from None

    def _checked_dtype(self, entry: BundleEntryProto, name: str) -> DType:
        try:
            return dtypes.as_dtype(entry.dtype).base_dtype
        except TypeError:
            raise self._data_loss(
                self._index_path, 0, f"the entry of {name!r} has unknown dtype {entry.dtype}"
            ) from None

    def _checked_shape(self, entry: BundleEntryProto, name: str) -> tuple[int, ...]:
        dims = _dims(entry.shape)
        if (
            entry.shape.unknown_rank
            or len(dims) > MAX_RANK
            or any(d < 0 for d in dims)
            or math.prod(max(d, 1) for d in dims) >= 2**59
        ):
            raise self._data_loss(
                self._index_path, 0, f"the entry of {name!r} has impossible shape {list(dims)}"
            )
        return dims

    def _read_entry(self, entry: BundleEntryProto, name: str, copy: bool) -> np.ndarray:
        dims = self._checked_shape(entry, name)
        dtype = self._checked_dtype(entry, name)
        if dtype.size == 0 and dtype is not dtypes.string:
            raise UnimplementedError(
                None, None, f"{self.prefix}: {name!r} is a {dtype.name}, which cannot be read"
            )
        count = math.prod(dims)
        path, data = self._bytes(entry, name)
        if dtype is dtypes.string:
            try:
                strings, crc = decode_strings(data, count)
            except ValueError as error:
                raise self._data_loss(path, entry.offset, f"strings of {name!r}: {error}") from None
            self._check_crc(path, entry, name, crc)
            return strings.reshape(dims)
        if entry.size != count * dtype.size:
            raise self._data_loss(
                path,
                entry.offset,
                f"{name!r} has {entry.size} bytes but {dtype.name} {list(dims)} takes "
                f"{count * dtype.size}",
            )
        if self._verify:
            self._check_crc(path, entry, name, crc32c(data))
        array = np.frombuffer(data, np.dtype(dtype.as_numpy_dtype), count) if count else None
        if array is None:
            return np.empty(dims, dtype.as_numpy_dtype)
        if self._swap:
            array, copy = array.byteswap(), False
        return (array.copy() if copy else array).reshape(dims)

    def _check_crc(self, path: str, entry: BundleEntryProto, name: str, crc: int) -> None:
        if self._verify and mask(crc) != entry.crc32c:
            if self._is_remote and not self._is_current():  # its files have no lock and no map
                raise self._replaced()
            raise self._data_loss(
                path,
                entry.offset,
                f"{name!r} has CRC {mask(crc):#010x} but {entry.crc32c:#010x} is stored",
            )

    def _bytes(self, entry: BundleEntryProto, name: str) -> tuple[str, memoryview]:
        path = shard_path(self.prefix, entry.shard_id, self.num_shards)
        if not 0 <= entry.shard_id < self.num_shards:
            raise self._data_loss(
                self._index_path, 0, f"{name!r} is in shard {entry.shard_id} of {self.num_shards}"
            )
        mapped = self._maps.get(entry.shard_id)
        if mapped is None:
            mapped = self._map_shard(entry.shard_id)
            if not self._is_current():
                self.close()
                raise self._replaced()
        if mapped is None:
            raise self._data_loss(path, 0, f"the shard that holds {name!r} is missing")
        end = entry.offset + entry.size
        size = mapped.size if isinstance(mapped, RemoteReader) else len(mapped)
        if entry.offset < 0 or entry.size < 0 or end > size:
            raise self._data_loss(
                path,
                entry.offset,
                f"{name!r} occupies bytes {entry.offset} to {end} of {size}; the file is truncated",
            )
        if isinstance(mapped, RemoteReader):
            return path, memoryview(mapped.read_range(entry.offset, entry.size))
        return path, memoryview(mapped)[entry.offset : end]

    def _replaced(self) -> AbortedError:
        return AbortedError(
            None,
            None,
            f"{self.prefix}: another checkpoint replaced this one while it was read; open it again",
            path=self._index_path,
        )

    def _map_shard(self, shard: int) -> Any:
        """Returns the memory map or RemoteReader of a shard; None if the file is missing."""
        path = shard_path(self.prefix, shard, self.num_shards)
        if self._is_remote:
            try:
                self._maps[shard] = RemoteReader(path)
            except NotFoundError:
                return None
            return self._maps[shard]
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        except FileNotFoundError:
            return None
        self._maps[shard] = found
        return found

    def _assemble(
        self, name: str, entry: BundleEntryProto, region: list[tuple[int, int]]
    ) -> np.ndarray:
        """Fills a region with its overlap with each stored slice."""
        dims = self._checked_shape(entry, name)
        dtype = self._checked_dtype(entry, name)
        # Check that all slices exist before allocating, so that a hostile shape takes no memory.
        requested = math.prod(n for _, n in region)
        if not requested:
            return np.empty([n for _, n in region], dtype.as_numpy_dtype)
        covered = 0
        overlaps = []
        for proto in entry.slices:
            extents = extents_of(proto, dims)
            if len(extents) != len(dims) or any(
                s < 0 or n < 0 or s + n > d for (s, n), d in zip(extents, dims, strict=True)
            ):
                raise self._data_loss(
                    self._index_path, 0, f"slice {extents} of {name!r} does not fit {list(dims)}"
                )
            part = [
                (max(s, rs), min(s + n, rs + rn))
                for (s, n), (rs, rn) in zip(extents, region, strict=True)
            ]
            if any(low >= high for low, high in part):
                continue
            covered += math.prod(high - low for low, high in part)
            if covered > requested:
                break
            stored = self._read_slice_entry(name, proto, extents, dtype)
            overlaps.append((extents, part, stored))
        if covered != requested:
            raise self._data_loss(
                self._index_path,
                0,
                f"slices of {name!r} hold {covered} of the {requested} requested elements",
            )
        out = np.empty([n for _, n in region], dtype.as_numpy_dtype)
        filled = np.zeros(out.shape, bool)  # overlapping slices would leave gaps
        for extents, part, stored in overlaps:
            out[_within(part, region)] = stored[_within(part, extents)]
            filled[_within(part, region)] = True
        if not filled.all():
            raise self._data_loss(self._index_path, 0, f"slices of {name!r} overlap")
        return out

    def _read_slice_entry(
        self,
        name: str,
        proto: TensorSliceProto,
        extents: list[tuple[int, int]],
        dtype: DType,
    ) -> np.ndarray:
        raw = [(e.start, e.length if e.HasField("length") else -1) for e in proto.extent]
        stored = self._entry_at(encode_slice_key(name, raw), f"{name} {raw}")
        expected = tuple(n for _, n in extents)
        if self._checked_shape(stored, name) != expected:
            raise self._data_loss(
                self._index_path,
                0,
                f"slice {raw} of {name!r} has shape {list(_dims(stored.shape))}, "
                f"not {list(expected)}",
            )
        if stored.dtype != dtype.as_datatype_enum:
            raise self._data_loss(
                self._index_path,
                0,
                f"slice {raw} of {name!r} has dtype {stored.dtype}, not {dtype.name}",
            )
        return self._read_entry(stored, name, copy=False)

    def _data_loss(self, path: str, offset: int, what: str) -> DataLossError:
        return DataLossError(
            None, None, f"{path}: at byte {offset}: {what}", path=path, offset=offset
        )


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _within(part: list[tuple[int, int]], origin: list[tuple[int, int]]) -> tuple[slice, ...]:
    """Converts (low, high) bounds to slices relative to the start of `origin`."""
    return tuple(
        slice(low - start, high - start)
        for (low, high), (start, _) in zip(part, origin, strict=True)
    )


def _dims(shape: Any) -> tuple[int, ...]:
    return tuple(d.size for d in shape.dim)
