"""Reads names, shapes and values of a checkpoint's tensors, without a graph."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from headrace.formats.bundle_files import bundle_exists
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.errors import NotFoundError
from headrace.formats.proto.types_pb2 import DataType
from headrace.formats.slice_file import SliceFileReader
from headrace.graph.checkpoints.checkpoint_state import latest_checkpoint, local_path
from headrace.graph.platform import gfile


class CheckpointReader:
    """Reads the tensors of a checkpoint.

    Args:
      filepattern: path or URL of the checkpoint's prefix, or a pattern of its files in format V1.
    Raises: NotFoundError if there is no such checkpoint; DataLossError if its index is corrupted.
    """

    def __init__(self, filepattern: str | os.PathLike[str]) -> None:
        path = local_path(filepattern)
        self._reader: BundleReader | SliceFileReader = (
            BundleReader(path) if bundle_exists(path) else SliceFileReader(path)
        )

    def has_tensor(self, tensor_str: str) -> bool:
        """Returns whether the checkpoint has a tensor of this name."""
        return tensor_str in self._reader

    def get_tensor(self, tensor_str: str) -> np.ndarray:
        """Returns the value of a tensor.

        Raises: NotFoundError for an unknown name; DataLossError if its bytes are corrupted.
        """
        if tensor_str not in self._reader:
            raise NotFoundError(
                None, None, f"Key {tensor_str} not found in checkpoint {self._reader.prefix}"
            )
        return self._reader.read(tensor_str)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Returns the shape of each tensor, by name."""
        return {name: list(self._reader.shape(name)) for name in self._reader.names()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Returns the DType of each tensor, by name."""
        return {name: self._reader.dtype(name) for name in self._reader.names()}

    def debug_string(self) -> bytes:
        """Returns one line per tensor: name, DataType and shape, such as `w (DT_FLOAT) [2,3]`."""
        lines = []
        for name in self._reader.names():
            kind = DataType.Name(int(self._reader.dtype(name)))
            sizes = ",".join(map(str, self._reader.shape(name)))
            lines.append(f"{name} ({kind}) [{sizes}]\n")
        return "".join(lines).encode()


def new_checkpoint_reader(filepattern: str | os.PathLike[str]) -> CheckpointReader:
    """Opens a checkpoint; public as `hr.train.NewCheckpointReader`. Raises: as CheckpointReader."""
    return CheckpointReader(filepattern)


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Opens a checkpoint, or the latest checkpoint of a folder.

    Raises: ValueError if the folder has no checkpoint; as CheckpointReader.
    """
    path = local_path(ckpt_dir_or_file)
    if gfile.IsDirectory(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = found
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> np.ndarray:
    """Returns the value of one variable of a checkpoint.

    Raises: NotFoundError for an unknown name; as load_checkpoint.
    """
    name = name[:-2] if name.endswith(":0") else name
    reader = load_checkpoint(ckpt_dir_or_file)
    if not reader.has_tensor(name):
        raise NotFoundError(None, None, f"Key {name} not found in checkpoint {ckpt_dir_or_file}")
    return reader.get_tensor(name)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Returns (name, shape) of each variable of a checkpoint, sorted by name.

    Raises: as load_checkpoint.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
