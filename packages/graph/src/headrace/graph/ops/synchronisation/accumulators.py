"""Conditional accumulators: averages of the gradients that several workers apply."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike


def _as_int64(value: TensorLike) -> Tensor:
    return cast(convert_to_tensor(value), as_dtype("int64"))


class ConditionalAccumulatorBase:
    """Base class of accumulators, which add gradients of the current global step.

    Args:
      dtype: dtype of the gradients.
      shape: shape of the gradients; None for any.
      accumulator_ref: handle of the accumulator.
    """

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.rpartition("/")[2]

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle's tensor."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the accumulator's operation, without its scope."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Returns the number of gradients in the sum, [] int32."""
        name = f"{self._name}_NumAccumulated" if name is None else name
        return op(self._op("NumAccumulated"), self._accumulator_ref, name=name)

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Operation:
        """Creates an operation that sets the step below which gradients are stale."""
        step = _as_int64(new_global_step)
        return op(self._op("SetGlobalStep"), self._accumulator_ref, step, name=name)

    def _op(self, what: str) -> str:
        kind = "Resource" if self._accumulator_ref.dtype == as_dtype("resource") else ""
        return f"{kind}Accumulator{what}"


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients.

    Args:
      dtype: half, float or double.
      shape: shape of the gradients; None for any.
      shared_name: name under which sessions share the accumulator.
      reduction_type: "MEAN" or "SUM" of the gradients.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = op(
            "ResourceConditionalAccumulator",
            dtype=as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, ref)

    def apply_grad(
        self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Creates an operation that adds a gradient, or drops it if it is stale.

        Args:
          grad: gradient of the accumulator's dtype and shape.
          local_step: step of the variables that the gradient was computed with.
        Raises: ValueError for another shape.
        """
        gradient = convert_to_tensor(grad, self._dtype)
        gradient.get_shape().assert_is_compatible_with(self._shape)
        return op(
            self._op("ApplyGradient"),
            self._accumulator_ref,
            _as_int64(local_step),
            gradient,
            name=name,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Tensor:
        """Returns the reduced gradient, and starts the next global step with no gradients.

        The operation waits until num_required gradients were applied.

        Args:
          num_required: [] int32, at least 1; in a run InvalidArgumentError if it is less.
        """
        out: Tensor = op(
            self._op("TakeGradient"),
            self._accumulator_ref,
            num_required,
            dtype=self._dtype,
            name=name,
        )
        out.set_shape(self._shape)
        return out


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of sparse gradients; each row is averaged over the gradients that have it.

    Args: as for ConditionalAccumulator.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = op(
            "SparseConditionalAccumulator",
            dtype=as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Creates an operation that adds IndexedSlices, or drops them if they are stale."""
        return self.apply_grad(
            grad_indices=grad.indices,
            grad_values=grad.values,
            grad_shape=grad.dense_shape,
            local_step=local_step,
            name=name,
        )

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: TensorLike | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> Operation:
        """Creates an operation that adds rows of a gradient, or drops them if they are stale.

        Args:
          grad_indices: [n] the rows, in ascending order; rows of unsorted gradients may stay apart.
          grad_values: [n, ...] values of the rows.
          grad_shape: shape of the whole gradient, if it is known.
          local_step: step of the variables that the gradient was computed with.
        """
        return op(
            "SparseAccumulatorApplyGradient",
            self._accumulator_ref,
            _as_int64(local_step),
            _as_int64(grad_indices),
            convert_to_tensor(grad_values, self._dtype),
            _as_int64(
                convert_to_tensor([], as_dtype("int64")) if grad_shape is None else grad_shape
            ),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Any:
        """Returns (indices, values, shape) of the reduced gradient; as ConditionalAccumulator's."""
        return op(
            "SparseAccumulatorTakeGradient",
            self._accumulator_ref,
            num_required,
            dtype=self._dtype,
            name=name,
        )

    def take_indexed_slices_grad(
        self, num_required: TensorLike, name: str | None = None
    ) -> IndexedSlices:
        """Returns the reduced gradient as IndexedSlices; as ConditionalAccumulator.take_grad."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(indices=taken.indices, values=taken.values, dense_shape=taken.shape)


for _kind in ("", "Resource", "Sparse"):
    no_gradient(f"{_kind}ConditionalAccumulator", "its output is a handle")
    no_gradient(f"{_kind}AccumulatorApplyGradient", "it has no output")
    no_gradient(
        f"{_kind}AccumulatorTakeGradient", "gradients pass through it between steps, not within one"
    )
for _kind in ("", "Resource"):
    no_gradient(f"{_kind}AccumulatorSetGlobalStep", "it has no output")
    no_gradient(f"{_kind}AccumulatorNumAccumulated", "a number of gradients")
