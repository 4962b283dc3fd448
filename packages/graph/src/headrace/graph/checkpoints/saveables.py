"""Saveable objects: variables, slices of partitioned variables, and SaveableObjects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import device
from headrace.graph.typing.aliases import DTypeLike
from headrace.graph.variables.partitioned_variable import PartitionedVariable


class SaveSpec:
    """Describes one tensor of a checkpoint.

    Args:
      tensor: the value, or a function without arguments that creates it.
      slice_spec: slice of the full tensor, in the format of SaveV2; "" for the full tensor.
      name: key in the checkpoint.
      dtype: dtype; that of the tensor by default.
    """

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: DTypeLike | None = None
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self.dtype = as_dtype(tensor.dtype if dtype is None else dtype).base_dtype

    @property
    def tensor(self) -> Tensor:
        """The tensor with the value."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Base class of objects whose state is saved as tensors of a checkpoint.

    Args:
      op: the saved object; determines the device.
      specs: list of SaveSpecs.
      name: name of the object.
    """

    def __init__(self, op: Any, specs: list[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> str:
        """The device of the object."""
        return self.op.device

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        """Adds the operation that restores the state; subclasses override it.

        Args:
          restored_tensors: one tensor per spec.
          restored_shapes: shapes to reshape them to; None keeps their shapes.
        """
        raise NotImplementedError("Calling an abstract method.")


class VariableSaveable(SaveableObject):
    """A variable, or one slice of a partitioned variable."""

    def __init__(self, variable: Any, slice_spec: str, name: str) -> None:
        self._variable = variable
        is_resource = hasattr(variable, "handle")
        tensor = variable._graph_element if is_resource else variable._ref()
        spec = SaveSpec(tensor, slice_spec, name, variable.dtype)
        super().__init__(variable.op, [spec], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        value = restored_tensors[0]
        shape = self._variable.get_shape()
        if restored_shapes is not None:
            value = op("Reshape", value, restored_shapes[0])
        if hasattr(self._variable, "handle"):
            if restored_shapes is None and shape.is_fully_defined():
                value.set_shape(shape)
            with device(self._variable.op.device or None):
                value = op("Identity", value)
            return op("AssignVariableOp", self._variable.handle, value, dtype=self._variable.dtype)
        validate = restored_shapes is None and shape.is_fully_defined()
        return op("Assign", self._variable._ref(), value, validate_shape=validate)


def saveables_of(found: Any) -> list[SaveableObject]:
    """Converts variables to saveable objects, sorted by name.

    Args:
      found: list of variables and SaveableObjects, or a dict from names to these; lists are the
        slices of a partitioned variable.
    Raises: TypeError for objects that cannot be saved; ValueError for duplicate names.
    """
    named: list[tuple[str | None, Any]]
    if isinstance(found, Mapping):
        named = [(key, found[key]) for key in sorted(found)]
    else:
        named = [(None, value) for value in found]
    out: list[SaveableObject] = []
    seen: set[int] = set()
    for key, value in named:
        if id(value) in seen and key is None:
            raise ValueError(f"At least two variables have the same name: {value.name}")
        seen.add(id(value))
        out.extend(_saveable_of(key, value))
    objects: set[Any] = set()
    for saveable in out:
        if saveable.op in objects:
            raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
        objects.add(saveable.op)
    keys: set[tuple[str, str]] = set()
    for spec in [spec for saveable in out for spec in saveable.specs]:
        if (spec.name, spec.slice_spec) in keys:
            raise ValueError(f"At least two variables have the same name: {spec.name}")
        keys.add((spec.name, spec.slice_spec))
    return sorted(out, key=lambda s: (s.name, s.specs[0].slice_spec))


def _saveable_of(key: str | None, value: Any) -> list[SaveableObject]:
    if isinstance(value, SaveableObject):
        return [value]
    if isinstance(value, (PartitionedVariable, list, tuple)):
        return [part for one in value for part in _saveable_of(key, one)]
    info = getattr(value, "_save_slice_info", None)
    if not hasattr(value, "initializer") or not hasattr(value, "op"):
        raise TypeError(f"names_to_saveables must be a dict mapping string to Variables, "
                        f"not {value!r}; give a variable or a list of variables")  # fmt: skip
    name = key or (info.full_name if info is not None else value.op.name)
    return [VariableSaveable(value, info.spec if info is not None else "", name)]
