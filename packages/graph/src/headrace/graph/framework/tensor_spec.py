"""Specifications of tensors: TensorSpec, SparseTensorSpec, IndexedSlicesSpec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import DType, as_dtype, float32, int64
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.typing.aliases import DTypeLike, ShapeLike

if TYPE_CHECKING:
    from headrace.graph.framework.operation import Tensor


class TensorSpec:
    """Required shape, dtype and name of a tensor.

    Args:
      shape: anything that TensorShape accepts.
      dtype: dtype of the tensor.
      name: name of the tensor, or None.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The required shape, possibly partial."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Returns the spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Returns a copy of a spec, with another name if given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, other: Any) -> bool:
        """Returns whether a tensor or spec has the same dtype and a compatible shape."""
        return self._dtype.is_compatible_with(other.dtype) and self._shape.is_compatible_with(
            other.shape
        )

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and self._shape == other._shape
            and self._dtype == other._dtype
            and self._name == other._name
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(shape={self._shape}, dtype={self._dtype.name}, "
            f"name={self._name!r})"
        )


class SparseTensorSpec(TensorSpec):
    """Required dense shape and dtype of a SparseTensor."""

    def __init__(self, shape: ShapeLike | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(shape, dtype)


class IndexedSlicesSpec(TensorSpec):
    """Required dense shape, dtype and dtype of the indices of IndexedSlices."""

    __slots__ = ("indices_dtype",)

    def __init__(
        self,
        shape: ShapeLike | None = None,
        dtype: DTypeLike = float32,
        indices_dtype: DTypeLike = int64,
    ) -> None:
        super().__init__(shape, dtype)
        self.indices_dtype = as_dtype(indices_dtype)
