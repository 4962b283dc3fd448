"""Attributes and inputs that contradict each other are rejected."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, OpError
from headrace.graph.builder.op_builder import op


def _run(build: Callable[..., hr.Tensor], *fed: np.ndarray) -> object:
    """Runs an op whose inputs have shapes that only the run knows."""
    with hr.Graph().as_default():
        places = [hr.placeholder(x.dtype) for x in fed]
        with hr.Session() as session:
            return session.run(build(*places), dict(zip(places, fed, strict=True)))


ONES = np.ones((1, 3), np.float32)

PARALLEL = {
    "an input is larger than shape says": (np.ones((1, 100_000), np.float32), [2, 3]),
    "shape has another number of slices": (ONES, [3, 3]),
    "shape has another rank": (ONES, [2]),
    "an input has two slices": (np.ones((2, 3), np.float32), [2, 3]),
    "shape is unknown": (ONES, None),
    "shape is partly unknown": (ONES, [2, None]),
}


@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_concat_compares_its_inputs_with_shape(name: str) -> None:
    fed, shape = PARALLEL[name]
    with pytest.raises((InvalidArgumentError, ValueError)):
        _run(lambda x: op("ParallelConcat", [x, x], shape=shape), fed)


@pytest.mark.parametrize("name", ["DepthToSpace", "SpaceToDepth"])
def test_a_layout_without_a_shape_rule_is_rejected(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="shape of the output"):
        _run(
            lambda x: op(name, x, block_size=2, data_format="NCHW_VECT_C"),
            np.ones((1, 4, 2, 2, 4), np.float32),
        )


@pytest.mark.parametrize("name", ["Real", "Imag", "Angle", "ComplexAbs"])
@pytest.mark.parametrize("pair", [(np.complex64, hr.float64), (np.complex128, hr.float32)])
def test_a_part_of_a_complex_number_has_its_precision(name: str, pair: tuple) -> None:
    value, requested = pair
    with pytest.raises(OpError):
        _run(lambda x: op(name, x, Tout=requested), np.ones(100_000, value))


@pytest.mark.parametrize("pair", [(np.float32, hr.complex128), (np.float64, hr.complex64)])
def test_a_complex_number_has_the_precision_of_its_parts(pair: tuple) -> None:
    value, requested = pair
    with pytest.raises(OpError):
        _run(lambda x: op("Complex", x, x, Tout=requested), np.ones(100_000, value))


def test_sizes_whose_product_wraps_around_are_rejected() -> None:
    def reshape(shape: hr.Tensor, new_shape: hr.Tensor) -> hr.Tensor:
        return op("SparseReshape", np.zeros((1, 2), np.int64), shape, new_shape)

    with pytest.raises(InvalidArgumentError, match="more elements than can be counted"):
        _run(reshape, np.array([2**32, 2**32]), np.array([0]))
    with pytest.raises(InvalidArgumentError, match="more elements than can be counted"):
        _run(lambda d: op("UnravelIndex", np.zeros(1, np.int64), d), np.array([2**62, 8]))


def test_the_text_of_a_sparse_shape_of_many_dimensions_is_cut() -> None:
    def reshape(shape: hr.Tensor) -> hr.Tensor:
        return op("SparseReshape", np.zeros((1, 100), np.int64), np.ones(100, np.int64), shape)

    with pytest.raises(InvalidArgumentError, match=r"\.\.\.\]"):
        _run(reshape, np.full(100, 2**60))


def test_a_histogram_has_bins() -> None:
    def histogram(bins: hr.Tensor) -> hr.Tensor:
        return op("HistogramFixedWidth", np.float32([1, 2]), np.float32([0, 1]), bins)

    with pytest.raises(InvalidArgumentError, match="nbins should be a positive number"):
        _run(histogram, np.int32(0))


def test_a_segment_number_next_to_the_largest_integer_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="too large"):
        _run(lambda i: op("SegmentSum", np.ones(1, np.float32), i), np.array([2**63 - 1]))


@pytest.mark.parametrize("channels", [0, 1, 2])
@pytest.mark.parametrize("multiplier", [0, 1, 3])
@pytest.mark.parametrize("value", [0, 1, 2, 6])
def test_depthwise_gradients_of_no_channels_end_well(
    channels: int, multiplier: int, value: int
) -> None:
    def gradient(x: hr.Tensor, sizes: hr.Tensor, dy: hr.Tensor) -> hr.Tensor:
        return op(
            "DepthwiseConv2dNativeBackpropFilter",
            x,
            sizes,
            dy,
            strides=[1, 1, 1, 1],
            padding="SAME",
        )

    try:
        result = _run(
            gradient,
            np.ones((1, 4, 4, channels), np.float32),
            np.array([2, 2, channels, multiplier], np.int32),
            np.ones((1, 4, 4, value), np.float32),
        )
    except InvalidArgumentError:
        assert value != channels * multiplier
    else:
        assert result.shape == (2, 2, channels, multiplier)


def test_rows_of_a_sparse_tensor_keep_their_order_when_empty_ones_are_filled() -> None:
    def fill(indices: hr.Tensor, values: hr.Tensor) -> hr.Tensor:
        return op("SparseFillEmptyRows", indices, values, np.array([4, 3]), np.int64(-1))

    cells, values, empty, back = _run(
        fill, np.array([[2, 1], [0, 2], [2, 0]]), np.array([10, 20, 30])
    )
    np.testing.assert_array_equal(cells, [[0, 2], [1, 0], [2, 1], [2, 0], [3, 0]])
    np.testing.assert_array_equal(values, [20, -1, 10, 30, -1])
    np.testing.assert_array_equal(empty, [False, True, False, True])
    np.testing.assert_array_equal(back, [2, 0, 3])


NOT_SCALAR = {
    "Cumsum": lambda n: op("Cumsum", np.ones((2, 2), np.float32), n),
    "Cumprod": lambda n: op("Cumprod", np.ones((2, 2), np.float32), n),
    "ArgMax": lambda n: op("ArgMax", np.ones((2, 2), np.float32), n),
    "ArgMin": lambda n: op("ArgMin", np.ones((2, 2), np.float32), n),
    "MatrixBandPart": lambda n: op("MatrixBandPart", np.ones((2, 2), np.float32), n, n),
    "LinSpace": lambda n: op("LinSpace", np.float32(0), np.float32(1), n),
    "InTopKV2": lambda n: op("InTopKV2", np.ones((1, 2), np.float32), np.int32([0]), n),
    "DecodePaddedRaw": lambda n: op("DecodePaddedRaw", [b"ab"], n, out_type=hr.uint8),
}


@pytest.mark.parametrize("name", NOT_SCALAR)
@pytest.mark.parametrize("value", [[], [0, 1]])
def test_a_scalar_input_is_checked_before_it_is_read(name: str, value: list) -> None:
    with pytest.raises(InvalidArgumentError, match="scalar"):
        _run(NOT_SCALAR[name], np.array(value, np.int32))


@pytest.mark.parametrize("name", ["AdjustHue", "AdjustSaturation", "AdjustContrastv2"])
@pytest.mark.parametrize("value", [[], [0, 1]])
def test_changes_of_colour_are_scalars(name: str, value: list) -> None:
    with pytest.raises(InvalidArgumentError, match="scalar"):
        _run(lambda n: op(name, np.ones((1, 2, 2, 3), np.float32), n), np.array(value, np.float32))


@pytest.mark.parametrize(
    "name",
    [
        "LogUniformCandidateSampler",
        "UniformCandidateSampler",
        "LearnedUnigramCandidateSampler",
        "ThreadUnsafeUnigramCandidateSampler",
    ],
)
@pytest.mark.parametrize("truth", [-1, 10])
def test_true_candidates_lie_in_the_range(name: str, truth: int) -> None:
    def sampler(true: hr.Tensor) -> object:
        return op(name, true, num_true=1, num_sampled=2, unique=False, range_max=10)[0]

    with pytest.raises(InvalidArgumentError, match=r"`true_candidate` out of range \[0, 10\)"):
        _run(sampler, np.int64([[truth]]))
