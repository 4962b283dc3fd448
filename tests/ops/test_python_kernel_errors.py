"""Kernels in Python report bad input with the canonical codes, and name the node."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.graph.builder.op_builder import op


def _run(build: Callable[..., object], *fed: np.ndarray) -> object:
    """Runs an op whose inputs have shapes that only the run knows."""
    with hr.Graph().as_default():
        places = [hr.placeholder(x.dtype) for x in fed]
        fetch = hr.nest.flatten(build(*places))
        with hr.Session() as session:
            return session.run(fetch, dict(zip(places, fed, strict=True)))


def _crossed(*inputs: object, num_buckets: int) -> object:
    options = {"hashed_output": True, "num_buckets": num_buckets, "hash_key": 1}
    return op("SparseCross", *inputs, **options, out_type=hr.int64, internal_type=hr.int64)


FLOAT, INTEGER, TEXT = np.float32(1), np.int64(1), np.array(b"x", object)

# Scalars, or sizes, where the kernel takes matrices, vectors and sparse tensors.
UNFIT: dict[str, tuple[Callable[..., object], list[np.ndarray]]] = {
    "AudioSpectrogram": (lambda x: op("AudioSpectrogram", x, window_size=4, stride=2), [FLOAT]),
    "CholeskyGrad": (lambda x: op("CholeskyGrad", x, x), [FLOAT]),
    "CombinedNonMaxSuppression": (
        lambda b, s, n: op("CombinedNonMaxSuppression", b, s, n, n, 0.5, 0.5),
        [FLOAT, FLOAT, np.int32(1)],
    ),
    "DecodeCSV": (
        lambda r: op("DecodeCSV", r, [np.float32([1])], field_delim=""),
        [TEXT.reshape(1)],
    ),
    "DeserializeSparse": (
        lambda s: op("DeserializeSparse", s, dtype=hr.float32),
        [np.full(3, b"junk", object)],
    ),
    "EncodeJpegVariableQuality": (
        lambda q: op("EncodeJpegVariableQuality", np.zeros((2, 2, 3), np.uint8), q),
        [np.zeros((2, 2), np.int32)],
    ),
    "EncodeWav": (
        lambda x, r: op("EncodeWav", x, r),
        [np.ones((2, 2), np.float32), np.int32([1, 2])],
    ),
    "IRFFT": (lambda x, n: op("IRFFT", x, n), [np.complex64(1), np.int32([[2]])]),
    "MatrixExponential": (lambda x: op("MatrixExponential", x), [FLOAT]),
    "MatrixSolveLs": (
        lambda a, b, c: op("MatrixSolveLs", a, b, c),
        [np.eye(2), np.eye(2), np.ones(2)],
    ),
    "Mfcc": (lambda s, r: op("Mfcc", s, r), [np.ones((1, 1, 2), np.float32), np.int32(0)]),
    "ParseTensor": (lambda s: op("ParseTensor", s, out_type=hr.float32), [np.array(b"", object)]),
    "RFFT2D": (lambda x, n: op("RFFT2D", x, n), [FLOAT, np.int32(1)]),
    "RegexReplace": (lambda s: op("RegexReplace", s, "(a", "b"), [np.array(b"aa", object)]),
    "SerializeManySparse": (
        lambda i, v, s: op("SerializeManySparse", i, v, s),
        [INTEGER, FLOAT, np.int64([[2]])],
    ),
    "SetSize": (lambda i, v, s: op("SetSize", i, v, s), [INTEGER, INTEGER, INTEGER]),
    "SparseAdd": (
        lambda i, v, s, t: op("SparseAdd", i, v, s, i, v, s, t),
        [INTEGER, FLOAT, INTEGER, FLOAT],
    ),
    "SparseCross": (
        lambda i, v, s: _crossed([i], [v], [s], [], num_buckets=0),
        [INTEGER, INTEGER, INTEGER],
    ),
    "SparseDenseCwiseMul": (
        lambda i, v, s, d: op("SparseDenseCwiseMul", i, v, s, d),
        [INTEGER, FLOAT, INTEGER, FLOAT],
    ),
    "SparseSegmentSumGradV2": (
        lambda g, i, s, n: op("SparseSegmentSumGradV2", g, i, s, n),
        [FLOAT, np.int32(0), np.int32(0), np.int32([1])],
    ),
    "SparseSoftmax": (lambda i, v, s: op("SparseSoftmax", i, v, s), [INTEGER, FLOAT, INTEGER]),
    "SparseSplit": (
        lambda d, i, v, s: op("SparseSplit", d, i, v, s, num_split=2)[0],
        [np.int64([0, 1]), np.zeros((1, 1), np.int64), np.ones(1, np.float32), np.int64([4])],
    ),
    "TileGrad": (lambda x, m: op("TileGrad", x, m), [np.ones(4, np.float32), np.int32([[2]])]),
    "UnicodeTranscode": (
        lambda s: op("UnicodeTranscode", s, input_encoding="weights", output_encoding="UTF-8"),
        [TEXT],
    ),
    "UnsortedSegmentJoin": (
        lambda s, i, n: op("UnsortedSegmentJoin", s, i, n),
        [TEXT.reshape(1), np.int32([0]), np.int32(-1)],
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_input_that_does_not_fit_is_an_invalid_argument(name: str) -> None:
    build, fed = UNFIT[name]
    with pytest.raises(InvalidArgumentError, match=name) as raised:
        _run(build, *fed)
    assert raised.value.node_name


def test_a_result_that_numpy_cannot_allocate_exhausts_a_resource() -> None:
    with pytest.raises(ResourceExhaustedError):
        _run(
            lambda x, n: op(
                "ImageProjectiveTransformV3",
                x,
                np.zeros((1, 8), np.float32),
                n,
                0.0,
                interpolation="NEAREST",
            ),
            np.ones((1, 2, 2, 1), np.float32),
            np.int32([2**20, 2**20]),
        )


def test_joining_many_segments_of_which_most_are_empty_is_quick() -> None:
    started = time.process_time()
    [joined] = _run(
        lambda s, i, n: op("UnsortedSegmentJoin", s, i, n, separator="-"),
        np.array([b"a", b"b"], object),
        np.int32([3, 3]),
        np.int32(100_000),
    )
    assert joined[3] == b"a-b" and joined[0] == b"" and len(joined) == 100_000
    assert time.process_time() - started < 20


def test_crossing_columns_of_a_huge_batch_costs_what_the_features_cost() -> None:
    def cross(i: hr.Tensor, v: hr.Tensor, s: hr.Tensor) -> object:
        return op(
            "SparseCross",
            [i, i],
            [v, v],
            [s, s],
            [],
            hashed_output=True,
            num_buckets=10,
            hash_key=1,
            out_type=hr.int64,
            internal_type=hr.int64,
        )

    rows = np.array([[5, 0], [2**32, 0]])
    indices, values, shape = _run(cross, rows, np.int64([1, 2]), np.int64([2**33, 1]))
    np.testing.assert_array_equal(indices, rows)
    np.testing.assert_array_equal(shape, [2**33, 1])
    assert len(values) == 2


def test_crossed_columns_have_one_batch() -> None:
    def cross(i: hr.Tensor, v: hr.Tensor, s: hr.Tensor, dense: hr.Tensor) -> object:
        return _crossed([i], [v], [s], [dense], num_buckets=10)

    with pytest.raises(InvalidArgumentError, match="Expected batch size"):
        _run(
            cross,
            np.zeros((1, 2), np.int64),
            np.int64([1]),
            np.int64([2, 1]),
            np.zeros((3, 1), np.int64),
        )


@pytest.mark.parametrize("name", ["FresnelCos", "FresnelSin"])
def test_large_arguments_of_fresnels_integrals_take_no_longer_than_small_ones(name: str) -> None:
    started = time.process_time()
    [values] = _run(lambda x: op(name, x), np.full(20_000, 50.0))
    np.testing.assert_allclose(values, 0.5, atol=0.01)
    assert time.process_time() - started < 20
