"""The files of a SavedModel's folder assets/, such as vocabularies.

A model names each by an AssetFileDef: a tensor that holds a path, and the name of the file. Loading
feeds the file's path to the tensor when the main op runs. TensorFlow 1 lists them in the collection
ASSETS_KEY, TensorFlow 2 in `asset_file_def`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.import_scope import prepend_name_scope
from headrace.graph.framework.operation import Tensor
from headrace.graph.platform import gfile
from headrace.graph.saved_model.constants import ASSETS_DIRECTORY, ASSETS_KEY

_TYPE_URL = "type.googleapis.com/tensorflow.AssetFileDef"


def asset_files(assets: Sequence[Any] | None) -> dict[str, str]:
    """Adds the files that constants name to the default graph's collection ASSETS_KEY.

    Args:
      assets: string constants with paths, as in the collection ASSET_FILEPATHS.
    Returns: path of each file by its name in the folder assets/.
    Raises: TypeError for what is no scalar string constant; ValueError for an empty path.
    """
    from google.protobuf.any_pb2 import Any as AnyMessage

    from headrace.formats.proto.meta_graph_pb2 import AssetFileDef

    files: dict[str, str] = {}
    graph = get_default_graph()
    graph.get_collection_ref(ASSETS_KEY).clear()
    for tensor in assets or ():
        path = _path(tensor)
        name = _unique_name(path, files)
        files[name] = path
        message = AssetFileDef(filename=name)
        message.tensor_info.name = tensor.name
        value = message.SerializeToString(deterministic=True)
        graph.add_to_collection(ASSETS_KEY, AnyMessage(type_url=_TYPE_URL, value=value))
    return files


def copy_assets(files: dict[str, str], export_dir: str) -> None:
    """Copies files to the folder assets/ of a SavedModel. Raises: the OpErrors of the files."""
    folder = os.path.join(export_dir, ASSETS_DIRECTORY)
    for name, path in files.items():
        gfile.MakeDirs(folder)
        gfile.Copy(path, os.path.join(folder, name), overwrite=True)


def remove_assets(files: dict[str, str], export_dir: str) -> None:
    """Removes what copy_assets wrote."""
    folder = os.path.join(export_dir, ASSETS_DIRECTORY)
    for name in files:
        if gfile.Exists(os.path.join(folder, name)):
            gfile.Remove(os.path.join(folder, name))
    if os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)


def asset_feeds(message: Any, export_dir: str, import_scope: str | None) -> dict[str, str]:
    """Returns the path of each asset by the name of the tensor that takes it.

    Args:
      message: the MetaGraphDef.
      export_dir: folder of the SavedModel.
      import_scope: prefix of all names.
    """
    from headrace.formats.proto.meta_graph_pb2 import AssetFileDef

    assets = list(message.asset_file_def)
    if not assets and ASSETS_KEY in message.collection_def:
        listed = message.collection_def[ASSETS_KEY].any_list.value
        assets = [AssetFileDef.FromString(value.value) for value in listed]
    folder = os.path.join(export_dir, ASSETS_DIRECTORY)
    return {
        prepend_name_scope(asset.tensor_info.name, import_scope): os.path.join(
            folder, asset.filename
        )
        for asset in assets
    }


def _path(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Asset path tensor {tensor} must be a Tensor.")
    if tensor.op.type != "Const":
        raise TypeError(f"Asset path tensor {tensor} must be of type constant.")
    if tensor.dtype.name != "string":
        raise TypeError(f"Asset path tensor {tensor} must be of dtype string.")
    value = constant_value(tensor)
    if value.size != 1:
        raise TypeError(f"Asset path tensor {tensor} must be a scalar.")
    path = os.fsdecode(value.item())
    if not path:
        raise ValueError(f"Invalid asset filepath tensor {tensor}.")
    return path


def _unique_name(path: str, files: dict[str, str]) -> str:
    """Returns the file's name, with a number if another file has it."""
    base = name = os.path.basename(path)
    number = 1
    while files.get(name, path) != path:
        name = f"{base}_{number}"
        number += 1
    return name
