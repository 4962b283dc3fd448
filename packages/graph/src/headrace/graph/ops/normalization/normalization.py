"""Batch normalisation, L2 normalisation and local response normalisation."""

from __future__ import annotations

from typing import Any

from headrace.graph.autodiff.gradients import gradients
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.elementwise.elementwise import imag, real
from headrace.graph.ops.reduction import reduce_mean, reduce_sum
from headrace.graph.typing.aliases import TensorLike

_LEAST_EPSILON = 1.001e-5  # the minimum of cuDNN


def batch_normalization(
    x: TensorLike,
    mean: Any,
    variance: TensorLike,
    offset: Any,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Computes (x - mean) / sqrt(variance + variance_epsilon) * scale + offset.

    Args:
      x: [...] float.
      mean, variance: broadcastable to x.
      offset, scale: broadcastable to x, or None.
      variance_epsilon: added to the variance.
    Source: Ioffe and Szegedy 2015.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert_to_tensor(x, name="x")
        variance = convert_to_tensor(variance, name="variance")
        factor = op("Rsqrt", variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        moved = -mean * factor if offset is None else offset - mean * factor
        dtype = x.dtype.base_dtype
        return x * _as(factor, dtype) + _as(moved, dtype)


def _as(x: Tensor, dtype: Any) -> Tensor:
    return x if x.dtype.base_dtype == dtype else op("Cast", x, DstT=dtype)


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises x over all dimensions except the channels, by one operation.

    Args:
      x: [batch, height, width, channels] ("NHWC"), or "NCHW".
      scale, offset: [channels] float.
      mean, variance: [channels] float; the statistics to use if is_training is False, or the
        running averages if exponential_avg_factor is below 1.
      epsilon: added to the variance.
      is_training: use the statistics of the batch.
      exponential_avg_factor: weight of the batch in the returned averages.
    Returns: (normalised x, mean, variance); the averages if exponential_avg_factor is below 1.
    Raises: ValueError if mean or variance is required and missing.
    Source: Ioffe and Szegedy 2015.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0, got mean {mean!r}, variance {variance!r}"
        )
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    empty = [constant([], dtype="float32") if v is None else v for v in (mean, variance)]
    result = op(
        "FusedBatchNormV3",
        x,
        scale,
        offset,
        *empty,
        epsilon=max(epsilon, _LEAST_EPSILON),
        data_format=data_format,
        is_training=is_training,
        exponential_avg_factor=exponential_avg_factor,
        name=name,
    )
    return result[0], result[1], result[2]


def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: TensorLike | None = None,
    v: TensorLike | None = None,
    beta: TensorLike | None = None,
    gamma: TensorLike | None = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: TensorLike | None = None,  # noqa: A002 - TF's name
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """Old form of batch_normalization; gamma is used if scale_after_normalization is true."""
    x: Any = input if t is None else t
    average: Any = mean if m is None else m
    spread: Any = variance if v is None else v
    scale = gamma if scale_after_normalization else None
    return batch_normalization(x, average, spread, beta, scale, variance_epsilon, name)


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Divides x by its L2 norm along axis, by default of all elements.

    Args:
      epsilon: lower bound of the squared norm.
      dim: old name of axis.
    """
    axis = dim if axis is None else axis
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            squares = op("Square", real(x)) + op("Square", imag(x))
        else:
            squares = op("Square", x)
        total = reduce_sum(squares, axis, keepdims=True)
        least = constant(epsilon, dtype=total.dtype.base_dtype)
        factor = op("Rsqrt", op("Maximum", total, least))
        if x.dtype.is_complex:
            parts = [op("Mul", part(x), factor) for part in (real, imag)]
            return op("Complex", *parts, Tout=x.dtype.base_dtype, name=scope)
        return op("Mul", x, factor, name=scope)


def local_response_normalization(
    input: TensorLike,  # noqa: A002 - TF's name
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Computes x / (bias + alpha * sum of squares of channels within depth_radius) ** beta.

    Args:
      input: [batch, height, width, channels].
    Source: Krizhevsky et al. 2012.
    """
    return op(
        "LRN",
        input,
        depth_radius=depth_radius,
        bias=float(bias),
        alpha=float(alpha),
        beta=float(beta),
        name=name,
    )


# ---- gradients -----------------------------------------------------------------------------


def _fused_gradient(version: str) -> None:
    """Registers the first and second gradients of one version of FusedBatchNorm."""

    @gradient(f"FusedBatchNorm{version}")
    def rule(node: Operation, grad: Tensor, *_: Any) -> list[Any]:
        """Only the normalised x has a gradient; the statistics feed the moving averages."""
        x, scale, __, mean, variance = node.inputs
        training = node.get_attr("is_training")
        kept: list[Tensor] = list(node.outputs[3:5]) if training else [mean, variance]
        if version == "V3":
            empty = constant([], dtype=kept[0].dtype.base_dtype)
            kept.append(node.outputs[5] if training else empty)
        attrs = {k: node.get_attr(k) for k in ("epsilon", "data_format", "is_training")}
        result = op(f"FusedBatchNormGrad{version}", grad, x, scale, *kept, **attrs)
        return [result[0], result[1], result[2], None, None]

    @gradient(f"FusedBatchNormGrad{version}")
    def second(node: Operation, *grads: Any) -> list[Any]:
        """Expresses the gradient by elementary ops, and differentiates these."""
        # identities, so that dependencies between the inputs are not differentiated
        sources = [op("Identity", t) for t in node.inputs[:3]]
        found = gradients(_elementary_gradient(node, *sources), sources, grad_ys=list(grads[:3]))
        return [*found, *[None] * (len(node.inputs) - 3)]


for _version in ("", "V2", "V3"):
    _fused_gradient(_version)


def _elementary_gradient(node: Operation, grad: Tensor, x: Tensor, scale: Tensor) -> list[Tensor]:
    """Computes the gradients of FusedBatchNorm with respect to x, scale and offset."""
    layout = node.get_attr("data_format")
    layout = layout.decode() if isinstance(layout, bytes) else layout
    channel = layout.index("C")
    axes = [i for i in range(len(layout)) if i != channel]
    wide = [-1 if i == channel else 1 for i in range(len(layout))]
    dtype = scale.dtype.base_dtype
    kind = x.dtype.base_dtype
    grad, x = _as(grad, dtype), _as(x, dtype)
    epsilon = constant(node.get_attr("epsilon"), dtype=dtype)

    def spread(value: Tensor) -> Tensor:
        return op("Reshape", value, wide)

    if node.get_attr("is_training"):
        mean = reduce_mean(x, axes, keepdims=True)
        centred = x - mean
        factor = op("Rsqrt", reduce_mean(op("Square", centred), axes, keepdims=True) + epsilon)
        unit = centred * factor
        inner = grad - reduce_mean(grad, axes, keepdims=True)
        inner = inner - unit * reduce_mean(grad * unit, axes, keepdims=True)
        into_x = spread(scale) * factor * inner
    else:
        factor = spread(op("Rsqrt", node.inputs[4] + epsilon))
        unit = (x - spread(node.inputs[3])) * factor
        into_x = spread(scale) * factor * grad
    return [_as(into_x, kind), reduce_sum(grad * unit, axes), reduce_sum(grad, axes)]


@gradient("BatchNormWithGlobalNormalization")
def _global_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    t, m, v, _, gamma = node.inputs
    attrs = {k: node.get_attr(k) for k in ("variance_epsilon", "scale_after_normalization")}
    return list(op("BatchNormWithGlobalNormalizationGrad", t, m, v, gamma, grad, **attrs))


@gradient("LRN")
def _lrn_gradient(node: Operation, grad: Tensor) -> Tensor:
    attrs = {k: node.get_attr(k) for k in ("depth_radius", "bias", "alpha", "beta")}
    return op("LRNGrad", grad, node.inputs[0], node.outputs[0], **attrs)


for _op_type in ("BatchNormWithGlobalNormalizationGrad", "LRNGrad"):
    no_gradient(_op_type, "TensorFlow defines none")
