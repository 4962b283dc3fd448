"""Signatures of public functions that a factory makes, one for each op of a family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from headrace.graph.typing.aliases import Collections, Ints, SparseLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.builder.indexed_slices import SparseTensor
    from headrace.graph.framework.operation import Operation, Tensor


class Unary(Protocol):
    """Element by element; of a SparseTensor, its values."""

    @overload
    def __call__(self, x: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, x: SparseTensor, name: str | None = None) -> SparseTensor: ...


class Binary(Protocol):
    """Element by element, broadcasting."""

    def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...


class CastTo(Protocol):
    """A cast to one dtype."""

    @overload
    def __call__(self, x: TensorLike, name: str = ...) -> Tensor: ...
    @overload
    def __call__(self, x: SparseTensor, name: str = ...) -> SparseTensor: ...


class Reduction(Protocol):
    """A reduction along axes."""

    def __call__(
        self,
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor: ...


class SparseReduction(Protocol):
    """A reduction of a SparseTensor along axes; its result is dense or sparse."""

    def __call__(
        self,
        sp_input: SparseLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        reduction_axes: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Any: ...


class Transform(Protocol):
    """A Fourier transform."""

    def __call__(self, input: TensorLike, name: str | None = None) -> Tensor: ...


class RealTransform(Protocol):
    """A Fourier transform between real and complex numbers."""

    def __call__(
        self,
        input_tensor: TensorLike,
        fft_length: TensorLike | None = None,
        name: str | None = None,
    ) -> Tensor: ...


class VariableScatter(Protocol):
    """An update of some rows or slices of a variable."""

    def __call__(
        self,
        ref: Any,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = ...,
        name: str | None = None,
    ) -> Tensor: ...


class TensorScatter(Protocol):
    """A copy of a tensor with some slices changed."""

    def __call__(
        self,
        tensor: TensorLike,
        indices: TensorLike,
        updates: TensorLike,
        name: str | None = None,
    ) -> Tensor: ...


class Comparison(Protocol):
    """A check of two tensors, element by element."""

    def __call__(
        self,
        x: TensorLike,
        y: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation: ...


class SignCheck(Protocol):
    """A check of one tensor, element by element."""

    def __call__(
        self,
        x: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation: ...


class SortedSegments(Protocol):
    """A reduction of the segments of data, in order."""

    def __call__(
        self, data: TensorLike, segment_ids: TensorLike, name: str | None = None
    ) -> Tensor: ...


class UnsortedSegments(Protocol):
    """A reduction of the segments of data, in any order."""

    def __call__(
        self,
        data: TensorLike,
        segment_ids: TensorLike,
        num_segments: TensorLike,
        name: str | None = None,
    ) -> Tensor: ...


class SparseSegments(Protocol):
    """A reduction of the segments of rows that indices select."""

    def __call__(
        self,
        data: TensorLike,
        indices: TensorLike,
        segment_ids: TensorLike,
        name: str | None = None,
        num_segments: TensorLike | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor: ...


class CandidateSampler(Protocol):
    """Draws classes: (sampled_candidates, true_expected_count, sampled_expected_count)."""

    def __call__(
        self,
        true_classes: TensorLike,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...


class Metric(Protocol):
    """A metric of labels and predictions: (value, update_op)."""

    def __call__(
        self,
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Collections | None = None,
        updates_collections: Collections | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]: ...


class MetricAtThresholds(Protocol):
    """A metric of labels and predictions at several thresholds: (value, update_op)."""

    def __call__(
        self,
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Collections | None = None,
        updates_collections: Collections | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor]: ...


class PooledLayer(Protocol):
    """The function of a pooling layer."""

    def __call__(
        self,
        inputs: TensorLike,
        pool_size: Ints,
        strides: Ints,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Tensor: ...
