"""Reads tensors of a checkpoint without mapping its files into memory.

BundleReader of headrace.formats is unsuitable here: it maps files, so truncating a checkpoint would
kill the process, and it opens files by path, through any link.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError

from headrace.board.embedding.config_folder import ConfigFolder, read_at
from headrace.board.embedding.embedding_error import EmbeddingError
from headrace.formats import dtypes
from headrace.formats.bundle_files import index_path, shard_path
from headrace.formats.errors import OpError
from headrace.formats.masked_crc import masked_crc32c
from headrace.formats.ordered_code import encode_slice_key, is_slice_key
from headrace.formats.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from headrace.formats.sorted_table import TableReader
from headrace.formats.tensor_slice import extents_of

_MAX_INDEX_BYTES = 256 << 20
_MAX_MATRICES = 100_000
# No part of the pattern matches a line feed, so matching takes linear time.
_STATE = re.compile(
    r'^[ \t]*model_checkpoint_path[ \t]*:[ \t]*"((?:[^"\\\n]|\\[^\n])*)"', re.MULTILINE
)
_NUMERIC = {
    dtype.as_datatype_enum: np.dtype(dtype.as_numpy_dtype)
    for dtype in (
        dtypes.float32, dtypes.float64, dtypes.half, dtypes.bfloat16,
        dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16,
    )
}  # fmt: skip


def latest_checkpoint(folder: ConfigFolder) -> str | None:
    """Returns the prefix that the folder's `checkpoint` file names; None without one."""
    try:
        text = folder.read("checkpoint", 1 << 20).decode("utf-8", "replace")
    except EmbeddingError:
        return None
    found = _STATE.search(text)
    return re.sub(r"\\(.)", r"\1", found[1]) if found else None


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A numeric tensor with two dimensions."""

    name: str
    rows: int
    dims: int
    entry: BundleEntryProto


class CheckpointTensors:
    """The matrices of a checkpoint.

    Args:
      folder: the folder of the config that names the checkpoint.
      prefix: path of the checkpoint, as in the config.
    Raises: EmbeddingError.
    """

    def __init__(self, folder: ConfigFolder, prefix: str) -> None:
        self._folder = folder
        self._prefix = prefix
        data = folder.read(index_path(prefix), _MAX_INDEX_BYTES)
        try:
            self._table = dict(TableReader(data, index_path(prefix)).items())
            header = BundleHeaderProto.FromString(self._table.pop(b"", b""))
        except (OpError, DecodeError) as error:
            raise EmbeddingError(f"the checkpoint's index is corrupted: {error}") from None
        self._shards = header.num_shards
        self._swap = header.endianness == BundleHeaderProto.BIG

    def matrices(self) -> dict[str, StoredTensor]:
        """Returns the numeric tensors with two dimensions by name, up to a limit."""
        found: dict[str, StoredTensor] = {}
        for key, value in self._table.items():
            if len(found) == _MAX_MATRICES:
                break
            if is_slice_key(key):
                continue
            try:
                entry = BundleEntryProto.FromString(value)
                name = key.decode("utf-8")
            except (DecodeError, UnicodeDecodeError):
                continue
            dims = [d.size for d in entry.shape.dim]
            if len(dims) == 2 and min(dims) >= 1 and entry.dtype in _NUMERIC:
                found[name] = StoredTensor(name, dims[0], dims[1], entry)
        return found

    def rows(self, tensor: StoredTensor, requested: np.ndarray) -> np.ndarray:
        """Returns [len(wanted), dims] of the tensor's own dtype. Raises: EmbeddingError.

        Args:
          tensor: one of `matrices`.
          wanted: [n] i64 row numbers, increasing.
        """
        dtype = _NUMERIC[tensor.entry.dtype]
        if not tensor.entry.slices:
            whole = (0, tensor.rows, 0, tensor.dims)
            return self._part(tensor.entry, tensor.name, whole, dtype, requested)
        out = np.zeros((len(requested), tensor.dims), dtype)
        filled = np.zeros(out.shape, bool)
        for proto in tensor.entry.slices:
            extents = extents_of(proto, (tensor.rows, tensor.dims))
            if len(extents) != 2 or any(
                s < 0 or n < 0 or s + n > d
                for (s, n), d in zip(extents, (tensor.rows, tensor.dims), strict=True)
            ):
                raise EmbeddingError(f"a slice of {tensor.name} does not fit its shape")
            (r0, rn), (c0, cn) = extents
            raw = [(e.start, e.length if e.HasField("length") else -1) for e in proto.extent]
            stored = self._table.get(encode_slice_key(tensor.name, raw))
            try:
                entry = BundleEntryProto.FromString(stored or b"")
            except DecodeError:
                entry = BundleEntryProto()
            if stored is None or entry.dtype != tensor.entry.dtype:
                raise EmbeddingError(f"a slice of {tensor.name} is missing or of another type")
            at = np.flatnonzero((requested >= r0) & (requested < r0 + rn))
            if len(at):
                part = self._part(entry, tensor.name, (r0, rn, c0, cn), dtype, requested[at])
                out[at, c0 : c0 + cn] = part
                filled[at, c0 : c0 + cn] = True
        if not filled.all():
            raise EmbeddingError(f"slices of {tensor.name} do not cover it")
        return out

    def _part(
        self,
        entry: BundleEntryProto,
        name: str,
        extent: tuple[int, int, int, int],
        dtype: np.dtype,
        requested: np.ndarray,
    ) -> np.ndarray:
        first, rows, _, dims = extent
        row_bytes = dims * dtype.itemsize
        if entry.size != rows * row_bytes or not 0 <= entry.shard_id < self._shards:
            raise EmbeddingError(
                f"{name} has {entry.size} bytes in shard {entry.shard_id}, but [{rows}, {dims}]"
                f" takes {rows * row_bytes}"
            )
        path = shard_path(self._prefix, entry.shard_id, self._shards)
        fd = self._folder.open(path)
        try:
            whole = len(requested) == rows
            data = read_rows(fd, entry.offset, row_bytes, requested - first)
        except OSError as error:
            raise EmbeddingError(f"{path} cannot be read: {error.strerror}") from None
        finally:
            os.close(fd)
        if len(data) != len(requested) * row_bytes:
            raise EmbeddingError(f"{path} is cut off within {name}")
        if whole and masked_crc32c(data) != entry.crc32c:
            raise EmbeddingError(f"the bytes of {name} do not have the CRC that is stored for them")
        values = np.frombuffer(data, dtype).reshape(len(requested), dims)
        return values.byteswap() if self._swap else values


def read_rows(fd: int, offset: int, row_bytes: int, requested: np.ndarray) -> bytes:
    """Returns rows of equal size, or fewer bytes at the end of the file.

    Args:
      fd: the file.
      offset: offset of row 0.
      row_bytes: size of each row.
      wanted: [n] i64, increasing row numbers; consecutive ones are read at once.
    """
    if not len(requested):
        return b""
    breaks = np.flatnonzero(np.diff(requested) != 1) + 1
    starts = np.concatenate(([0], breaks))
    ends = np.concatenate((breaks, [len(requested)]))
    parts = []
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        place = offset + int(requested[begin]) * row_bytes
        if not 0 <= place < 2**62:
            return b""
        parts.append(read_at(fd, place, (end - begin) * row_bytes))
    return b"".join(parts)
