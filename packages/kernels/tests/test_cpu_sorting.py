"""Order, counts, blocks of space and diagonals against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import NUMBERS, REALS, sample

from headrace.formats.errors import InvalidArgumentError

KINDS = ["bool", "float16", "float32", "float64", "complex128", object]


def same(actual, expected):
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("shape", [(9,), (3, 65), (2, 2, 5), (0, 4)])
def test_top_k_takes_the_first_of_equals(dtype, shape):
    x = sample(shape, dtype)
    order = np.argsort(-x.astype(float), axis=-1, kind="stable")
    for k in (0, 1, 3, shape[-1]):
        values, indices = run_kernel("TopKV2", x, np.int32(k), threads=2)
        same(indices, order[..., :k])
        same(values, np.take_along_axis(x, order[..., :k], -1))
    n = shape[-1] // 2
    same(run_kernel("NthElement", x, np.int32(n)), np.sort(x.astype(float), -1)[..., n])
    same(run_kernel("NthElement", x, np.int32(0), reverse=True), x.astype(float).max(-1)
         if x.size else x.sum(-1))  # fmt: skip


def test_top_k_puts_nan_last_and_rejects_too_large_a_k():
    values, indices = run_kernel("TopKV2", np.array([1, np.nan, 3, np.nan], "f"), np.int32(4))
    same(indices, [2, 0, 1, 3])
    assert np.isnan(values[2:]).all()
    with pytest.raises(InvalidArgumentError):
        run_kernel("TopKV2", np.ones(3, "f"), np.int32(4))


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool", object])
@pytest.mark.parametrize("n", [0, 1, 200])
def test_unique_keeps_the_order_of_first_appearance(dtype, n):
    x = sample((n,), dtype)
    keys = list(dict.fromkeys(x.tolist()))
    where = [keys.index(v) for v in x.tolist()]
    for out_idx in ("int32", "int64"):
        y, idx = run_kernel("Unique", x, out_idx=out_idx)
        assert y.tolist() == keys
        assert idx.dtype == out_idx
        same(idx, np.array(where, out_idx))
    y, idx, count = run_kernel("UniqueWithCounts", x)
    same(count, np.bincount(where, minlength=len(keys)) if n else [])
    other = x[: n // 3]
    kept = [i for i, v in enumerate(x.tolist()) if v not in other.tolist()]
    out, at = run_kernel("ListDiff", x, other)
    assert out.tolist() == x[kept].tolist() if kept else not len(out)
    same(at, kept)


def test_unique_along_an_axis():
    x = np.int32([[1, 0, 1], [2, 5, 2], [1, 0, 1]])
    y, idx = run_kernel("UniqueV2", x, np.int64([0]))
    same(y, x[:2])
    same(idx, [0, 1, 0])
    y, idx, count = run_kernel("UniqueWithCountsV2", x, np.int32([1]))
    same(y, x[:, :2])
    same(count, [2, 1])


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_where(dtype):
    for shape in [(65,), (3, 5), (2, 3, 4), (0, 2)]:
        x = sample(shape, dtype)
        same(run_kernel("Where", x), np.argwhere(x))
    with pytest.raises(InvalidArgumentError, match="Unhandled input dimensions: 0"):
        run_kernel("Where", sample((), dtype))


def test_invert_permutation():
    p = np.random.default_rng(0).permutation(65).astype("i4")
    same(run_kernel("InvertPermutation", p), np.argsort(p))
    with pytest.raises(InvalidArgumentError, match=r"x\[1\] = 3 is not in \[0, 3\)"):
        run_kernel("InvertPermutation", np.int32([0, 3, 1]))
    with pytest.raises(InvalidArgumentError, match="^1 is duplicated in the input.$"):
        run_kernel("InvertPermutation", np.int32([1, 1, 0]))


def test_unravel_index():
    i, dims = np.int64([0, 7, 59]), np.int64([3, 4, 5])
    same(run_kernel("UnravelIndex", i, dims), np.unravel_index(i, dims))


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "int64"])
def test_bounds(dtype):
    s, v = np.sort(sample((3, 65), dtype), -1), sample((3, 9), dtype, 1)
    for op, side in [("LowerBound", "left"), ("UpperBound", "right")]:
        expected = [np.searchsorted(a, b, side) for a, b in zip(s, v, strict=True)]
        same(run_kernel(op, s, v), expected)


def test_in_top_k():
    x = np.array([[0.1, 0.9, 0.5], [1, 1, 0], [0, np.inf, 2], [1, 2, 3]], "f")
    t = np.int32([2, 1, 1, 3])
    same(run_kernel("InTopK", x, t, k=2), [True, True, False, False])
    same(run_kernel("InTopKV2", x, t, np.int32(1)), [False, True, False, False])


def test_bincount():
    x = np.int32([3, 0, 3, 7, 1])
    w = sample((5,), "float32")
    same(run_kernel("Bincount", x, np.int32(5), np.zeros(0, "i4")), [1, 1, 0, 2, 0])
    same(run_kernel("Bincount", x, np.int32(8), w), np.bincount(x, w, 8).astype("f"))
    both = np.stack([x, x[::-1]])
    same(run_kernel("DenseBincount", both, np.int32(4), np.zeros(0, "i8")), [[1, 1, 0, 2]] * 2)
    same(run_kernel("DenseBincount", x, np.int32(4), np.zeros(0, "f"), binary_output=True),
         [1, 1, 0, 1])  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="non-negative"):
        run_kernel("Bincount", np.int32([-1]), np.int32(5), np.zeros(0, "i4"))


def test_histogram_fixed_width():
    x = np.array([-1, 0, 1.5, 2, 5, 15], "f")
    same(run_kernel("HistogramFixedWidth", x, np.array([0, 5], "f"), np.int32(5)), [2, 1, 1, 0, 2])
    with pytest.raises(InvalidArgumentError, match="value_range"):
        run_kernel("HistogramFixedWidth", x, np.array([5, 5], "f"), np.int32(5))


def space_to_batch(x, block, paddings):
    m = len(block)
    x = np.pad(x, [(0, 0), *paddings, *[(0, 0)] * (x.ndim - 1 - m)])
    places = itertools.product(*[range(b) for b in block])
    return np.concatenate(
        [x[(slice(None), *[slice(o, None, b) for o, b in zip(p, block, strict=True)])]
         for p in places]
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "complex128"])
def test_space_to_batch_and_back(dtype):
    x = sample((2, 4, 5, 3), dtype)
    block, paddings = [2, 3], [[1, 1], [0, 1]]
    dealt = space_to_batch(x, block, paddings)
    same(run_kernel("SpaceToBatchND", x, np.int32(block), np.int32(paddings)), dealt)
    same(run_kernel("BatchToSpaceND", dealt, np.int32(block), np.int32(paddings)), x)
    y = sample((1, 4, 6, 1), dtype)
    dealt = space_to_batch(y, [2, 2], [[0, 0], [0, 0]])
    zero = np.zeros((2, 2), np.int32)
    same(run_kernel("SpaceToBatch", y, zero, block_size=2), dealt)
    same(run_kernel("BatchToSpace", dealt, zero, block_size=2), y)


@pytest.mark.parametrize("dtype", KINDS)
def test_roll_and_reverse_sequence(dtype):
    x = sample((3, 5, 4), dtype)
    same(run_kernel("Roll", x, np.int32(2), np.int32(1)), np.roll(x, 2, 1))
    same(run_kernel("Roll", x, np.int32([-1, 7]), np.int64([0, -1])), np.roll(x, (-1, 7), (0, 2)))
    lengths = np.int64([5, 0, 3])
    expected = x.copy()
    for b, n in enumerate(lengths):
        expected[b, :n] = x[b, :n][::-1]
    same(run_kernel("ReverseSequence", x, lengths, seq_dim=1, batch_dim=0), expected)
    turned = np.array(expected.swapaxes(0, 2), dtype=x.dtype)
    same(run_kernel("ReverseSequence", np.array(x.swapaxes(0, 2), dtype=x.dtype), lengths,
                    seq_dim=1, batch_dim=2), turned)  # fmt: skip
    with pytest.raises(InvalidArgumentError, match=r"seq_lengths\[2\] = 6 is not in \[0, 5\]"):
        run_kernel("ReverseSequence", x, np.int32([0, 1, 6]), seq_dim=1)


def test_data_formats():
    same(run_kernel("DataFormatDimMap", np.int32([0, 1, -1, -4])), [0, 2, 1, 0])
    same(run_kernel("DataFormatVecPermute", np.int32([1, 2, 3, 4])), [1, 4, 2, 3])
    same(run_kernel("DataFormatVecPermute", np.int32([1, 2])), [1, 2])


def band(matrix, low, high, longest, align):
    """The diagonals low..high, highest first, short ones pushed to their side."""
    sides = {True: align.split("_")[0], False: align.split("_")[1]}
    rows = []
    for k in range(high, low - 1, -1):
        d = np.diagonal(matrix, k, -2, -1)
        space = longest - d.shape[-1]
        pad = (space, 0) if sides[k >= 0] == "RIGHT" else (0, space)
        widths = [(0, 0)] * (d.ndim - 1) + [pad]
        rows.append(np.pad(d, widths, constant_values=9))
    return np.stack(rows, -2)


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 2), (-2, 0), (-2, -1), (0, 0)])
def test_bands_of_diagonals(align, low, high):
    x = sample((2, 3, 4), "float32")
    k = np.int32([low, high])
    longest = min(3 + min(high, 0), 4 - max(low, 0))
    expected = band(x, low, high, longest, align)
    if low == high:
        expected = expected[:, 0]
    nine = np.float32(9)
    same(run_kernel("MatrixDiagPartV3", x, k, nine, align=align), expected)
    filled = run_kernel("MatrixDiagV3", expected, k, np.int32(3), np.int32(4), nine, align=align)
    i, j = np.indices((3, 4))
    inside = (j - i >= low) & (j - i <= high)
    same(filled, np.where(inside, x, 9))
    same(run_kernel("MatrixSetDiagV3", np.zeros_like(x), expected, k, align=align),
         np.where(inside, x, 0))  # fmt: skip


@pytest.mark.parametrize("dtype", KINDS)
def test_main_diagonals(dtype):
    x, d = sample((2, 3, 3), dtype), sample((2, 3), dtype, 1)
    blank = b"" if dtype is object else 0
    eye = np.eye(3, dtype=bool)
    same(run_kernel("MatrixDiagPart", x), np.diagonal(x, 0, 1, 2))
    same(run_kernel("MatrixDiag", d), np.where(eye, d[:, None, :], blank))
    same(run_kernel("MatrixSetDiag", x, d), np.where(eye, d[:, None, :], x))


@pytest.mark.parametrize("lower", [-1, 0, 1, 3])
@pytest.mark.parametrize("upper", [-1, 0, 2])
def test_band_part(lower, upper):
    x = sample((2, 3, 5), "float32")
    i, j = np.indices((3, 5))
    keep = ((lower < 0) | (i - j <= lower)) & ((upper < 0) | (j - i <= upper))
    for over in (None, 0):
        got = run_kernel("MatrixBandPart", x, np.int64(lower), np.int64(upper), in_place=over)
        same(got, np.where(keep, x, 0))
