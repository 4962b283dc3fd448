"""Reads and writes checkpoints of format V1: files that hold slices of tensors in a sorted table.

The table maps the empty key to the names, shapes, dtypes and slices of all tensors, and the key of
each slice to its elements, in the TensorProto's list of its dtype. A checkpoint is one file, or
several whose names match a pattern such as "model-?????-of-00002".
"""

from __future__ import annotations

import glob
import io
import math
import os
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from google.protobuf.message import DecodeError

from headrace.formats import dtypes, file_systems
from headrace.formats.dtypes import DType
from headrace.formats.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from headrace.formats.ordered_code import encode_slice_key
from headrace.formats.proto.saved_tensor_slice_pb2 import SavedSliceMeta, SavedTensorSlices
from headrace.formats.remote_file import write_bytes
from headrace.formats.sorted_table import TableReader, TableWriter
from headrace.formats.tensor_codec import MAX_RANK
from headrace.formats.tensor_slice import extents_of, normal_extents, slice_proto

_LISTS = {
    "float32": "float_val", "float64": "double_val", "int64": "int64_val", "bool": "bool_val",
    "string": "string_val", "complex64": "scomplex_val", "complex128": "dcomplex_val",
    "float16": "half_val",
    **dict.fromkeys(("int32", "int16", "int8", "uint16", "uint8"), "int_val"),
    **dict.fromkeys(("qint32", "qint16", "qint8", "quint16", "quint8"), "int_val"),
}  # fmt: skip


def slice_files(pattern: str | os.PathLike[str]) -> list[str]:
    """Returns the V1 files that a path or pattern names, sorted; [] if there are none."""
    return [path for path in _matching(os.fspath(pattern)) if _is_table(path)]


def _matching(pattern: str) -> list[str]:
    if file_systems.is_remote(pattern):
        found = file_systems.exists(pattern) and not file_systems.is_directory(pattern)
        return [pattern] if found else file_systems.glob(pattern)
    return [pattern] if os.path.isfile(pattern) else sorted(glob.glob(pattern))


def _is_table(path: str) -> bool:
    try:
        TableReader.open(path)  # reads no data
    except (OpError, OSError):
        return False
    return not path.endswith(".index")


class SliceFileReader:
    """Reads the tensors of a V1 checkpoint, with the methods of BundleReader.

    Args:
      pattern: path of the file, or a pattern that matches the files.
    Raises: NotFoundError if no file matches; DataLossError, with the path, for a corrupted file, or
      if what matches is no checkpoint.
    """

    def __init__(self, pattern: str | os.PathLike[str]) -> None:
        self.prefix = os.fspath(pattern)
        self._metas: dict[str, SavedSliceMeta] = {}
        self._places: dict[tuple[str, bytes], TableReader] = {}
        paths = slice_files(self.prefix)
        if not paths and (others := _matching(self.prefix)):
            raise DataLossError(
                None,
                None,
                f"Unable to open table file {others[0]}: Data loss: not an sstable (bad magic "
                "number): perhaps your file is in a different file format and you need to use a "
                "different restore operator?",
                path=others[0],
                offset=0,
            )
        if not paths:
            raise NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                f"{self.prefix}",
                path=self.prefix,
            )
        for path in paths:
            self._add(path)

    def _add(self, path: str) -> None:
        table = TableReader.open(path)
        entry = self._parsed(table.get(b"") or b"", path, "its list of tensors")
        for meta in entry.meta.tensor:
            known = self._metas.setdefault(meta.name, SavedSliceMeta(name=meta.name))
            if known.type and (known.type, known.shape) != (meta.type, meta.shape):
                raise self._data_loss(path, f"{meta.name!r} has two shapes or dtypes")
            known.type = meta.type
            known.shape.CopyFrom(meta.shape)
            for piece in meta.slice:
                known.slice.append(piece)
                self._places[meta.name, piece.SerializeToString(deterministic=True)] = table

    def names(self) -> list[str]:
        """Returns the names of all tensors, sorted."""
        return sorted(self._metas)

    def __contains__(self, name: str) -> bool:
        return name in self._metas

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the full shape of a tensor. Raises: as `read`."""
        meta = self._meta(name)
        dims = tuple(d.size for d in meta.shape.dim)
        if len(dims) > MAX_RANK or any(d < 0 for d in dims) or math.prod(dims) >= 2**59:
            raise self._data_loss(self.prefix, f"{name!r} has impossible shape {list(dims)}")
        return dims

    def dtype(self, name: str) -> DType:
        """Returns a tensor's dtype. Raises: as `read`."""
        try:
            return dtypes.as_dtype(self._meta(name).type).base_dtype
        except TypeError as error:
            raise self._data_loss(self.prefix, f"{name!r}: {error}") from None

    def read(self, name: str) -> np.ndarray:
        """Returns a whole tensor.

        Raises: NotFoundError for an unknown name; DataLossError for missing or corrupted elements.
        """
        dims = self.shape(name)
        return self.read_slice(name, [0] * len(dims), [-1] * len(dims))

    def read_slice(self, name: str, starts: Sequence[int], lengths: Sequence[int]) -> np.ndarray:
        """Returns a rectangular part of a tensor.

        Args:
          starts: first index in each dimension.
          lengths: size in each dimension; -1 reads to the end.
        Raises: InvalidArgumentError if the part does not fit the shape; the errors of `read`.
        """
        dims, dtype = self.shape(name), self.dtype(name)
        extents = normal_extents(name, dims, starts, lengths)
        region = [(s, s + (d if n < 0 else n)) for (s, n), d in zip(extents, dims, strict=True)]
        pieces = list(self._pieces(name, dims, dtype))
        if sum(math.prod(array.shape) for _, array in pieces) < math.prod(b - a for a, b in region):
            raise self._data_loss(self.prefix, f"slices of {name!r} are missing")
        out = np.empty([b - a for a, b in region], dtype.as_numpy_dtype)
        filled = np.zeros(out.shape, bool)
        for begins, array in pieces:
            part = [
                (max(a, begin), min(b, begin + n))
                for (a, b), begin, n in zip(region, begins, array.shape, strict=True)
            ]
            if any(a >= b for a, b in part):
                continue
            into = tuple(slice(a - r, b - r) for (a, b), (r, _) in zip(part, region, strict=True))
            of = tuple(slice(a - s, b - s) for (a, b), s in zip(part, begins, strict=True))
            out[into] = array[of]
            filled[into] = True
        if not filled.all():
            raise self._data_loss(self.prefix, f"slices of {name!r} are missing")
        return out

    def close(self) -> None:
        """Does nothing: the files are closed with the last reference to the reader."""

    def __enter__(self) -> SliceFileReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _meta(self, name: str) -> SavedSliceMeta:
        found = self._metas.get(name)
        if found is None:
            raise NotFoundError(
                None, None, f"Key {name} not found in checkpoint {self.prefix}", path=self.prefix
            )
        return found

    def _pieces(
        self, name: str, dims: tuple[int, ...], dtype: DType
    ) -> Iterator[tuple[list[int], np.ndarray]]:
        """Yields the first index and the elements of each stored slice."""
        for piece in self._meta(name).slice:
            table = self._places[name, piece.SerializeToString(deterministic=True)]
            raw = [(e.start, e.length if e.HasField("length") else -1) for e in piece.extent]
            extents = extents_of(piece, dims)
            fits = len(extents) == len(dims) and all(
                0 <= s <= s + n <= d for (s, n), d in zip(extents, dims, strict=False)
            )
            stored = table.get(encode_slice_key(name, raw))
            if stored is None or not fits:
                raise self._data_loss(self.prefix, f"slice {raw} of {name!r} is missing")
            data = self._parsed(stored, self.prefix, f"slice {raw} of {name!r}").data.data
            array = _elements(data, dtype, math.prod(n for _, n in extents))
            if array is None:
                raise self._data_loss(self.prefix, f"slice {raw} of {name!r} lacks elements")
            yield [s for s, _ in extents], array.reshape([n for _, n in extents])

    def _parsed(self, data: bytes, path: str, what: str) -> SavedTensorSlices:
        try:
            return SavedTensorSlices.FromString(data)
        except DecodeError:
            raise self._data_loss(path, f"{what} is corrupted") from None

    def _data_loss(self, path: str, what: str) -> DataLossError:
        return DataLossError(None, None, f"{path}: {what}", path=path, offset=0)


def _elements(data: Any, dtype: DType, count: int) -> np.ndarray | None:
    """Returns the elements of a slice as a vector, or None for a wrong number of them."""
    field = _LISTS.get(dtype.name)
    if field is None:
        raise UnimplementedError(None, None, f"a V1 checkpoint cannot hold {dtype.name}")
    listed = getattr(data, field)
    if dtype.name == "string":
        array = np.empty(len(listed), object)
        array[:] = list(listed)
    elif field == "half_val":
        array = np.array(listed, np.uint16).view(dtype.as_numpy_dtype)
    elif dtype.is_complex:
        parts = np.array(listed, np.float32 if dtype.name == "complex64" else np.float64)
        array = parts[: len(parts) // 2 * 2].view(dtype.as_numpy_dtype)
    elif dtype.is_quantized:
        array = np.empty(len(listed), dtype.as_numpy_dtype)
        array[dtype.name] = np.array(listed, np.int64)
    else:
        array = np.array(listed).astype(dtype.as_numpy_dtype)
    return array if len(array) == count else None


class SliceFileWriter:
    """Writes one file of a V1 checkpoint; `finish` publishes it atomically.

    Args:
      path: name of the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._meta = SavedTensorSlices()
        self._metas: dict[str, SavedSliceMeta] = {}
        self._entries: dict[bytes, bytes] = {}

    def add(
        self,
        name: str,
        value: np.ndarray,
        shape: Sequence[int] | None = None,
        starts: Sequence[int] | None = None,
        lengths: Sequence[int] | None = None,
    ) -> None:
        """Adds a tensor, or a slice of one.

        Args:
          name: name of the whole tensor.
          value: elements of the tensor or slice.
          shape, starts, lengths: shape of the whole tensor and place of the slice; None for all.
        Raises: InvalidArgumentError for a slice that does not fit the shape, or the slices before
          it; UnimplementedError for a dtype that the format cannot hold. Nothing is added then.
        """
        value = np.asarray(value)
        full = tuple(value.shape if shape is None else shape)
        ends = [-1] * len(full)
        extents = normal_extents(name, full, starts or [0] * len(full), lengths or ends)
        sizes = [d if n < 0 else n for (_, n), d in zip(extents, full, strict=True)]
        if tuple(sizes) != value.shape:
            raise InvalidArgumentError(
                None, None, f"{name!r}: a slice of {sizes} cannot hold {list(value.shape)}"
            )
        kind = "string" if value.dtype.kind in "OSU" else value.dtype
        dtype = dtypes.as_dtype(kind)
        piece = slice_proto(extents)
        entry = SavedTensorSlices()
        entry.data.name = name
        entry.data.slice.CopyFrom(piece)
        _fill(entry.data.data, value, dtype)
        meta = self._metas.get(name)
        if meta is not None:
            known = [d.size for d in meta.shape.dim]
            if (known, meta.type) != ([*full], dtype.as_datatype_enum):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"{name!r}: a slice of {dtype.name} {[*full]}, but earlier ones are of "
                    f"{dtypes.as_dtype(meta.type).name} {known}",
                )
        else:
            meta = self._metas[name] = self._meta.meta.tensor.add(
                name=name, type=dtype.as_datatype_enum
            )
            for size in full:
                meta.shape.dim.add(size=size)
        meta.slice.append(piece)
        self._entries[encode_slice_key(name, extents)] = entry.SerializeToString()

    def finish(self) -> None:
        """Writes the file. Raises: OSError if that fails, or for a URL an OpError."""
        self._meta.meta.versions.producer = 1
        if file_systems.is_remote(self._path):
            contents = io.BytesIO()
            self._write_table(contents)
            write_bytes(self._path, contents.getvalue())
            return
        temporary = f"{self._path}.tmp{os.getpid()}"
        try:
            with open(temporary, "wb") as file:
                self._write_table(file)
            os.replace(temporary, self._path)
        except BaseException:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise

    def _write_table(self, file: BinaryIO) -> None:
        table = TableWriter(file)
        table.add(b"", self._meta.SerializeToString(deterministic=True))
        for key in sorted(self._entries):
            table.add(key, self._entries[key])
        table.finish()


def _fill(data: Any, value: np.ndarray, dtype: DType) -> None:
    field = _LISTS.get(dtype.name)
    if field is None:
        raise UnimplementedError(None, None, f"a V1 checkpoint cannot hold {dtype.name}")
    flat: Any = np.ascontiguousarray(value).ravel()
    if dtype.name == "string":
        flat = [v.encode() if isinstance(v, str) else bytes(v) for v in flat]
    elif field == "half_val":
        flat = flat.view(np.uint16)
    elif dtype.is_complex:
        flat = flat.view(np.float32 if dtype.name == "complex64" else np.float64)
    elif dtype.is_quantized:
        flat = flat[dtype.name]
    getattr(data, field).extend(flat if isinstance(flat, list) else flat.tolist())
