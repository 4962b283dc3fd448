"""Constants, shapes, the same elements in other shapes and orders."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.reduction import reduction_axes
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel

# ---- values as they are ----


@kernel("Const")
def const(attrs: Attrs) -> np.ndarray:
    return np.asarray(attrs["value"])


@kernel(
    "Identity",
    "StopGradient",
    "PreventGradient",
    "GuaranteeConst",
    "Snapshot",
    "DeepCopy",
    "DebugGradientIdentity",
    "PlaceholderWithDefault",
)
def identity(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return x.copy()


@kernel("IdentityN")
def identity_n(attrs: Attrs, *inputs: np.ndarray) -> list[np.ndarray]:
    return [x.copy() for x in inputs]


@kernel("OnesLike")
def ones_like(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.ones_like(x)


@kernel("ZerosLike")
def zeros_like(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return zeros(x.shape, x.dtype)


def zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros, or empty strings."""
    return np.full(shape, b"", object) if dtype.kind == "O" else np.zeros(shape, dtype)


@kernel("EnsureShape")
def ensure_shape(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    requested = attrs["shape"]
    if requested is not None and (
        len(requested) != x.ndim
        or any(w not in (None, -1, n) for w, n in zip(requested, x.shape, strict=True))
    ):
        text = ["?" if w in (None, -1) else w for w in requested]
        raise InvalidArgumentError(
            None, None, f"Shape of tensor {list(x.shape)} is not compatible with expected {text}"
        )
    return x.copy()


@kernel("Empty")
def empty(attrs: Attrs, shape: np.ndarray) -> np.ndarray:
    return zeros(_dims(shape), numpy_type(attrs["dtype"]))


@kernel("Fill")
def fill(attrs: Attrs, dims: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.full(_dims(dims), value, value.dtype)


def _dims(shape: np.ndarray) -> tuple[int, ...]:
    sizes = tuple(shape.tolist())
    if any(size < 0 for size in sizes):
        raise InvalidArgumentError(None, None, f"a shape must not be negative: {list(sizes)}")
    return sizes


# ---- shapes as values ----


@kernel("Shape")
def shape(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.array(x.shape, numpy_type(attrs["out_type"]))


@kernel("ShapeN")
def shape_n(attrs: Attrs, *inputs: np.ndarray) -> list[np.ndarray]:
    return [shape(attrs, x) for x in inputs]


@kernel("Size")
def size(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.array(x.size, numpy_type(attrs["out_type"]))


@kernel("Rank")
def rank(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return np.array(x.ndim, np.int32)


@kernel("BroadcastArgs")
def broadcast_args(attrs: Attrs, s0: np.ndarray, s1: np.ndarray) -> np.ndarray:
    return np.array(np.broadcast_shapes(tuple(s0.tolist()), tuple(s1.tolist())), s0.dtype)


@kernel("BroadcastGradientArgs")
def broadcast_gradient_args(
    attrs: Attrs, s0: np.ndarray, s1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which axes a gradient of the broadcast shape is summed over, for either input."""
    a, b = s0.tolist(), s1.tolist()
    if a == b:
        return np.empty(0, s0.dtype), np.empty(0, s0.dtype)
    np.broadcast_shapes(tuple(a), tuple(b))
    full = max(len(a), len(b))
    a, b = [1] * (full - len(a)) + a, [1] * (full - len(b)) + b
    return (
        np.array([i for i in range(full) if a[i] == 1], s0.dtype),
        np.array([i for i in range(full) if b[i] == 1], s0.dtype),
    )


@kernel("ConcatOffset")
def concat_offset(attrs: Attrs, dim: np.ndarray, *shapes: np.ndarray) -> list[np.ndarray]:
    along = int(dim)
    starts = [0, *accumulate(int(s[along]) for s in shapes)]
    offsets = [np.zeros_like(s) for s in shapes]
    for offset, start in zip(offsets, starts, strict=False):
        offset[along] = start
    return offsets


@kernel("InvertPermutation")
def invert_permutation(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    if sorted(x.tolist()) != list(range(x.size)):
        raise InvalidArgumentError(None, None, f"{x.tolist()} is not a permutation of 0 to n - 1")
    result = np.empty_like(x)
    result[x] = np.arange(x.size)
    return result


@kernel("UnravelIndex")
def unravel_index(attrs: Attrs, indices: np.ndarray, dims: np.ndarray) -> np.ndarray:
    if indices.size == 0:
        raise InvalidArgumentError(None, None, "received empty tensor indices")
    size = math.prod(dims.tolist())
    if size > np.iinfo(indices.dtype).max or dims.min(initial=1) < 1:
        raise InvalidArgumentError(
            None, None, f"Input dims product is causing integer overflow: {dims.tolist()}"
        )
    if np.any(indices >= size):
        raise InvalidArgumentError(None, None, "index is out of bound as with dims")
    rows, rest = [], indices
    for dim in dims[::-1]:  # an index below 0 has coordinates below 0: quotients are cut
        rows.append(np.fmod(rest, dim))
        rest = (rest - rows[-1]) // dim
    return np.array(rows[::-1], indices.dtype).reshape(dims.size, *indices.shape)


# ---- the same elements under another shape ----


@kernel("Reshape")
def reshape(attrs: Attrs, x: np.ndarray, to: np.ndarray) -> np.ndarray:
    sizes = to.tolist()
    if sizes.count(-1) == 1:
        rest = int(np.prod([n for n in sizes if n != -1], dtype=np.int64))
        if rest == 0 or x.size % rest:
            raise InvalidArgumentError(
                None, None, f"a tensor of {x.size} values cannot be reshaped to {sizes}"
            )
        sizes[sizes.index(-1)] = x.size // rest
    if int(np.prod(sizes, dtype=np.int64)) != x.size or min(sizes, default=0) < 0:
        raise InvalidArgumentError(
            None, None, f"a tensor of {x.size} values cannot be reshaped to {to.tolist()}"
        )
    return x.reshape(sizes).copy()


@kernel("ExpandDims")
def expand_dims(attrs: Attrs, x: np.ndarray, dim: np.ndarray) -> np.ndarray:
    return np.expand_dims(x, int(dim.item())).copy()


@kernel("Squeeze")
def squeeze(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    named = tuple(attrs["squeeze_dims"])
    return np.squeeze(x, axis=named or None).copy()


@kernel("BroadcastTo")
def broadcast_to(attrs: Attrs, x: np.ndarray, to: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, _dims(to)).copy()


@kernel("Tile")
def tile(attrs: Attrs, x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    if multiples.shape != (x.ndim,):
        raise ValueError(f"multiples {multiples.tolist()} must have {x.ndim} elements")
    return np.tile(x, _dims(multiples))


@kernel("TileGrad")
def tile_grad(attrs: Attrs, x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    split = [n for m, full in zip(multiples.tolist(), x.shape, strict=True) for n in (m, full // m)]
    return wide(x).reshape(split).sum(axis=tuple(range(0, 2 * x.ndim, 2))).astype(x.dtype)


@kernel("Transpose")
def transpose(attrs: Attrs, x: np.ndarray, perm: np.ndarray) -> np.ndarray:
    return np.transpose(x, perm.tolist()).copy()


@kernel("ConjugateTranspose")
def conjugate_transpose(attrs: Attrs, x: np.ndarray, perm: np.ndarray) -> np.ndarray:
    y = np.transpose(x, perm.tolist())
    return np.conj(y) if x.dtype.kind == "c" else y.copy()


# ---- several tensors in one, and back ----


@kernel("Concat")
def concat(attrs: Attrs, dim: np.ndarray, *values: np.ndarray) -> np.ndarray:
    return np.concatenate(values, axis=int(dim.item()))


@kernel("ConcatV2")
def concat_v2(attrs: Attrs, *values_and_axis: np.ndarray) -> np.ndarray:
    *values, axis = values_and_axis
    return np.concatenate(values, axis=int(axis.item()))


@kernel("Pack")
def pack(attrs: Attrs, *values: np.ndarray) -> np.ndarray:
    return np.stack(values, axis=attrs["axis"])


@kernel("ParallelConcat")
def parallel_concat(attrs: Attrs, *values: np.ndarray) -> np.ndarray:
    return np.concatenate(values, axis=0)


@kernel("Unpack")
def unpack(attrs: Attrs, value: np.ndarray) -> list[np.ndarray]:
    rows = np.moveaxis(value, attrs["axis"], 0)
    if len(rows) != attrs["num"]:
        raise ValueError(f"num is {attrs['num']}, the axis to unpack has {len(rows)} elements")
    return [np.array(row, value.dtype) for row in rows]


@kernel("Split")
def split(attrs: Attrs, dim: np.ndarray, value: np.ndarray) -> list[np.ndarray]:
    return [part.copy() for part in np.split(value, attrs["num_split"], axis=int(dim.item()))]


@kernel("SplitV")
def split_v(
    attrs: Attrs, value: np.ndarray, sizes: np.ndarray, dim: np.ndarray
) -> list[np.ndarray]:
    axis, counts = int(dim.item()), sizes.tolist()
    if -1 in counts:
        counts[counts.index(-1)] = value.shape[axis] - sum(n for n in counts if n != -1)
    if sum(counts) != value.shape[axis] or min(counts) < 0:
        raise InvalidArgumentError(
            None,
            None,
            f"size_splits {sizes.tolist()} must sum to the {value.shape[axis]} elements of axis "
            f"{axis}",
        )
    starts = list(accumulate(counts))[:-1]
    return [part.copy() for part in np.split(value, starts, axis=axis)]


# ---- padding ----


@kernel("Pad")
def pad(attrs: Attrs, x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    return pad_v2(attrs, x, paddings, zeros((), x.dtype))


@kernel("PadV2")
def pad_v2(attrs: Attrs, x: np.ndarray, paddings: np.ndarray, value: np.ndarray) -> np.ndarray:
    widths = paddings.reshape(-1, 2).tolist()
    if len(widths) != x.ndim or any(w < 0 for pair in widths for w in pair):
        raise ValueError(f"paddings must be {x.ndim} pairs, none negative: {widths}")
    result = np.full(
        [before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)],
        value,
        x.dtype,
    )
    inside = [slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True)]
    result[tuple(inside)] = x
    return result


def _mirror(attrs: Attrs, size: int, before: int, after: int) -> np.ndarray:
    """Which element stands at each place of the padded axis."""
    reflect = attrs["mode"] == b"REFLECT"
    if max(before, after) > size - reflect:
        raise InvalidArgumentError(
            None, None, f"paddings must be no greater than {size - reflect}: {before}, {after}"
        )
    places = np.arange(size)
    left = places[1 : 1 + before] if reflect else places[:before]
    right = places[size - 1 - after : size - 1] if reflect else places[size - after :]
    return np.concatenate([left[::-1], places, right[::-1]])


@kernel("MirrorPad")
def mirror_pad(attrs: Attrs, x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    for axis, (before, after) in enumerate(paddings.tolist()):
        x = np.take(x, _mirror(attrs, x.shape[axis], before, after), axis=axis)
    return x


@kernel("MirrorPadGrad")
def mirror_pad_grad(attrs: Attrs, x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    total = wide(x)
    for axis, (before, after) in enumerate(paddings.tolist()):
        size = total.shape[axis] - before - after
        rows = np.moveaxis(total, axis, 0)
        folded = np.zeros((size,) + rows.shape[1:], total.dtype)
        np.add.at(folded, _mirror(attrs, size, before, after), rows)
        total = np.moveaxis(folded, 0, axis)
    return total.astype(x.dtype)


# ---- order ----


@kernel("Reverse")
def reverse(attrs: Attrs, x: np.ndarray, dims: np.ndarray) -> np.ndarray:
    return np.flip(x, axis=tuple(np.flatnonzero(dims).tolist())).copy()


@kernel("ReverseV2")
def reverse_v2(attrs: Attrs, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    if len(reduction_axes(axes, x.ndim)) != axes.size:
        raise InvalidArgumentError(None, None, f"axis specified more than once: {axes.tolist()}")
    return np.flip(x, axis=reduction_axes(axes, x.ndim)).copy()


@kernel("ReverseSequence")
def reverse_sequence(attrs: Attrs, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    moved = np.moveaxis(x, (attrs["batch_dim"], attrs["seq_dim"]), (0, 1)).copy()
    if lengths.shape != moved.shape[:1] or np.any((lengths < 0) | (lengths > moved.shape[1])):
        raise ValueError(
            f"seq_lengths {lengths.tolist()} must be {moved.shape[0]} numbers of at most "
            f"{moved.shape[1]}"
        )
    for row, length in zip(moved, lengths.tolist(), strict=True):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(moved, (0, 1), (attrs["batch_dim"], attrs["seq_dim"])).copy()


@kernel("Roll")
def roll(attrs: Attrs, x: np.ndarray, shift: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return np.roll(x, tuple(shift.ravel().tolist()), tuple(axis.ravel().tolist()))


# ---- sequences and indicators ----


@kernel("Range")
def range_(attrs: Attrs, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    first, last, step = (
        x.item() if x.dtype.kind in "iu" else float(x) for x in (start, limit, delta)
    )
    if step == 0 or (last - first) * step < 0:
        raise InvalidArgumentError(
            None, None, f"from {first} to {last} is not reached in steps of {step}"
        )
    if isinstance(first, int):
        return np.arange(first, int(last), int(step), dtype=start.dtype.type)
    # In the type of the inputs, as TensorFlow counts: (0.3 - 0) / 0.1 is 3 in float32.
    count = int(np.ceil(np.abs((limit - start) / delta)))
    return (first + np.arange(count) * step).astype(start.dtype)


@kernel("LinSpace")
def lin_space(attrs: Attrs, start: np.ndarray, stop: np.ndarray, num: np.ndarray) -> np.ndarray:
    if int(num) <= 0:
        raise InvalidArgumentError(None, None, f"Requires num > 0: {int(num)}")
    return np.linspace(float(start), float(stop), int(num)).astype(start.dtype)


@kernel("OneHot")
def one_hot(
    attrs: Attrs, indices: np.ndarray, depth: np.ndarray, on: np.ndarray, off: np.ndarray
) -> np.ndarray:
    if int(depth) < 0:
        raise InvalidArgumentError(None, None, f"depth must be non-negative, got: {int(depth)}")
    hot = indices[..., np.newaxis] == np.arange(int(depth))
    axis = attrs["axis"] if attrs["axis"] != -1 else indices.ndim
    return np.moveaxis(np.where(hot, on, off).astype(on.dtype), -1, axis).copy()


# ---- rows changed in a copy ----


@kernel("InplaceAdd")
def inplace_add(attrs: Attrs, x: np.ndarray, i: np.ndarray, v: np.ndarray) -> np.ndarray:
    result = x.copy()
    for row, value in zip((i % len(x)).tolist(), v, strict=True):
        result[row] += value
    return result


@kernel("InplaceSub")
def inplace_sub(attrs: Attrs, x: np.ndarray, i: np.ndarray, v: np.ndarray) -> np.ndarray:
    return inplace_add(attrs, x, i, -v)


@kernel("InplaceUpdate")
def inplace_update(attrs: Attrs, x: np.ndarray, i: np.ndarray, v: np.ndarray) -> np.ndarray:
    result = x.copy()
    result[i % len(x)] = v
    return result
