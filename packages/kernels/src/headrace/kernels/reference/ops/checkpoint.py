"""Checkpoints and whole files."""

from __future__ import annotations

import glob
import os

import numpy as np

from headrace.formats import file_systems, remote_file
from headrace.formats.bundle_files import bundle_exists
from headrace.formats.bundle_merge import merge_bundles
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.slice_file import SliceFileReader, SliceFileWriter
from headrace.kernels.reference.registry import Attrs, kernel


def parsed_slice(text: bytes, name: bytes) -> tuple[list[int], list[int], list[int]]:
    """The whole shape, the starts and the lengths (-1: all) that "4 5 0,2:-" says."""
    try:
        *shape, spec = text.decode().split(" ")
        parts = [(0, -1) if p == "-" else tuple(map(int, p.split(","))) for p in spec.split(":")]
        starts, lengths = zip(*parts, strict=True)
        if len(parts) != len(shape):
            raise ValueError
        return [int(n) for n in shape], list(starts), list(lengths)
    except ValueError:
        raise InvalidArgumentError(
            None,
            None,
            f"{name.decode()}: expected a shape and a slice such as '4 5 0,2:-', not "
            f"{text.decode(errors='replace')!r}",
        ) from None


@kernel("SaveV2")
def save_v2(
    attrs: Attrs, prefix: np.ndarray, names: np.ndarray, slices: np.ndarray, *tensors: np.ndarray
) -> list[np.ndarray]:
    with BundleWriter(prefix.item().decode()) as writer:
        for name, spec, value in zip(names.tolist(), slices.tolist(), tensors, strict=True):
            if spec:
                writer.add_slice(name.decode(), *parsed_slice(spec, name), value)
            else:
                writer.add(name.decode(), value)
    return []


@kernel("RestoreV2")
def restore_v2(
    attrs: Attrs, prefix: np.ndarray, names: np.ndarray, slices: np.ndarray
) -> list[np.ndarray] | np.ndarray:
    path = prefix.item().decode()
    with BundleReader(path) if bundle_exists(path) else SliceFileReader(path) as reader:
        rows = zip(names.tolist(), slices.tolist(), attrs["dtypes"], strict=True)
        restored = [restored_tensor(reader, *row) for row in rows]
    return restored if len(restored) != 1 else restored[0]  # one output comes without a list


def restored_tensor(
    reader: BundleReader | SliceFileReader, name: bytes, spec: bytes, number: int
) -> np.ndarray:
    """A tensor of a checkpoint, or the slice of it that "4 5 0,2:-" says."""
    key = name.decode()
    found = reader.dtype(key)
    if int(found) != number:
        raise InvalidArgumentError(
            None,
            None,
            f"tensor_name = {key}; expected dtype {as_dtype(number).name} does not equal "
            f"original dtype {found.name}",
        )
    if not spec:
        return reader.read(key)
    shape, starts, lengths = parsed_slice(spec, name)
    if tuple(shape) != tuple(reader.shape(key)):
        raise InvalidArgumentError(
            None,
            None,
            f"tensor_name = {key}; shape in shape_and_slice spec {shape} does not "
            f"match the shape in the save file: {list(reader.shape(key))}",
        )
    return reader.read_slice(key, starts, lengths)


# ---- format V1 ----


@kernel("SaveSlices")
def save_slices(
    attrs: Attrs, path: np.ndarray, names: np.ndarray, slices: np.ndarray, *tensors: np.ndarray
) -> list[np.ndarray]:
    writer = SliceFileWriter(os.fsdecode(path.item()))
    for name, spec, value in zip(names.tolist(), slices.tolist(), tensors, strict=True):
        if spec:
            shape, starts, lengths = parsed_slice(spec, name)
            writer.add(name.decode(), value, shape, starts, lengths)
        else:
            writer.add(name.decode(), value)
    writer.finish()
    return []


@kernel("Save")
def save(
    attrs: Attrs, path: np.ndarray, names: np.ndarray, *tensors: np.ndarray
) -> list[np.ndarray]:
    whole = np.full(names.shape, b"", object)
    return save_slices(attrs, path, names, whole, *tensors)


@kernel("RestoreSlice")
def restore_slice(
    attrs: Attrs, pattern: np.ndarray, name: np.ndarray, spec: np.ndarray
) -> np.ndarray:
    path = pattern.item().decode()
    with BundleReader(path) if bundle_exists(path) else SliceFileReader(path) as reader:
        return restored_tensor(reader, name.item(), spec.item(), attrs["dt"])


@kernel("Restore")
def restore(attrs: Attrs, pattern: np.ndarray, name: np.ndarray) -> np.ndarray:
    return restore_slice(attrs, pattern, name, np.array(b"", object))


@kernel("MergeV2Checkpoints")
def merge_v2_checkpoints(
    attrs: Attrs, prefixes: np.ndarray, destination: np.ndarray
) -> list[np.ndarray]:
    sources = [prefix.decode() for prefix in prefixes.ravel().tolist()]
    if attrs["allow_missing_files"]:
        sources = [prefix for prefix in sources if bundle_exists(prefix)]
    merge_bundles(sources, destination.item().decode(), delete_old=attrs["delete_old_dirs"])
    return []


@kernel("ShardedFilename")
def sharded_filename(
    attrs: Attrs, base: np.ndarray, shard: np.ndarray, count: np.ndarray
) -> np.ndarray:
    return np.array(b"%s-%05d-of-%05d" % (base.item(), int(shard), int(count)), object)


@kernel("ShardedFilespec")
def sharded_filespec(attrs: Attrs, base: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.array(b"%s-?????-of-%05d" % (base.item(), int(count)), object)


# ---- whole files ----


@kernel("ReadFile")
def read_file(attrs: Attrs, name: np.ndarray) -> np.ndarray:
    path = file_systems.local_path(os.fsdecode(name.item()))
    if file_systems.is_remote(path):
        return np.array(remote_file.read_bytes(path), object)
    try:
        with open(path, "rb") as stream:
            return np.array(stream.read(), object)
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{path}; No such file or directory", path=path) from None


@kernel("WriteFile")
def write_file(attrs: Attrs, name: np.ndarray, contents: np.ndarray) -> list[np.ndarray]:
    path = file_systems.local_path(os.fsdecode(name.item()))
    if file_systems.is_remote(path):
        remote_file.write_bytes(path, contents.item())
        return []
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(contents.item())
    return []


def matching(pattern: str) -> list[str]:
    """The files that a pattern matches."""
    if file_systems.is_remote(pattern):
        return file_systems.glob(pattern)
    return glob.glob(file_systems.local_path(pattern))


@kernel("MatchingFiles")
def matching_files(attrs: Attrs, patterns: np.ndarray) -> np.ndarray:
    found = {name for p in patterns.ravel().tolist() for name in matching(os.fsdecode(p))}
    names = [os.fsencode(name) for name in sorted(found)]
    result = np.empty(len(names), object)
    result[:] = names
    return result
