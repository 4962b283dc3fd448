"""Values at the edges of what numbers can be: infinities, NaN, very large arguments."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.builder.op_builder import op

INF, NAN = np.inf, np.nan
FLOATS = [hr.float32, hr.float64, hr.float16, hr.bfloat16]


def _run(name: str, *inputs: object, **attrs: object) -> np.ndarray:
    with hr.Graph().as_default(), hr.Session() as session:
        return np.asarray(session.run(op(name, *inputs, **attrs)))


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_the_extreme_of_infinities_is_infinite(dtype: hr.DType) -> None:
    rows = [[INF, -INF, 1], [INF, -INF, INF]]
    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.constant(rows, dtype)
        for name, expected in (("Min", [INF, -INF, 1]), ("Max", [INF, -INF, INF])):
            for segments in (
                op(f"Segment{name}", x, [0, 0]),
                op(f"UnsortedSegment{name}", x, [0, 0], 1),
            ):
                found = session.run(hr.cast(segments, hr.float64))
                np.testing.assert_array_equal(found, [expected])


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_a_segment_without_rows_has_the_other_end_of_the_finite_numbers(dtype: hr.DType) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.constant([[INF]], dtype)
        low = session.run(hr.cast(op("UnsortedSegmentMax", x, [1], 2), hr.float64))
        high = session.run(hr.cast(op("UnsortedSegmentMin", x, [1], 2), hr.float64))
        sorted_ones = session.run(hr.cast(op("SegmentMax", x, [1]), hr.float64))
    assert [low[0, 0], high[0, 0], sorted_ones[0, 0]] == [float(dtype.min), float(dtype.max), 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16], ids=lambda t: t.__name__)
def test_a_mean_of_more_integers_than_their_type_counts(dtype: type) -> None:
    # 2 ** 8 and 2 ** 16 are zero in the type: dividing by them ended the process.
    count = 2 ** (8 * np.dtype(dtype).itemsize)
    ones = np.ones((count, 1), dtype)
    assert _run("Mean", ones, [0]).tolist() == [1]
    assert _run("Mean", ones, [0, 1]) == 1
    assert _run("SegmentMean", ones, np.zeros(count, np.int32)).tolist() == [[0]]  # the sum wraps


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.uint32])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_a_mean_of_integers_does_not_wrap_around(dtype: type, axes: list[int]) -> None:
    for value in (np.iinfo(dtype).max, np.iinfo(dtype).min):
        found = _run("Mean", np.full((6, 300), value, dtype), axes)
        assert set(found.ravel().tolist()) == {int(value)}


@pytest.mark.parametrize("n", [8, 4096, 1_000_000])
def test_a_gradient_that_is_not_finite_shows_through_a_rectifier(n: int) -> None:
    gradients = np.resize(np.float32([NAN, NAN, 1, NAN, INF, INF, -INF, 2]), n)
    features = np.resize(np.float32([-1, 1, NAN, NAN, -1, 1, 0, 7]), n)
    expected = {
        "ReluGrad": [NAN, NAN, 0, NAN, NAN, INF, NAN, 2],
        "Relu6Grad": [NAN, NAN, 0, NAN, NAN, INF, NAN, 0],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(
            _run(name, gradients, features), np.resize(np.float32(values), n)
        )


@pytest.mark.parametrize("low_shape", [(), (6,)])
@pytest.mark.parametrize("high_shape", [(), (6,)])
def test_bounds_that_cross_or_are_nan_clip_as_tensorflow_clips(
    low_shape: tuple, high_shape: tuple
) -> None:
    x = np.float32([0, 1, 2, 3, 4, NAN])

    def clip(low: float, high: float) -> np.ndarray:
        return _run(
            "ClipByValue",
            x,
            np.full(low_shape, low, np.float32),
            np.full(high_shape, high, np.float32),
        )

    np.testing.assert_array_equal(clip(3, 1), [3, 3, 3, 3, 3, NAN])
    np.testing.assert_array_equal(clip(NAN, 1), [0, 1, 1, 1, 1, NAN])
    np.testing.assert_array_equal(clip(0, NAN), [0, 1, 2, 3, 4, NAN])


# P(a, x), Q(a, x): mpmath 1.3, 40 digits; at infinities the limits.
INCOMPLETE_GAMMA = [
    (1.0, INF, 1.0, 0.0),
    (INF, 1.0, 0.0, 1.0),
    (INF, 0.0, 0.0, 1.0),
    (0.5, 1e300, 1.0, 0.0),
    (1e8, 2e8, 1.0, 0.0),
]


@pytest.mark.parametrize("a, x, lower, upper", INCOMPLETE_GAMMA)
def test_the_incomplete_gamma_function_has_its_limits(
    a: float, x: float, lower: float, upper: float
) -> None:
    assert _run("Igamma", np.float64(a), np.float64(x)) == lower
    assert _run("Igammac", np.float64(a), np.float64(x)) == upper


@pytest.mark.parametrize("a", [1e6, 1e8, 1e9, 1e12, 1e19, 1e300])
def test_the_incomplete_gamma_function_of_large_arguments_is_near_a_half(a: float) -> None:
    # P(a, a) = 1/2 + 1 / (3 sqrt(2 pi a)) + O(a^-3/2)
    lower, upper = (_run(name, np.float64(a), np.float64(a)) for name in ("Igamma", "Igammac"))
    np.testing.assert_allclose(lower, 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a)), rtol=1e-11)
    np.testing.assert_allclose(upper, 0.5 - 1 / (3 * np.sqrt(2 * np.pi * a)), rtol=1e-11)


@pytest.mark.parametrize("deviations", [-3.0, -0.5, 0.5, 3.0])
def test_both_expansions_of_the_incomplete_gamma_function_meet(deviations: float) -> None:
    below, above = 1e6 - 1, 1e6
    values = [
        float(_run(name, np.float64(a), np.float64(a + deviations * np.sqrt(a))))
        for name in ("Igamma", "Igammac", "IgammaGradA")
        for a in (below, above)
    ]
    for first, second in zip(values[::2], values[1::2], strict=True):
        np.testing.assert_allclose(first, second, rtol=2e-6)


def test_the_gradient_of_the_incomplete_gamma_function_ends_for_any_argument() -> None:
    a = np.array([1e6, 1e8, 1e19, 1e300, INF, 1.0])
    x = np.array([1e6, 1e8, 1e19, 1e300, 1.0, INF])
    expected = np.append(-1 / np.sqrt(2 * np.pi * a[:4]), [0, 0])
    np.testing.assert_allclose(_run("IgammaGradA", a, x), expected, rtol=1e-3)


@pytest.mark.parametrize("k", [0, 3, 6])
def test_the_nth_element_of_a_row_with_nan_is_one_of_it(k: int) -> None:
    row = np.array([[NAN, 3, NAN, 1, 2, NAN, 0]] * 4, np.float32)
    expected = [0, 1, 2, 3, NAN, NAN, NAN][k]
    np.testing.assert_array_equal(_run("NthElement", row, np.int32(k)), [expected] * 4)


@pytest.mark.parametrize(
    "bounds", [(INF, 1.0, 0.0, 1.0), (0.0, INF, 0.0, 1.0), (0.0, 1.0, 1e37, 1e38), (NAN, 1, 0, 1)]
)
def test_truncated_normals_end_for_any_parameters(bounds: tuple[float, ...]) -> None:
    mean, deviation, low, high = (np.float32(b) for b in bounds)
    values = _run("ParameterizedTruncatedNormal", [4], mean, deviation, low, high, seed=1)
    assert values.shape == (4,)


def test_a_singular_factor_spares_the_other_gradients_of_its_batch() -> None:
    factor = np.tril(np.arange(1.0, 13).reshape(3, 2, 2))
    factor[1, 1, 1] = 0
    grad = np.tril(np.ones((3, 2, 2)))
    found = _run("CholeskyGrad", factor, grad)
    assert np.isfinite(found[[0, 2]]).all() and not np.isfinite(found[1]).all()


def test_a_product_of_complex_matrices_is_not_cut_to_a_real_one() -> None:
    x = np.ones((2, 2), np.complex64)
    with pytest.raises(hr.errors.InvalidArgumentError):
        _run("BatchMatMulV3", x, x, Tout=hr.float32)


def test_a_gradient_smaller_than_its_input_is_rejected() -> None:
    x, row = np.ones((16, 3, 4, 3), np.float32), np.ones(3, np.float32)
    options = {"variance_epsilon": 1e-3, "scale_after_normalization": True}
    with pytest.raises(hr.errors.InvalidArgumentError, match="must have the shape of t"):
        _run("BatchNormWithGlobalNormalizationGrad", x, row, row, row, x[:2], **options)


@pytest.mark.parametrize("source", [hr.float32, hr.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("target", [hr.float16, hr.bfloat16, hr.float32], ids=lambda d: d.name)
def test_a_truncating_cast_rounds_towards_zero(source: hr.DType, target: hr.DType) -> None:
    """In the loop of many elements as in that of a few."""
    if source == target:
        return
    x = np.concatenate([np.linspace(-9, 9, 9999), [0.0, -0.0, 3e38, -3e38, 1e-40, INF, -INF, NAN]])
    x = x.astype(source.as_numpy_dtype)
    got = _run("Cast", x, DstT=target, Truncate=True)
    near = _run("Cast", x, DstT=target)
    bits = {2: np.uint16, 4: np.uint32}[got.dtype.itemsize]
    too_far = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(x))
    expected = (near.view(bits) - too_far.astype(bits))[~np.isnan(x)]
    np.testing.assert_array_equal(got.view(bits)[~np.isnan(x)], expected)
    assert too_far.any()
