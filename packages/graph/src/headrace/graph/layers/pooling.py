"""Pooling layers of one, two and three spatial dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.layers.input_spec import InputSpec
from headrace.graph.layers.layer import Layer
from headrace.graph.layers.windows import conv_length, each, layout_of, padding_of
from headrace.graph.typing.aliases import Ints, ShapeLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import PooledLayer


class Pooling(Layer):
    """Base class: the maximum or mean of each window.

    Args:
      pool_size, strides: one int, or one int per spatial dimension.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
    """

    rank = 2
    kind = "Max"

    def __init__(
        self,
        pool_size: Ints,
        strides: Ints,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(name=name, **kwargs)
        self.pool_size = each(pool_size, self.rank, "pool_size")
        self.strides = each(strides, self.rank, "strides")
        self.padding = padding_of(padding)
        self.data_format = data_format
        self.layout = layout_of(data_format, self.rank)
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """Maps [batch, *spatial, channels] to [batch, *out spatial, channels]."""
        first = self.layout.index("C") == 1
        sizes = [[1, 1, *n] if first else [1, *n, 1] for n in (self.pool_size, self.strides)]
        layout = self.layout
        if self.rank == 1:
            axis = 3 if first else 2
            inputs = op("ExpandDims", inputs, axis)
            sizes = [[*n[:axis], 1, *n[axis:]] for n in sizes]
            layout = "NCHW" if first else "NHWC"
        result = op(
            f"{self.kind}Pool3D" if self.rank == 3 else f"{self.kind}Pool",
            inputs,
            ksize=sizes[0],
            strides=sizes[1],
            padding=self.padding.upper(),
            data_format=layout,
        )
        return op("Squeeze", result, squeeze_dims=[axis]) if self.rank == 1 else result

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns [batch, *out spatial, channels], in the layer's data_format."""
        sizes = as_shape(input_shape).as_list()
        first = self.layout.index("C") == 1
        spatial = sizes[2:] if first else sizes[1:-1]
        parts = zip(spatial, self.pool_size, self.strides, strict=True)
        out = [conv_length(n, k, self.padding, s) for n, k, s in parts]
        return TensorShape([*sizes[:2], *out] if first else [sizes[0], *out, sizes[-1]])


class MaxPooling1D(Pooling):
    """Max pooling of [batch, width, channels]; see Pooling for the arguments."""

    rank = 1


class MaxPooling2D(Pooling):
    """Max pooling of [batch, height, width, channels]; see Pooling for the arguments."""


class MaxPooling3D(Pooling):
    """Max pooling of [batch, depth, height, width, channels]; see Pooling for the arguments."""

    rank = 3


class AveragePooling1D(Pooling):
    """Average pooling of [batch, width, channels]; see Pooling for the arguments."""

    rank, kind = 1, "Avg"


class AveragePooling2D(Pooling):
    """Average pooling of [batch, height, width, channels]; see Pooling for the arguments."""

    kind = "Avg"


class AveragePooling3D(Pooling):
    """Average pooling of [batch, depth, height, width, channels]; see Pooling for arguments."""

    rank, kind = 3, "Avg"


def _function(function_name: str, layer: Any, summary: str) -> PooledLayer:
    def pooled(
        inputs: TensorLike,
        pool_size: Ints,
        strides: Ints,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Tensor:
        result: Tensor = layer(
            pool_size, strides, padding=padding, data_format=data_format, name=name
        ).apply(inputs)
        return result

    pooled.__doc__ = f"{summary} of each window of inputs; see {layer.__name__}."
    pooled.__name__ = pooled.__qualname__ = function_name
    return pooled


max_pooling1d = _function("max_pooling1d", MaxPooling1D, "The greatest element")
max_pooling2d = _function("max_pooling2d", MaxPooling2D, "The greatest element")
max_pooling3d = _function("max_pooling3d", MaxPooling3D, "The greatest element")
average_pooling1d = _function("average_pooling1d", AveragePooling1D, "The mean")
average_pooling2d = _function("average_pooling2d", AveragePooling2D, "The mean")
average_pooling3d = _function("average_pooling3d", AveragePooling3D, "The mean")
