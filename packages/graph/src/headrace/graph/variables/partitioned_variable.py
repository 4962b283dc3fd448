"""PartitionedVariable: a variable split along one axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder import operators
from headrace.graph.builder.conversion import register_tensor_conversion_function
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.typing.aliases import DTypeLike, ShapeLike

if TYPE_CHECKING:
    from headrace.graph.framework.operator_types import TensorOperators
else:
    TensorOperators = object


class PartitionedVariable(TensorOperators):
    """A variable split along one axis; its value is the concatenation of its partitions.

    Args:
      name: name of the full variable.
      shape: shape of the full variable.
      dtype: dtype of the variable.
      variable_list: the partitions, in order.
      partitions: number of partitions of each axis; above 1 for at most one axis.
    Raises: TypeError or ValueError for inconsistent arguments.
    """

    def __init__(
        self, name: str, shape: ShapeLike, dtype: DTypeLike, variable_list: Any, partitions: Any
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if any(p < 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        self._name = name
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._variable_list = sorted(variable_list, key=lambda v: v._save_slice_info.var_offset)
        self._partitions = list(partitions)
        self._whole: Tensor | None = None

    name = property(lambda self: self._name, doc="Name of the whole.")
    dtype = property(lambda self: self._dtype, doc="Type of the whole.")
    shape = property(lambda self: self._shape, doc="Shape of the whole.")
    graph = property(lambda self: self._variable_list[0].graph, doc="The graph that it is in.")

    def get_shape(self) -> TensorShape:
        """Returns the full shape."""
        return self._shape

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _partition_axes(self) -> list[int]:
        axes = [i for i, p in enumerate(self._partitions) if p > 1]
        return axes or [0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    def as_tensor(self) -> Tensor:
        """Returns the concatenated partitions."""
        values = [v.value() for v in self._variable_list]
        if len(values) > 1:
            with name_scope(self._name + "/ConcatPartitions/"):
                values = [op("ConcatV2", values, self._partition_axes()[0], name="concat")]
        with name_scope(None):
            return op("Identity", values[0], name=self._name)

    def _as_tensor(self) -> Tensor:
        return self.as_tensor()

    def assign(
        self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> Any:
        """Assigns a value of the full shape; returns the assignment of each partition."""
        axis = self._partition_axes()[0]
        sizes = [v.shape.as_list()[axis] for v in self._variable_list]
        parts = [value]
        if len(sizes) > 1:
            parts = op("SplitV", value, sizes, axis, num_split=len(sizes))
        return [
            v.assign(part, use_locking=use_locking, name=name, read_value=read_value)
            for v, part in zip(self._variable_list, parts)
        ]

    def __repr__(self) -> str:
        return (
            f"<hr.PartitionedVariable '{self._name}' shape={self._shape} "
            f"dtype={self._dtype.base_dtype.name} in {len(self)} parts>"
        )


def _to_tensor(
    variable: PartitionedVariable, dtype: Any = None, name: Any = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not as_dtype(dtype).is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{as_dtype(dtype).name}' for "
            f"variable of type '{variable.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return variable.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _to_tensor, 90)
operators.overload(PartitionedVariable)


def split_shape(shape: list[int], partitions: list[int]) -> list[tuple[list[int], list[int]]]:
    """Returns (offset, shape) of each partition; the first ones take the remainder.

    Raises: ValueError for more partitions than the axis has elements.
    """
    axis = next((i for i, p in enumerate(partitions) if p > 1), 0)
    count = partitions[axis]
    if count > shape[axis]:
        raise ValueError(
            f"Partitioning axis {axis} of shape {shape} into {count} partitions: it has fewer "
            f"elements"
        )
    size, longer = divmod(shape[axis], count)
    parts = []
    offset = 0
    for i in range(count):
        length = size + (i < longer)
        at = [0] * len(shape)
        at[axis] = offset
        parts.append((at, [*shape[:axis], length, *shape[axis + 1 :]]))
        offset += length
    return parts
