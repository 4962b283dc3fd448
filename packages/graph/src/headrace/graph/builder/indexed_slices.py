"""IndexedSlices (some rows of a tensor) and SparseTensor (its nonzero elements)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor, register_tensor_conversion_function
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.typing.aliases import DTypeLike, FeedDict, SessionLike, SparseLike, TensorLike


class IndexedSlices:
    """Some rows of a larger tensor: values[i] is added to dense[indices[i]].

    Args:
      values: [n, ...] any dtype.
      indices: [n] int32 or int64; repeated indices are summed.
      dense_shape: [rank] int32 or int64, the shape of the dense tensor; None if unknown.
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def name(self) -> str:
        """Name of the values."""
        return self.values.name

    @property
    def device(self) -> str:
        """Device of the values."""
        return self.values.device

    @property
    def op(self) -> Operation:
        """The Operation that produces the values."""
        return self.values.op

    @property
    def dtype(self) -> DType:
        """Dtype of the values."""
        return self.values.dtype

    @property
    def graph(self) -> Any:
        """The graph of the values."""
        return self.values.graph

    @property
    def shape(self) -> TensorShape:
        """Static shape of the dense tensor."""
        if self.dense_shape is None:
            return TensorShape(None)
        from headrace.graph.framework.constant_value import value_as_shape

        return TensorShape(value_as_shape(convert_to_tensor(self.dense_shape)))

    def get_shape(self) -> TensorShape:
        """Same as `shape`."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """The operations that read the values or the indices."""
        return [*self.values.consumers(), *self.indices.consumers()]

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __str__(self) -> str:
        return f"IndexedSlices(indices={self.indices}, values={self.values})"

    __repr__ = __str__


IndexedSlicesValue = namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])
SparseTensorValue = namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class SparseTensor:
    """The nonzero elements of a tensor.

    Args:
      indices: [n, rank] int64, in row-major order.
      values: [n] any dtype.
      dense_shape: [rank] int64.
    """

    __slots__ = ("_dense_shape", "_indices", "_values")

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: Tensor) -> None:
        graph = get_default_graph()
        with graph.name_scope("SparseTensor"):
            self._indices = convert_to_tensor(indices, as_dtype(9), name="indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, as_dtype(9), name="dense_shape")
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        shape_shape = self._dense_shape.shape.with_rank(1)
        indices_shape[0:1].merge_with(values_shape[0:1])
        indices_shape[1:2].merge_with(shape_shape[0:1])

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseLike) -> SparseTensor:
        """Converts a SparseTensorValue or SparseTensor to a SparseTensor.

        Raises: TypeError for other types.
        """
        value = sparse_tensor_value
        if isinstance(value, cls):
            return value
        if not hasattr(value, "dense_shape"):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {value}.")
        return cls(value.indices, value.values, value.dense_shape)

    @property
    def indices(self) -> Tensor:
        """[n, rank] int64."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """[n] any dtype."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """[rank] int64."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """Static shape of the dense tensor."""
        from headrace.graph.framework.constant_value import value_as_shape

        return TensorShape(value_as_shape(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """Same as `shape`."""
        return self.shape

    @property
    def op(self) -> Operation:
        """The Operation that produces the values."""
        return self._values.op

    @property
    def name(self) -> str:
        """Name of the values."""
        return self._values.name

    @property
    def dtype(self) -> DType:
        """Dtype of the values."""
        return self._values.dtype

    @property
    def graph(self) -> Any:
        """The graph of the values."""
        return self._values.graph

    def consumers(self) -> list[Operation]:
        """The operations that read one of the three tensors."""
        return [
            *self._indices.consumers(),
            *self._values.consumers(),
            *self._dense_shape.consumers(),
        ]

    def eval(self, feed_dict: FeedDict | None = None, session: SessionLike | None = None) -> Any:
        """Evaluates it to a SparseTensorValue; see Tensor.eval."""
        indices, values, shape = _run(self, feed_dict, session)
        return SparseTensorValue(indices, values, shape)

    def _with_values(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self._indices, values, self._dense_shape)

    def __mul__(self, other: Any) -> SparseTensor:
        return self._dense_op("SparseDenseCwiseMul", other, "mul")

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._dense_op("SparseDenseCwiseDiv", other, "truediv")

    __div__ = __truediv__

    def _dense_op(self, op_type: str, other: Any, name: str) -> SparseTensor:
        dense = convert_to_tensor(other, self.dtype.base_dtype, name="y")
        return self._with_values(
            op(op_type, self._indices, self._values, self._dense_shape, dense, name=name)
        )

    def __neg__(self) -> SparseTensor:
        return self._with_values(-self._values)

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __repr__ = __str__


def _run(sparse: SparseTensor, feed_dict: Any, session: Any) -> Any:
    from headrace.graph.framework.default_session import eval_using_default_session

    tensors = [sparse.indices, sparse.values, sparse.dense_shape]
    return eval_using_default_session(tensors, feed_dict, sparse.graph, session)


def convert_to_tensor_or_sparse_tensor(
    value: object, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Converts a value to a Tensor, or a SparseTensorValue to a SparseTensor.

    Raises: RuntimeError for a SparseTensor of another dtype; as convert_to_tensor.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(
                f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name=name)


def convert_to_tensor_or_indexed_slices(
    value: object, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Converts a value to a Tensor; returns IndexedSlices and SparseTensors unchanged.

    Raises: ValueError for IndexedSlices of another dtype; as convert_to_tensor.
    """
    if isinstance(value, (IndexedSlices, SparseTensor)):
        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype "
                f"{value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name, as_ref=as_ref)


def is_tensor(x: object) -> bool:
    """Returns whether x is a Tensor, SparseTensor, IndexedSlices or variable."""
    return isinstance(x, (Tensor, SparseTensor, IndexedSlices)) or hasattr(x, "_as_graph_element")


def _densify(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Converts IndexedSlices to a dense tensor."""
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for IndexedSlices with "
            f"dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            "Tensor conversion requested for IndexedSlices without dense_shape: "
            f"{value.name}; create them with dense_shape"
        )
    rows = convert_to_tensor(value.dense_shape)[0]
    return op("UnsortedSegmentSum", value.values, value.indices, rows, name=name)


def _reject_sparse(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    raise TypeError(
        "a SparseTensor is not a dense tensor: use hr.sparse.to_dense or an op for sparse "
        f"tensors, got {value}"
    )


register_tensor_conversion_function(IndexedSlices, _densify, 50)
register_tensor_conversion_function(SparseTensor, _reject_sparse, 50)
