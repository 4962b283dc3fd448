"""What one component of an element is, and how it becomes a tensor of the pipeline.

A pipeline passes tensors. A SparseTensor travels as a variant tensor that holds its three parts, a
nested dataset and an Optional as the variant that refers to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype, variant
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor, SparseTensorValue
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import value_as_shape
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.framework.tensor_spec import SparseTensorSpec, TensorSpec
from headrace.graph.typing.aliases import DTypeLike, ShapeLike

_RANK_0 = "Unbatching a {} is only supported for rank >= 1"


class TensorComponent:
    """Tensors: they pass as they are."""

    def flat(self, spec: TensorSpec) -> TensorSpec:
        return spec

    def encode(self, spec: TensorSpec, value: Any) -> Tensor:
        problem = (
            f"Value {value!r} is not convertible to a tensor with dtype {spec.dtype} and shape "
            f"{spec.shape}."
        )
        try:
            tensor = convert_to_tensor(value, spec.dtype)
        except (TypeError, ValueError):
            raise ValueError(problem) from None
        if not tensor.shape.is_compatible_with(spec.shape):
            raise ValueError(problem)
        return tensor

    def encode_rows(self, spec: TensorSpec, value: Any) -> Tensor:
        tensor = self.encode(spec, value)
        if tensor.shape.ndims == 0:
            raise ValueError(f"Value {value} has insufficient rank for batching.")
        return tensor

    def decode(self, spec: TensorSpec, tensor: Tensor) -> Tensor:
        tensor.set_shape(spec.shape)
        return tensor

    def batched(self, spec: TensorSpec, size: int | None) -> TensorSpec:
        return TensorSpec(TensorShape([size]).concatenate(spec.shape), spec.dtype)

    def unbatched(self, spec: TensorSpec) -> TensorSpec:
        if spec.shape.ndims == 0:
            raise ValueError(_RANK_0.format("tensor"))
        return TensorSpec(spec.shape[1:], spec.dtype)

    def legacy(self, spec: TensorSpec) -> tuple[Any, Any, Any]:
        return spec.dtype, spec.shape, Tensor


class SparseComponent:
    """SparseTensors: their three parts pass in one variant tensor."""

    def flat(self, spec: SparseTensorSpec) -> TensorSpec:
        # Batches of them have the shape [..., 3], so that the rank is not known.
        return TensorSpec(None, variant)

    def encode(self, spec: SparseTensorSpec, value: Any) -> Tensor:
        x = SparseTensor.from_value(value)
        return op("SerializeSparse", x.indices, x.values, x.dense_shape, out_type=variant)

    def encode_rows(self, spec: SparseTensorSpec, value: Any) -> Tensor:
        known = TensorShape(value_as_shape(value.dense_shape))
        if spec.shape.merge_with(known).ndims == 0:
            raise ValueError(_RANK_0.format("sparse tensor"))
        x = value
        return op("SerializeManySparse", x.indices, x.values, x.dense_shape, out_type=variant)

    def decode(self, spec: SparseTensorSpec, tensor: Tensor) -> SparseTensor:
        indices, values, dense_shape = op("DeserializeSparse", tensor, dtype=spec.dtype)
        rank = spec.shape.ndims
        indices.set_shape([None, rank])
        values.set_shape([None])
        dense_shape.set_shape([rank])
        return SparseTensor(indices, values, dense_shape)

    def batched(self, spec: SparseTensorSpec, size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(TensorShape([size]).concatenate(spec.shape), spec.dtype)

    def unbatched(self, spec: SparseTensorSpec) -> SparseTensorSpec:
        if spec.shape.ndims == 0:
            raise ValueError(_RANK_0.format("tensor"))
        return SparseTensorSpec(spec.shape[1:], spec.dtype)

    def legacy(self, spec: SparseTensorSpec) -> tuple[Any, Any, Any]:
        return spec.dtype, spec.shape, SparseTensor


class VariantSpec:
    """Base class of the specs of values that one variant tensor refers to."""

    # What makes a value of a subclass from (spec, tensor); its module sets it.
    _make: Callable[[Any, Tensor], Any]

    def _key(self) -> Any:
        raise NotImplementedError

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether another spec, or a value, is of the same kind and structure."""
        other = getattr(spec_or_value, "_type_spec", spec_or_value)
        return type(other) is type(self) and bool(self._key() == other._key())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool(self._key() == other._key())

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._key()!r}"


class DatasetSpec(VariantSpec):
    """The spec of a nested dataset.

    Args:
      element_spec: structure of the specs of its elements.
      dataset_shape: shape of a tensor of datasets.
    """

    __slots__ = ("_dataset_shape", "_element_spec")

    def __init__(self, element_spec: Any, dataset_shape: ShapeLike = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = TensorShape(dataset_shape)

    @property
    def value_type(self) -> Any:
        """The class of datasets."""
        return getattr(type(self), "_value_type", object)

    @staticmethod
    def from_value(value: Any) -> DatasetSpec:
        """Returns the spec of a dataset."""
        return DatasetSpec(value.element_spec)

    def _key(self) -> Any:
        return (self._element_spec, self._dataset_shape)


class OptionalSpec(VariantSpec):
    """The spec of an Optional. Args: value_structure: structure of the specs of its value."""

    __slots__ = ("_value_structure",)

    def __init__(self, value_structure: Any) -> None:
        self._value_structure = value_structure

    @property
    def value_type(self) -> Any:
        """The class of Optionals."""
        return getattr(type(self), "_value_type", object)

    @staticmethod
    def from_value(value: Any) -> OptionalSpec:
        """Returns the spec of an Optional."""
        return OptionalSpec(value.value_structure)

    def _key(self) -> Any:
        return (self._value_structure,)


class NestedDatasets:
    """A tensor of datasets: several nested datasets in one batch."""

    def __init__(self, variant_tensor: Tensor, spec: DatasetSpec) -> None:
        self._variant_tensor = variant_tensor
        self._spec = spec


class VariantComponent:
    """Nested datasets and Optionals: the variant that refers to them passes."""

    def flat(self, spec: Any) -> TensorSpec:
        return TensorSpec(getattr(spec, "_dataset_shape", TensorShape([])), variant)

    def encode(self, spec: Any, value: Any) -> Tensor:
        return convert_to_tensor(value._variant_tensor)

    def encode_rows(self, spec: Any, value: Any) -> Tensor:
        self.unbatched(spec)
        return self.encode(spec, value)

    def decode(self, spec: Any, tensor: Tensor) -> Any:
        if isinstance(spec, DatasetSpec) and spec._dataset_shape.ndims != 0:
            return NestedDatasets(tensor, spec)
        return type(spec)._make(spec, tensor)

    def batched(self, spec: Any, size: int | None) -> Any:
        if not isinstance(spec, DatasetSpec):
            raise NotImplementedError(f"{type(spec).__name__} cannot be batched")
        shape = TensorShape([size]).concatenate(spec._dataset_shape)
        return DatasetSpec(spec._element_spec, shape)

    def unbatched(self, spec: Any) -> Any:
        if not isinstance(spec, DatasetSpec):
            raise NotImplementedError(f"{type(spec).__name__} cannot be unbatched")
        if spec._dataset_shape.ndims == 0:
            raise ValueError(_RANK_0.format("dataset"))
        return DatasetSpec(spec._element_spec, spec._dataset_shape[1:])

    def legacy(self, spec: Any) -> tuple[Any, Any, Any]:
        return spec, spec, spec


_SPARSE, _TENSOR, _VARIANT = SparseComponent(), TensorComponent(), VariantComponent()


def component(spec: Any) -> Any:
    """Returns the rules of a component's spec. Raises: TypeError for something else."""
    if isinstance(spec, SparseTensorSpec):
        return _SPARSE
    if isinstance(spec, TensorSpec):
        return _TENSOR
    if isinstance(spec, VariantSpec):
        return _VARIANT
    raise TypeError(f"{spec!r} is not the spec of a component of an element")


def spec_of_component(value: Any) -> Any:
    """Returns the spec of a tensor, sparse tensor, dataset or Optional; None for another value."""
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    if isinstance(value, SparseTensorValue):
        if not isinstance(value.values, np.ndarray):
            return spec_of_component(SparseTensor.from_value(value))
        return SparseTensorSpec(list(value.dense_shape), as_dtype(value.values.dtype))
    if isinstance(value, NestedDatasets):
        return value._spec
    spec = getattr(value, "_type_spec", None)
    return spec if isinstance(spec, VariantSpec) else None


def from_legacy(dtype: Any, shape: Any, kind: Any) -> Any:
    """Returns the spec of a component with an output type, shape and class.

    Raises: TypeError for another class.
    """
    if isinstance(kind, VariantSpec):
        return kind
    if isinstance(kind, type) and issubclass(kind, SparseTensor):
        return SparseTensorSpec(shape, dtype)
    if isinstance(kind, type) and issubclass(kind, Tensor):
        return TensorSpec(shape, dtype)
    raise TypeError(f"Could not build a structure for output class {kind!r}")


def tensor_structure(dtype: DTypeLike, shape: ShapeLike) -> TensorSpec:
    """Returns the spec of a tensor; TF 1.15's older name of TensorSpec."""
    return TensorSpec(shape, dtype)


def sparse_tensor_structure(dtype: DTypeLike, shape: ShapeLike) -> SparseTensorSpec:
    """Returns the spec of a SparseTensor; TF 1.15's older name of SparseTensorSpec."""
    return SparseTensorSpec(shape, dtype)
