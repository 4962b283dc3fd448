"""SaveSliceInfo: the slice of a partitioned variable."""

from __future__ import annotations

from typing import Any

from headrace.graph.framework import import_scope as scope_names


class SaveSliceInfo:
    """The slice of a partitioned variable that a variable holds, for checkpoints.

    Args:
      full_name: name of the partitioned variable.
      full_shape: its shape.
      var_offset: first index of the slice on each axis.
      var_shape: shape of the slice.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Any = None,
        var_offset: Any = None,
        var_shape: Any = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            message = save_slice_info_def
            full_name = scope_names.prepend_name_scope(message.full_name, import_scope)
            full_shape = list(message.full_shape)
            var_offset = list(message.var_offset)
            var_shape = list(message.var_shape)
        self.full_name = full_name
        self.full_shape = full_shape
        self.var_offset = var_offset
        self.var_shape = var_shape

    @property
    def spec(self) -> str:
        """ "full shape offset,length:offset,length", the format of the save ops."""
        full = " ".join([str(d) for d in self.full_shape]) + " "
        parts = [f"{o},{n}" for o, n in zip(self.var_offset, self.var_shape)]
        return full + ":".join(parts)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the SaveSliceInfoDef message, or None if it is outside of export_scope."""
        from headrace.formats.proto.variable_pb2 import SaveSliceInfoDef

        name = self.full_name or ""
        if export_scope is not None and not name.startswith(export_scope):
            return None
        return SaveSliceInfoDef(
            full_name=scope_names.strip_name_scope(name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


def parse_slice_spec(spec: str) -> tuple[list[int], list[int], list[int]]:
    """Returns the full shape, the starts and the lengths (-1: all) of "4 5 0,2:-".

    Raises: ValueError for another format.
    """
    *shape, places = spec.split(" ")
    parts = [(0, -1) if p == "-" else tuple(map(int, p.split(","))) for p in places.split(":")]
    if len(parts) != len(shape) or any(len(part) != 2 for part in parts):
        raise ValueError(f"expected a shape and a slice such as '4 5 0,2:-', not {spec!r}")
    return [int(d) for d in shape], [start for start, _ in parts], [n for _, n in parts]


def share_slice(variable: Any, slot: Any) -> None:
    """Makes the slot of a part of a partitioned variable the same part of a partitioned slot.

    Checkpoints then have one whole slot, which other partitions restore.

    Args:
      slot: a variable of the shape of `variable`, whose name continues the name of `variable`.
    """
    info = getattr(variable, "_save_slice_info", None)
    if info is None:
        return
    name = slot.op.name[len(variable.op.name) + 1 :]
    slot._set_save_slice_info(
        SaveSliceInfo(f"{info.full_name}/{name}", info.full_shape, info.var_offset, info.var_shape)
    )
