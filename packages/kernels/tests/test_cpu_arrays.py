"""Movement of elements against NumPy: all sizes of elements, strings too."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import live_buffers, run_kernel
from kernel_harness.samples import NUMBERS, assert_near, bfloat16, sample

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.oracle import run

# One dtype per size of element, and the one whose elements are counted.
KINDS = ["bool", "float16", "float32", "float64", "complex128", object]


def same(actual, expected):
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", KINDS)
def test_views_keep_the_elements(dtype):
    x = sample((2, 1, 3, 4), dtype)
    same(run_kernel("Identity", x), x)
    same(run_kernel("Reshape", x, np.int32([4, -1])), x.reshape(4, 6))
    same(run_kernel("ExpandDims", x, np.int64(-1)), x[..., None])
    same(run_kernel("Squeeze", x), x[:, 0])
    same(run_kernel("Squeeze", x, squeeze_dims=[-3]), x[:, 0])
    same(run_kernel("IdentityN", [x, np.float32(1)])[0], x)
    same(run_kernel("EnsureShape", x, shape=(2, None, 3, 4)), x)


def test_bitcast_reinterprets_the_bytes():
    x = sample((3, 4), "float32")
    same(run_kernel("Bitcast", x, type="int32"), x.view(np.int32))
    same(run_kernel("Bitcast", x, type="uint8"), x.view(np.uint8).reshape(3, 4, 4))
    same(run_kernel("Bitcast", x.reshape(3, 2, 2), type="int64"), x.view(np.int64))


def test_reshape_rejects_another_number_of_elements():
    with pytest.raises(InvalidArgumentError):
        run_kernel("Reshape", np.ones(6, "f"), np.int32([4, -1]))
    with pytest.raises(InvalidArgumentError):
        run_kernel("Reshape", np.ones(6, "f"), np.int32([-1, -1]))


@pytest.mark.parametrize("out_type", ["int32", "int64"])
def test_shapes_as_values(out_type):
    x = sample((2, 0, 5), "float32")
    same(run_kernel("Shape", x, out_type=out_type), np.array([2, 0, 5], out_type))
    same(run_kernel("Size", x, out_type=out_type), np.array(0, out_type))
    same(run_kernel("Rank", x), np.int32(3))
    shapes = run_kernel("ShapeN", [x, np.zeros((), "f")], out_type=out_type)
    same(shapes[0], np.array([2, 0, 5], out_type))
    same(shapes[1], np.array([], out_type))


def test_broadcast_args():
    same(run_kernel("BroadcastArgs", np.int32([3, 1]), np.int32([2, 1, 5])), np.int32([2, 3, 5]))
    a, b = run_kernel("BroadcastGradientArgs", np.int32([3, 1]), np.int32([2, 3, 5]))
    same(a, np.int32([0, 2]))
    same(b, np.int32([]))
    a, b = run_kernel("BroadcastGradientArgs", np.int32([3, 1]), np.int32([3, 1]))
    assert a.size == b.size == 0
    with pytest.raises(InvalidArgumentError, match="3 and 2"):
        run_kernel("BroadcastArgs", np.int32([3]), np.int32([2]))


def test_concat_offset():
    shapes = [np.int32([2, 3, 4]), np.int32([2, 7, 4]), np.int32([2, 1, 4])]
    offsets = run_kernel("ConcatOffset", np.int32(-2), shapes)
    same(np.stack(offsets), np.int32([[0, 0, 0], [0, 3, 0], [0, 10, 0]]))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_concat_and_split(dtype, axis):
    parts = [sample((3, 4, 65)[:axis % 3] + (n,) + (3, 4, 65)[axis % 3 + 1 :], dtype, seed=n)
             for n in (1, 5, 0, 7)]  # fmt: skip
    whole = np.concatenate(parts, axis)
    same(run_kernel("ConcatV2", parts, np.int32(axis)), whole)
    same(run_kernel("Concat", np.int32(axis), parts, threads=2), whole)
    cut = run_kernel("SplitV", whole, np.int64([1, 5, 0, -1]), np.int32(axis), num_split=4)
    for piece, part in zip(cut, parts, strict=True):
        same(piece, part)


@pytest.mark.parametrize("dtype", KINDS)
def test_split_pack_and_unpack(dtype):
    x = sample((6, 4, 2), dtype)
    for piece, part in zip(run_kernel("Split", np.int32(0), x, num_split=3), np.split(x, 3),
                           strict=True):  # fmt: skip
        same(piece, part)
    rows = list(x)
    for axis in (0, 1, 2, -1):
        same(run_kernel("Pack", rows, axis=axis), np.stack(rows, axis))
    for axis in (0, 1, -1):
        unpacked = run_kernel("Unpack", x, axis=axis, num=x.shape[axis])
        for piece, part in zip(unpacked, np.moveaxis(x, axis, 0), strict=True):
            same(piece, part)
    same(run_kernel("Pack", [sample((), dtype)] * 3), np.stack([sample((), dtype)] * 3))


def test_large_concat_is_the_same_on_two_threads():
    a, b = sample((700, 130), "float32"), sample((700, 65), "float32", seed=1)
    same(run_kernel("ConcatV2", [a, b], np.int32(1), threads=2), np.concatenate([a, b], 1))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    ("shape", "perm"),
    [((4, 4), (1, 0)), ((65, 130), (1, 0)), ((3, 65, 17), (0, 2, 1)), ((3, 65, 17), (2, 0, 1)),
     ((2, 9, 8, 3), (0, 3, 1, 2)), ((2, 9, 8, 3), (3, 2, 1, 0)), ((5,), (0,)), ((), ()),
     ((0, 3), (1, 0)), ((2, 3, 4, 5), (1, 0, 2, 3)), ((2, 3, 4, 5), (0, 1, 2, 3))],
)  # fmt: skip
def test_transpose(dtype, shape, perm):
    x = sample(shape, dtype)
    for threads in (1, 2):
        same(run_kernel("Transpose", x, np.array(perm, "int32"), threads=threads),
             x.transpose(perm))  # fmt: skip


def test_large_transpose_is_the_same_on_two_threads():
    x = sample((513, 257), "float32")
    same(run_kernel("Transpose", x, np.int32([1, 0]), threads=2), x.T)
    y = sample((9, 65, 130), "float32")
    same(run_kernel("Transpose", y, np.int32([0, 2, 1]), threads=2), y.transpose(0, 2, 1))


def test_conjugate_transpose():
    x = sample((3, 5), "complex64")
    same(run_kernel("ConjugateTranspose", x, np.int32([1, 0])), x.conj().T)
    same(run_kernel("ConjugateTranspose", x.real.copy(), np.int32([1, 0])), x.real.T)


def test_transpose_rejects_an_invalid_permutation():
    for perm in ([0, 0], [0, 2], [0]):
        with pytest.raises(InvalidArgumentError):
            run_kernel("Transpose", np.ones((2, 3), "f"), np.int32(perm))


@pytest.mark.parametrize("dtype", KINDS)
def test_tile_and_broadcast_to(dtype):
    x = sample((2, 1, 5), dtype)
    for multiples in [(1, 1, 1), (2, 3, 4), (0, 1, 2), (1, 7, 1), (1, 1, 70)]:
        same(run_kernel("Tile", x, np.int32(multiples)), np.tile(x, multiples))
    for shape in [(2, 1, 5), (2, 4, 5), (3, 2, 4, 5)]:
        same(run_kernel("BroadcastTo", x, np.int64(shape)), np.broadcast_to(x, shape))
    same(run_kernel("BroadcastTo", sample((), dtype), np.int32([3, 65])),
         np.broadcast_to(sample((), dtype), (3, 65)))  # fmt: skip


@pytest.mark.parametrize("dtype", KINDS)
def test_reverse(dtype):
    x = sample((3, 5, 65), dtype)
    same(run_kernel("ReverseV2", x, np.int32([-1, 0])), x[::-1, :, ::-1])
    same(run_kernel("ReverseV2", x, np.int32([])), x)
    same(run_kernel("Reverse", x, np.array([False, True, False])), x[:, ::-1])


@pytest.mark.parametrize("dtype", KINDS)
def test_space_to_depth_and_back(dtype):
    x = sample((2, 4, 6, 3), dtype)
    blocks = x.reshape(2, 2, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 12)
    same(run_kernel("SpaceToDepth", x, block_size=2), blocks)
    same(run_kernel("DepthToSpace", blocks, block_size=2), x)
    y, deep = (np.ascontiguousarray(t.transpose(0, 3, 1, 2)) for t in (x, blocks))
    same(run_kernel("SpaceToDepth", y, block_size=2, data_format="NCHW"), deep)
    same(run_kernel("DepthToSpace", deep, block_size=2, data_format="NCHW"), y)


@pytest.mark.parametrize("dtype", KINDS)
def test_pad(dtype):
    x = sample((3, 65), dtype)
    paddings = np.int32([[1, 2], [0, 3]])
    blank = b"" if dtype is object else 0
    for op, extra, value in [("Pad", [], blank), ("PadV2", [sample((), dtype, 7)], None)]:
        value = extra[0] if extra else value
        expected = np.full((6, 68), value, dtype=x.dtype)
        expected[1:4, :65] = x
        same(run_kernel(op, x, paddings, *extra), expected)
    same(run_kernel("Pad", x, 0 * paddings), x)
    for mode in ("REFLECT", "SYMMETRIC"):
        same(run_kernel("MirrorPad", x, paddings, mode=mode), np.pad(x, paddings, mode.lower()))


def test_mirror_pad_gradient_sums_what_was_copied():
    dy = sample((6, 9), "float64")
    paddings = np.int32([[1, 2], [0, 3]])
    for mode in ("REFLECT", "SYMMETRIC"):
        source = np.pad(np.arange(18).reshape(3, 6), paddings, mode.lower())
        expected = np.zeros(18)
        np.add.at(expected, source.ravel(), dy.ravel())
        assert_near(run_kernel("MirrorPadGrad", dy, paddings, mode=mode), expected.reshape(3, 6))
    with pytest.raises(InvalidArgumentError, match="paddings 3 and 0"):
        run_kernel("MirrorPad", np.ones(3, "f"), np.int32([[3, 0]]), mode="REFLECT")


@pytest.mark.parametrize("dtype", KINDS)
def test_fill_and_one_hot(dtype):
    value, other = sample((), dtype, 3), sample((), dtype, 4)
    same(run_kernel("Fill", np.int32([3, 65]), value), np.full((3, 65), value))
    same(run_kernel("Fill", np.int64([]), value), value)
    indices = np.int32([[0, 3, -1], [9, 1, 2]])
    for axis in (-1, 0, 1):
        hot = np.arange(4) == indices[..., None]
        expected = np.moveaxis(np.where(hot, value, other), -1, axis).astype(value.dtype)
        same(run_kernel("OneHot", indices, np.int32(4), value, other, axis=axis), expected)


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_zeros_and_ones_like(dtype):
    x = sample((3, 65), dtype)
    same(run_kernel("ZerosLike", x), np.zeros_like(x))
    same(run_kernel("OnesLike", x), np.ones_like(x))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", bfloat16, "uint8"])
def test_range(dtype):
    def make(*values):
        return [np.array(v, dtype) for v in values]

    same(run_kernel("Range", *make(3, 18, 4)), np.array([3, 7, 11, 15], dtype))
    same(run_kernel("Range", *make(3, 3, 1)), np.array([], dtype))
    with pytest.raises(InvalidArgumentError, match="delta must not be 0"):
        run_kernel("Range", *make(0, 1, 0))
    if np.dtype(dtype).kind != "u":
        same(run_kernel("Range", *make(3, -3, -2)), np.array([3, 1, -1], dtype))
        with pytest.raises(InvalidArgumentError, match="delta leads away from the limit"):
            run_kernel("Range", *make(3, 0, 1))


@pytest.mark.parametrize("run_one", [run_kernel, lambda op, *inputs: run(op, *inputs)[0]])
def test_a_range_of_floats_is_counted_in_their_type(run_one):
    """In float32, 0.3 / 0.1 is 3: the shape rule counts so, and TensorFlow does."""
    got = run_one("Range", np.float32(0), np.float32(0.3), np.float32(0.1))
    assert_near(got, np.float32([0, 0.1, 0.2]))


def test_linspace_ends_exactly_at_stop():
    for n in (1, 2, 7, 130):
        got = run_kernel("LinSpace", np.float32(-1), np.float32(0.3), np.int32(n))
        assert_near(got, np.linspace(-1, 0.3, n, dtype="f"))
        assert n == 1 or got[-1] == np.float32(0.3)


def test_diag_and_back():
    x = sample((2, 3), "float64")
    matrix = np.zeros((2, 3, 2, 3))
    for i in np.ndindex(2, 3):
        matrix[i + i] = x[i]
    same(run_kernel("Diag", x), matrix)
    same(run_kernel("DiagPart", matrix), x)


def test_strings_are_shared_and_freed():
    before = live_buffers()
    x = sample((65, 3), object)
    for _ in range(3):
        run_kernel("Tile", x, np.int32([2, 2]))
        run_kernel("ConcatV2", [x, x], np.int32(1))
    assert live_buffers() == before


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_few_elements_are_moved_like_many(dtype):
    """Up to 64 elements move by lists of offsets: in order of the targets, or not."""
    for shape in [(4, 4), (2, 3), (3, 7), (2, 3, 5), (8, 8), (1, 5, 2), (3, 1, 3)]:
        x = sample(shape, dtype)
        order = np.arange(len(shape))[::-1].astype(np.int32)
        np.testing.assert_array_equal(run_kernel("Transpose", x, order), np.transpose(x))
        reverse = np.ones(len(shape), bool)
        np.testing.assert_array_equal(run_kernel("Reverse", x, reverse), np.flip(x))
        rows = np.array(shape, np.int32)
        begin, step = np.zeros(len(shape), np.int32), np.full(len(shape), 2, np.int32)
        dy = x[tuple(slice(None, None, 2) for _ in shape)]
        expected = np.zeros_like(x)
        expected[tuple(slice(None, None, 2) for _ in shape)] = dy
        got = run_kernel("StridedSliceGrad", rows, begin, rows, step, np.ascontiguousarray(dy))
        np.testing.assert_array_equal(got, expected)
