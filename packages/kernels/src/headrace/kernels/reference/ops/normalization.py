"""Batch and local response normalisation."""

from __future__ import annotations

import numpy as np

from headrace.kernels.reference.ops.arrays.blocks import from_channels_last, to_channels_last
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel


def _batch_norm(
    attrs: Attrs,
    x: np.ndarray,
    scale: np.ndarray,
    offset: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
) -> list[np.ndarray]:
    """y, running mean, running variance, and the two that the gradient wants."""
    values = to_channels_last(attrs, wide(x))
    epsilon = attrs["epsilon"]
    if attrs["is_training"]:
        axes = tuple(range(values.ndim - 1))
        count = int(np.prod(values.shape[:-1]))
        if count:
            used_mean, used_variance = values.mean(axis=axes), values.var(axis=axes)
        else:  # nothing was seen
            used_mean = used_variance = np.full(values.shape[-1], np.nan)
        unbiased = used_variance * (count / max(count - 1, 1))
        factor = attrs["exponential_avg_factor"]
        if factor == 1.0:
            new_mean, new_variance = used_mean, unbiased
        else:
            new_mean = (1 - factor) * wide(mean) + factor * used_mean
            new_variance = (1 - factor) * wide(variance) + factor * unbiased
    else:
        used_mean = new_mean = wide(mean)
        used_variance = new_variance = wide(variance)
    y = (values - used_mean) / np.sqrt(used_variance + epsilon) * wide(scale) + wide(offset)
    statistics = [new_mean, new_variance, used_mean, used_variance]
    return [
        from_channels_last(attrs, y.astype(x.dtype)),
        *[s.astype(scale.dtype) for s in statistics],
    ]


@kernel("FusedBatchNorm", "FusedBatchNormV2")
def fused_batch_norm(attrs: Attrs, *inputs: np.ndarray) -> list[np.ndarray]:
    return _batch_norm(attrs, *inputs)


@kernel("FusedBatchNormV3")
def fused_batch_norm_v3(attrs: Attrs, *inputs: np.ndarray) -> list[np.ndarray]:
    outputs = _batch_norm(attrs, *inputs)
    return [*outputs, np.zeros(0, inputs[1].dtype)]  # what another device would keep here


@kernel(
    "FusedBatchNormGrad",
    "FusedBatchNormGradV2",
    "FusedBatchNormGradV3",
)
def fused_batch_norm_grad(
    attrs: Attrs,
    dy: np.ndarray,
    x: np.ndarray,
    scale: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    *unused: np.ndarray,
) -> list[np.ndarray]:
    """mean and variance are those that the forward node normalised with."""
    grad, values = to_channels_last(attrs, wide(dy)), to_channels_last(attrs, wide(x))
    axes = tuple(range(values.ndim - 1))
    inverse = 1 / np.sqrt(wide(variance) + attrs["epsilon"])
    normal = (values - wide(mean)) * inverse
    d_scale, d_offset = (grad * normal).sum(axis=axes), grad.sum(axis=axes)
    if attrs["is_training"]:
        count = max(int(np.prod(values.shape[:-1])), 1)
        dx = wide(scale) * inverse * (grad - d_offset / count - normal * d_scale / count)
    else:
        dx = grad * wide(scale) * inverse
    nothing = np.zeros((), scale.dtype)
    return [
        from_channels_last(attrs, dx.astype(x.dtype)),
        d_scale.astype(scale.dtype),
        d_offset.astype(scale.dtype),
        nothing,
        nothing,
    ]


@kernel("BatchNormWithGlobalNormalization")
def batch_norm_with_global_normalization(
    attrs: Attrs,
    t: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    beta: np.ndarray,
    gamma: np.ndarray,
) -> np.ndarray:
    inverse = 1 / np.sqrt(wide(v) + attrs["variance_epsilon"])
    if attrs["scale_after_normalization"]:
        inverse = inverse * wide(gamma)
    return ((wide(t) - wide(m)) * inverse + wide(beta)).astype(t.dtype)


@kernel("BatchNormWithGlobalNormalizationGrad")
def batch_norm_with_global_normalization_grad(
    attrs: Attrs,
    t: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    gamma: np.ndarray,
    dy: np.ndarray,
) -> list[np.ndarray]:
    grad = wide(dy)
    inverse = 1 / np.sqrt(wide(v) + attrs["variance_epsilon"])
    factor = wide(gamma) if attrs["scale_after_normalization"] else 1.0
    centred = wide(t) - wide(m)
    sum_grad, sum_centred = grad.sum(axis=(0, 1, 2)), (grad * centred).sum(axis=(0, 1, 2))
    results = [
        grad * inverse * factor,
        -sum_grad * inverse * factor,
        sum_centred * -0.5 * inverse**3 * factor,
        sum_grad,
        sum_centred * inverse if attrs["scale_after_normalization"] else 0 * sum_centred,
    ]
    return [r.astype(t.dtype) for r in results]


def _band_sum(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    """The sum over the channels at most depth_radius away."""
    radius = attrs["depth_radius"]
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
    return np.add.reduce([padded[..., i : i + x.shape[-1]] for i in range(2 * radius + 1)])


@kernel("LRN")
def lrn(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    norm = attrs["bias"] + attrs["alpha"] * _band_sum(attrs, wide(x) ** 2)
    return (wide(x) * norm ** -attrs["beta"]).astype(x.dtype)


@kernel("LRNGrad")
def lrn_grad(attrs: Attrs, dy: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    grad, values, out = wide(dy), wide(x), wide(y)
    norm = attrs["bias"] + attrs["alpha"] * _band_sum(attrs, values**2)
    own = grad * norm ** -attrs["beta"]
    others = 2 * attrs["alpha"] * attrs["beta"] * values * _band_sum(attrs, grad * out / norm)
    return (own - others).astype(x.dtype)
