"""What map, fold and scan have in common: rows of tensors in TensorArrays, and one loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.variables.variable_scope import get_variable_scope


@contextlib.contextmanager
def cached_variables() -> Iterator[None]:
    """Reads variables that are created in a loop's body once, outside of the loop."""
    scope = get_variable_scope()
    if scope.caching_device is not None:
        yield
        return
    scope.set_caching_device(lambda operation: operation.device)
    try:
        yield
    finally:
        scope.set_caching_device(None)


class Rows:
    """A structure of tensors of equal first dimension, to be read row by row.

    Args:
      elems: tensor or structure of tensors.
      with_shapes: declare the shape of the rows to the arrays.
    Attributes:
      count: the number of rows, an int or an int32 scalar.
      dtypes: of the tensors, flat.
    Raises: TypeError for a SparseTensor; ValueError for no tensors, scalars, or different numbers
      of rows.
    """

    def __init__(self, elems: Any, with_shapes: bool = False) -> None:
        if any(isinstance(leaf, SparseTensor) for leaf in nest.flatten(elems)):
            raise TypeError(
                "To perform a map over the values of a sparse tensor use either "
                "SparseTensor(input.indices, fn(input.values), input.dense_shape) or "
                "SparseTensor(input.indices, map_fn(fn, input.values), input.dense_shape)"
            )
        self._structure = elems
        tensors = [convert_to_tensor(t, name="elem") for t in nest.flatten(elems)]
        if not tensors:
            raise ValueError("elems must contain at least one tensor")
        for tensor in tensors:
            if tensor.get_shape().ndims == 0:
                raise ValueError(
                    "elems must be a 1+ dimensional Tensor, not a scalar"
                    if len(tensors) == 1
                    else "elements in elems must be 1+ dimensional Tensors, not scalars"
                )
        self.dtypes = [t.dtype.base_dtype for t in tensors]
        sizes = [t.get_shape().with_rank_at_least(1)[0] for t in tensors]
        self._static = sizes[0]
        for size in sizes[1:]:
            self._static.assert_is_compatible_with(size)
        known = self._static.value
        self.count: Any = known if known is not None else op("Shape", tensors[0])[0]
        self._arrays = [
            TensorArray(
                t.dtype.base_dtype,
                size=self.count,
                dynamic_size=False,
                infer_shape=True,
                element_shape=t.get_shape()[1:] if with_shapes else None,
            ).unstack(t)
            for t in tensors
        ]

    def read(self, index: Any) -> Any:
        """Returns row `index` of each tensor, in their structure."""
        return nest.pack_sequence_as(self._structure, self.read_flat(index))

    def read_flat(self, index: Any) -> list[Tensor]:
        """Returns row `index` of each tensor."""
        return [array.read(index) for array in self._arrays]

    def stacked(self, arrays: list[TensorArray]) -> list[Tensor]:
        """Returns the elements of arrays that have as many elements as there are rows."""
        results = [array.stack() for array in arrays]
        for result in results:
            if result.get_shape().ndims is not None:
                result.set_shape([self._static.value, *result.get_shape().as_list()[1:]])
        return results


def check_callable(fn: Callable[..., Any]) -> None:
    """Raises: TypeError if fn is not callable."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
