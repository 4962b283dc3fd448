"""Gamma, Poisson, truncated normal, crops and fractional pooling of the cpu table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_harness import PreparedKernel, run_kernel

from headrace.formats.errors import InvalidArgumentError

MANY = np.array([40000], np.int32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_gamma_has_mean_and_variance_alpha(dtype):
    alpha = np.array([0.3, 1.0, 7.5], dtype)
    got = run_kernel("RandomGamma", MANY, alpha, seed=1, threads=2).astype(np.float64)
    assert got.shape == (40000, 3)
    np.testing.assert_allclose(got.mean(0), alpha, rtol=0.03)
    np.testing.assert_allclose(got.var(0), alpha, rtol=0.06)
    assert got.min() >= 0


@pytest.mark.parametrize("rate_dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_poisson_has_mean_and_variance_rate(rate_dtype, dtype):
    rate = np.array([1, 9, 40], rate_dtype)
    got = run_kernel("RandomPoissonV2", MANY, rate, seed=1, dtype=dtype, threads=2).astype(
        np.float64
    )
    np.testing.assert_allclose(got.mean(0), rate, rtol=0.02)
    np.testing.assert_allclose(got.var(0), rate, rtol=0.04)
    np.testing.assert_array_equal(got, np.round(got))


def cdf(z):
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


@pytest.mark.parametrize(
    "bounds", [(-1, 2), (-0.3, 0.2), (3, 9), (3, 3.1), (-7, -2), (-np.inf, np.inf)]
)
def test_truncated_normal_has_the_normals_shape_between_its_bounds(bounds):
    low, high = bounds
    mean, deviation = 0.5, 2.0
    values = (mean, deviation, mean + deviation * low, mean + deviation * high)
    parameters = [np.array(v, np.float64) for v in values]
    shape = np.array([1, 40000], np.int32)
    got = run_kernel("ParameterizedTruncatedNormal", shape, *parameters, seed=1, threads=2)
    z = (got.ravel() - mean) / deviation
    assert z.min() >= low - 1e-9
    assert z.max() <= high + 1e-9
    for at in np.quantile(z, [0.2, 0.5, 0.8]):
        want = (cdf(at) - cdf(low)) / (cdf(high) - cdf(low))
        assert abs((z <= at).mean() - want) < 0.01


def test_bounds_in_the_wrong_order_are_rejected():
    one, two = np.array(1, np.float32), np.array(2, np.float32)
    with pytest.raises(InvalidArgumentError, match="minvals"):
        run_kernel("ParameterizedTruncatedNormal", np.array([2], np.int32), one, one, two, one)


def test_a_sample_moves_with_its_gamma_parameter():
    """Against quantiles: at a fixed probability, the sample's derivative with respect to alpha."""
    got = run_kernel("RandomGammaGrad", np.array([1.0, 2.5]), np.array([[0.7], [3.0]]))

    def probability(alpha, x):
        term = total = 1 / math.gamma(alpha + 1)
        for n in range(1, 200):
            term *= x / (alpha + n)
            total += term
        return total * x**alpha * math.exp(-x)

    for i, x in enumerate([0.7, 3.0]):
        for j, alpha in enumerate([1.0, 2.5]):
            by_alpha = (probability(alpha + 1e-5, x) - probability(alpha - 1e-5, x)) / 2e-5
            density = x ** (alpha - 1) * math.exp(-x) / math.gamma(alpha)
            np.testing.assert_allclose(got[i, j], -by_alpha / density, rtol=1e-6)


def test_crops_come_from_everywhere_in_the_image():
    x = np.arange(7 * 5 * 2, dtype=np.int32).reshape(7, 5, 2)
    kernel = PreparedKernel("RandomCrop", x, np.array([3, 2], np.int64), seed=1)
    places = set()
    for _ in range(300):
        crop = kernel.compute()
        top, left = divmod(int(crop[0, 0, 0]) // 2, 5)
        np.testing.assert_array_equal(crop, x[top : top + 3, left : left + 2])
        places.add((top, left))
    assert len(places) == 5 * 4


@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("name", ["Max", "Avg"])
def test_fractional_pooling_takes_windows_between_its_borders(name, overlapping, pseudo):
    x = np.random.default_rng(0).integers(0, 9, (2, 11, 14, 3)).astype(np.float64)
    attrs = {"pseudo_random": pseudo, "overlapping": overlapping, "seed": 3, "deterministic": True}
    y, rows, columns = run_kernel(
        f"Fractional{name}Pool", x, pooling_ratio=[1.0, 1.5, 1.44, 1.0], **attrs
    )
    assert y.shape == (2, 7, 9, 3)
    dy, dx = np.random.default_rng(1).standard_normal(y.shape), np.zeros(x.shape)
    for borders, size in ((rows, 11), (columns, 14)):
        assert borders[0] == 0
        assert borders[-1] == size
        assert set(np.diff(borders)) <= {1, 2, 3}
    more = int(overlapping)
    for i, j in np.ndindex(7, 9):
        place = np.s_[:, rows[i] : rows[i + 1] + more, columns[j] : columns[j + 1] + more]
        window = x[place]
        flat = window.reshape(2, -1, 3)
        if name == "Max":
            np.testing.assert_array_equal(y[:, i, j], flat.max(1))
            first = np.eye(flat.shape[1])[flat.argmax(1)].transpose(0, 2, 1)
            dx[place] += (first * dy[:, i, j][:, None]).reshape(window.shape)
        else:
            np.testing.assert_allclose(y[:, i, j], flat.mean(1))
            dx[place] += dy[:, i, j][:, None, None] / flat.shape[1]
    if name == "Max":
        got = run_kernel("FractionalMaxPoolGrad", x, y, dy, rows, columns, overlapping=overlapping)
    else:
        shape = np.array(x.shape, np.int64)
        got = run_kernel("FractionalAvgPoolGrad", shape, dy, rows, columns, overlapping=overlapping)
    np.testing.assert_allclose(got, dx, atol=1e-12)
