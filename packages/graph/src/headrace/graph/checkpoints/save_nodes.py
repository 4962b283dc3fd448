"""Adds the nodes of a Saver, with TF 1.x's names."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.saveables import SaveableObject
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.scopes import control_dependencies, device, name_scope


def add_save_nodes(
    saveables: list[SaveableObject], name: str | None, filename: str | None, reshape: bool
) -> Any:
    """Adds the nodes that write and read a checkpoint.

    Args:
      saveables: objects to save.
      name: name scope; "save" by default.
      filename: default prefix of the checkpoint; runs can feed another.
      reshape: reshape restored values to the shapes of the variables.
    Returns: the SaverDef with the names of the nodes.
    """
    from headrace.formats.proto.variable_pb2 import SaverDef

    specs = [spec for saveable in saveables for spec in saveable.specs]
    names = [spec.name for spec in specs]
    slices = [spec.slice_spec for spec in specs]
    with name_scope(name, "save"):
        default = op("PlaceholderWithDefault", filename or "model", shape=[], name="filename")
        path = op("PlaceholderWithDefault", default, shape=[], name="Const")
        written = op("SaveV2", path, names, slices, [s.tensor for s in specs], name="SaveV2")
        with control_dependencies([written]):
            done = op("Identity", path, name="control_dependency")
        with device("/cpu:0"):
            values = op(
                "RestoreV2", path, names, slices, dtypes=[s.dtype for s in specs], name="RestoreV2"
            )
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        assigned = []
        at = 0
        for saveable in saveables:
            part = values[at : at + len(saveable.specs)]
            at += len(saveable.specs)
            shapes = _shapes(saveable) if reshape else None
            assigned.append(saveable.restore(part, shapes))
        restore = group(*assigned, name="restore_all")
    return SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=done.name,
        restore_op_name=restore.name,
        version=SaverDef.V2,
    )


def _shapes(saveable: SaveableObject) -> list[Any]:
    return [spec.tensor.shape.as_list() for spec in saveable.specs]
