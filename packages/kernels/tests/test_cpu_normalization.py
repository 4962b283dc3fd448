"""Batch normalisation and local response of the cpu table against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import run_kernel

TOLERANCE = {"float32": 2e-5, "float16": 6e-3, "bfloat16": 4e-2}
SHAPES = [(2, 3, 4, 5), (7, 5, 3, 65), (1, 1, 1, 3), (30, 17, 9, 130)]


def wide(x):
    return np.asarray(x).astype(np.float64)


def near(got, want, dtype, scale=1.0):
    assert got.shape == np.shape(want)
    tolerance = TOLERANCE[np.dtype(dtype).name] * scale
    np.testing.assert_allclose(
        wide(got), want, rtol=tolerance, atol=tolerance * np.abs(want).max(initial=1)
    )


def parameters(rng, n):
    scale, offset, mean = (rng.standard_normal(n).astype(np.float32) for _ in range(3))
    return scale, offset, mean, (rng.random(n) + 0.5).astype(np.float32)


def by_channel(x, first):
    return np.moveaxis(x, 1, -1) if first else x


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_training_normalises_by_the_batch(shape, dtype, first, factor):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) * 3 + 10).astype(dtype)
    scale, offset, mean, variance = parameters(rng, shape[-1])
    placed = np.ascontiguousarray(np.moveaxis(x, -1, 1)) if first else x
    got = run_kernel("FusedBatchNormV3", placed, scale, offset, mean, variance, epsilon=1e-3,
                     exponential_avg_factor=factor, data_format="NCHW" if first else "NHWC",
                     U=np.float32, threads=2)  # fmt: skip
    y, batch_mean, batch_variance, saved_mean, saved_variance, _ = got
    m, v = wide(x).mean((0, 1, 2)), wide(x).var((0, 1, 2))
    count = x.size // shape[-1]
    unbiased = v * count / max(1, count - 1)
    want = (wide(x) - m) / np.sqrt(v + 1e-3) * scale + offset
    near(by_channel(y, first), want, dtype)
    near(saved_mean, m, np.float32)
    near(saved_variance, v, np.float32)
    near(batch_mean, (1 - factor) * mean + factor * m, np.float32)
    near(batch_variance, (1 - factor) * variance + factor * unbiased, np.float32)
    assert y.dtype == dtype


def test_inference_normalises_by_given_statistics():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 4, 5, 7)).astype(np.float32)
    scale, offset, mean, variance = parameters(rng, 7)
    y, *rest = run_kernel("FusedBatchNorm", x, scale, offset, mean, variance, is_training=False)
    near(y, (x - mean) / np.sqrt(variance + 1e-4) * scale + offset, np.float32)
    for got, want in zip(rest, [mean, variance, mean, variance], strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_large_mean_does_not_cost_the_variance():
    x = (np.random.default_rng(2).standard_normal((64, 8, 8, 3)) + 1e4).astype(np.float32)
    one, zero = np.ones(3, np.float32), np.zeros(3, np.float32)
    got = run_kernel("FusedBatchNorm", x, one, zero, zero, one, threads=2)
    np.testing.assert_allclose(got[4], wide(x).var((0, 1, 2)), rtol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_gradient_of_batch_norm(shape, dtype, first, training):
    rng = np.random.default_rng(3)
    x, dy = ((rng.standard_normal(shape)).astype(dtype) for _ in range(2))
    scale, _, mean, variance = parameters(rng, shape[-1])
    if training:
        mean, variance = (f(wide(x), axis=(0, 1, 2)).astype(np.float32) for f in (np.mean, np.var))
    place = (lambda a: np.ascontiguousarray(np.moveaxis(a, -1, 1))) if first else (lambda a: a)
    got = run_kernel("FusedBatchNormGradV3", place(dy), place(x), scale, mean, variance,
                     np.zeros((), np.float32), epsilon=1e-3, is_training=training, threads=2,
                     data_format="NCHW" if first else "NHWC")  # fmt: skip
    inverse = 1 / np.sqrt(wide(variance) + 1e-3)
    g, centred = wide(dy), wide(x) - mean
    along = (g * centred).mean((0, 1, 2))
    dx = g - g.mean((0, 1, 2)) - centred * inverse**2 * along if training else g
    near(by_channel(got[0], first), dx * scale * inverse, dtype, 4)
    near(got[1], (g * centred).sum((0, 1, 2)) * inverse, np.float32, 4)
    near(got[2], g.sum((0, 1, 2)), np.float32, 4)


def test_normalisation_of_the_first_release_and_its_gradient():
    rng = np.random.default_rng(4)
    x, dy = (rng.standard_normal((2, 3, 4, 5)).astype(np.float32) for _ in range(2))
    gamma, beta, mean, variance = parameters(rng, 5)
    attrs = {"variance_epsilon": 1e-3, "scale_after_normalization": True}
    got = run_kernel("BatchNormWithGlobalNormalization", x, mean, variance, beta, gamma, **attrs)
    inverse = 1 / np.sqrt(wide(variance) + 1e-3)
    near(got, (x - mean) * inverse * gamma + beta, np.float32)
    dx, dm, dv, db, dg = run_kernel(
        "BatchNormWithGlobalNormalizationGrad", x, mean, variance, gamma, dy, **attrs
    )
    along = (wide(dy) * (x - mean)).sum((0, 1, 2))
    near(dx, dy * gamma * inverse, np.float32)
    near(dm, -dy.sum((0, 1, 2)) * gamma * inverse, np.float32)
    near(dv, -0.5 * along * gamma * inverse**3, np.float32)
    near(db, dy.sum((0, 1, 2)), np.float32)
    near(dg, along * inverse, np.float32)


def lrn(x, radius, bias, alpha, beta):
    n = x.shape[-1]
    sums = np.stack(
        [(x[..., max(0, c - radius) : c + radius + 1] ** 2).sum(-1) for c in range(n)], -1
    )
    return x * (bias + alpha * sums) ** -beta


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("radius", [0, 2, 9])
def test_local_response_and_its_gradient(radius, dtype):
    rng = np.random.default_rng(5)
    x, dy = (rng.standard_normal((2, 3, 2, 7)).astype(dtype) for _ in range(2))
    attrs = {"depth_radius": radius, "bias": 1.5, "alpha": 0.3, "beta": 0.75}
    values = (radius, 1.5, 0.3, 0.75)
    y = run_kernel("LRN", x, **attrs)
    near(y, lrn(wide(x), *values), dtype)
    got = run_kernel("LRNGrad", dy, x, y, **attrs)
    want = np.zeros(x.shape)
    for i in np.ndindex(x.shape):  # central differences
        step = np.zeros(x.shape)
        step[i] = 1e-5
        derivative = (lrn(wide(x) + step, *values) - lrn(wide(x) - step, *values)) / 2e-5
        want[i] = (derivative * wide(dy)).sum()
    near(got, want, dtype, 4)


@pytest.mark.parametrize("channels", [1, 16, 100])
@pytest.mark.parametrize(("radius", "beta"), [(4, 0.75), (-1, 0.5), (3, 0.3), (2, 2.0), (2**40, 1)])
def test_local_response_of_any_exponent_and_radius(radius, beta, channels):
    x = np.random.default_rng(6).standard_normal((2, 2, 1, channels)).astype(np.float32)
    attrs = {"depth_radius": radius, "bias": 1.5, "alpha": 0.3, "beta": beta}
    near(
        run_kernel("LRN", x, **attrs), lrn(wide(x), min(radius, channels), 1.5, 0.3, beta), x.dtype
    )


def test_local_response_of_negative_norms_is_what_pow_gives():
    x = np.full((1, 1, 1, 16), 2.0, np.float32)
    attrs = {"depth_radius": 0, "bias": 1.0, "alpha": -1.0}
    assert np.isnan(run_kernel("LRN", x, beta=0.75, **attrs)).all()
    near(run_kernel("LRN", x, beta=2.0, **attrs), x / 9.0, x.dtype)
