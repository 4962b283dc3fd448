"""Adds the nodes of a Saver, with TF 1.x's names."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.saveables import SaveableObject
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.device_spec import DeviceSpec, canonical
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies, device, name_scope

V1, V2 = 1, 2


@dataclass(frozen=True)
class SaveOptions:
    """How a Saver writes and reads.

    Attributes:
      name: name scope; "save" by default.
      filename: default path of the checkpoint; runs can feed another.
      reshape: reshape restored values to the shapes of the variables.
      sharded: write a file for each device.
      version: V1 or V2, the format that is written; both are read.
    """

    name: str | None = None
    filename: str | None = None
    reshape: bool = False
    sharded: bool = False
    version: int = V2


def add_save_nodes(saveables: list[SaveableObject], options: SaveOptions) -> Any:
    """Adds the nodes that write and read a checkpoint.

    Returns: the SaverDef with the names of the nodes.
    Raises: ValueError if the parts of a saveable are on several devices, with `sharded`.
    """
    from headrace.formats.proto.variable_pb2 import SaverDef

    with name_scope(options.name, "save", [saveable.op for saveable in saveables]):
        path, done = add_write_nodes(saveables, options)
        if options.sharded:
            restored = []
            for place, part in _by_device(saveables):
                with device(place or None):
                    restored.append(_restore(path, part, options, "restore_shard"))
            restore = group(*restored, name="restore_all")
        else:
            restore = _restore(path, saveables, options, "restore_all")
    return SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=done.name,
        restore_op_name=restore.name,
        sharded=options.sharded,
        version=SaverDef.V1 if options.version == V1 else SaverDef.V2,
    )


def add_write_nodes(saveables: list[SaveableObject], options: SaveOptions) -> tuple[Tensor, Tensor]:
    """Adds the nodes that write a checkpoint, in the current name scope.

    Returns: the tensor to which a run feeds the path, and the path, which is there when the
      checkpoint is complete.
    Raises: as add_save_nodes.
    """
    default = op("PlaceholderWithDefault", options.filename or "model", shape=[], name="filename")
    path = op("PlaceholderWithDefault", default, shape=[], name="Const")
    if options.sharded:
        return path, _sharded_save(path, _by_device(saveables), options.version)
    return path, _save(path, saveables, options.version)


def _save(path: Tensor, saveables: list[SaveableObject], version: int) -> Tensor:
    """Writes saveables to one file, or one bundle; returns its path."""
    specs = [spec for saveable in saveables for spec in saveable.specs]
    names = [spec.name for spec in specs]
    slices = [spec.slice_spec for spec in specs]
    tensors = [spec.tensor for spec in specs]
    if version == V1:
        written = op("SaveSlices", path, names, slices, tensors, name="save")
    else:
        written = op("SaveV2", path, names, slices, tensors, name="SaveV2")
    with control_dependencies([written]):
        return op("Identity", path, name="control_dependency")


def _sharded_save(path: Tensor, by_device: list[Any], version: int) -> Tensor:
    """Writes a file for each device; in V2 a last node merges them to one bundle."""
    prefix = path
    if version == V2:
        prefix = op("StringJoin", [path, f"_temp_{uuid.uuid4().hex}/part"])
    count = constant(len(by_device), name="num_shards")
    paths, saved = [], []
    for shard, (place, part) in enumerate(by_device):
        with device(_on_cpu(place) if version == V2 else place or None):
            paths.append(op("ShardedFilename", prefix, shard, count))
            saved.append(_save(paths[-1], part, version))
    with control_dependencies([t.op for t in saved]):
        if version == V1:
            return op("ShardedFilespec", path, count)
        with device(_on_cpu(by_device[-1][0])):
            merged = op("MergeV2Checkpoints", paths, path, delete_old_dirs=True)
            with control_dependencies([merged]):
                return op("Identity", path)


def _restore(
    path: Tensor, saveables: list[SaveableObject], options: SaveOptions, name: str
) -> Operation:
    specs = [spec for saveable in saveables for spec in saveable.specs]
    with device("/cpu:0"):
        values = op(
            "RestoreV2",
            path,
            [spec.name for spec in specs],
            [spec.slice_spec for spec in specs],
            dtypes=[spec.dtype for spec in specs],
            name="RestoreV2",
        )
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    assigned = []
    at = 0
    for saveable in saveables:
        part = values[at : at + len(saveable.specs)]
        at += len(saveable.specs)
        assigned.append(saveable.restore(part, _shapes(saveable) if options.reshape else None))
    return group(*assigned, name=name)


def _shapes(saveable: SaveableObject) -> list[Any]:
    """Returns the shapes of a saveable's tensors: lists of sizes, or tensors where unknown."""
    return [
        spec.tensor.shape.as_list()
        if spec.tensor.shape.is_fully_defined()
        else op("Shape", spec.tensor)
        for spec in saveable.specs
    ]


def _by_device(saveables: list[SaveableObject]) -> list[tuple[str, list[SaveableObject]]]:
    """Groups saveables by device, sorted by its name."""
    found: dict[str, list[SaveableObject]] = {}
    for saveable in saveables:
        places = {canonical(spec.tensor.device) for spec in saveable.specs}
        if len(places) != 1:
            raise ValueError(
                f"All tensors of a saveable object must be on the same device: {saveable.name}"
            )
        found.setdefault(places.pop(), []).append(saveable)
    return sorted(found.items())


def _on_cpu(place: str) -> str:
    """Returns the first CPU of a device's task: files belong to it."""
    spec = DeviceSpec.from_string(place)
    return DeviceSpec(spec.job, spec.replica, spec.task, "CPU", 0).to_string()
