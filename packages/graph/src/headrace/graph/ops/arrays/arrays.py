"""Tensors as arrays: placeholders, constants by shape, reshaping, joining, padding, order."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import as_dims

# ---- where values come in --------------------------------------------------------------------


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value each run must feed.

    Args:
      dtype: of the values; shape: their shape, None or -1 for what is not fixed; None: any shape.
    """
    return op("Placeholder", dtype=as_dtype(dtype), shape=as_dims(shape), name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """A tensor that a run may feed, and that is `input` where it does not."""
    return op("PlaceholderWithDefault", input, shape=as_dims(shape), name=name)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor whose value each run must feed."""
    base = name or "Placeholder"
    dims = as_dims(shape) if shape is not None else None
    rank = None if dims is None else len(dims)
    if dims is None or None in dims:
        dense = placeholder("int64", [rank], name=f"{base}/shape")
    else:
        dense = convert_to_tensor(list(dims), dtype="int64", name=f"{base}/shape")
    return SparseTensor(
        indices=placeholder("int64", [None, rank], name=f"{base}/indices"),
        values=placeholder(dtype, [None], name=f"{base}/values"),
        dense_shape=dense,
    )


def stop_gradient(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The same value, through which no gradient flows."""
    return op("StopGradient", input, name=name)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The same value, promised not to change."""
    return op("GuaranteeConst", input, name=name)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """x, after a check at run time that it has that shape (None: any size)."""
    return op("EnsureShape", x, shape=as_dims(shape), name=name)


# ---- made from a shape -----------------------------------------------------------------------


def _filled(shape: Any, dtype: Any, value: Any, name: str) -> Tensor:
    wanted = as_dtype(dtype).base_dtype
    if wanted.name == "string":
        value = "" if value == 0 else value
    elif wanted.name == "bool":
        value = bool(value)
    with name_scope(name) as scope:
        if not isinstance(shape, Tensor):
            try:
                dims: Any = as_dims(shape)
            except TypeError:
                dims = None
            if dims is not None and None not in dims:
                count = int(np.prod(dims, dtype=np.int64))
                if count < 1000:
                    return constant(value, dtype=wanted, shape=dims, name=scope)
                shape = convert_to_tensor(
                    np.array(dims, np.int32 if max(dims) < 2**31 else np.int64),
                    name="shape_as_tensor",
                )
            else:
                shape = convert_to_tensor(shape, dtype="int32")
        return op("Fill", shape, constant(value, dtype=wanted, name="Const"), name=scope)


def zeros(shape: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
    """A tensor of zeros (False, or empty strings)."""
    return _filled(shape, dtype, 0, name or "zeros")


def ones(shape: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
    """A tensor of ones (or True)."""
    return _filled(shape, dtype, 1, name or "ones")


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape dims with one value everywhere."""
    return op("Fill", dims, value, name=name)


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros of tensor's shape, of its dtype or another."""
    x = convert_to_tensor(tensor, name="tensor")
    wanted = x.dtype.base_dtype if dtype is None else as_dtype(dtype)
    if wanted is x.dtype.base_dtype:
        return op("ZerosLike", x, name=name or "zeros_like")
    return zeros(op("Shape", x), wanted, name=name or "zeros_like")


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones of tensor's shape, of its dtype or another."""
    x = convert_to_tensor(tensor, name="tensor")
    wanted = x.dtype.base_dtype if dtype is None else as_dtype(dtype)
    return ones(op("Shape", x), wanted, name=name or "ones_like")


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a batch of them. Returns: batch_shape + [num_rows, num_columns]."""
    with name_scope(name or "eye"):
        columns = num_rows if num_columns is None else num_columns
        short = op("Minimum", num_rows, columns)
        batch = convert_to_tensor([] if batch_shape is None else batch_shape, dtype="int32")
        diagonal = ones(op("ConcatV2", [batch, op("Reshape", short, [1])], 0), dtype)
        if num_columns is None:
            return op("MatrixDiag", diagonal)
        shape = op("ConcatV2", [batch, op("Pack", [num_rows, columns])], 0)
        return op("MatrixSetDiag", zeros(shape, dtype), diagonal)


def range(  # noqa: A001 - TF's name
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """start, start + delta, ... up to but without limit. With one argument: from 0 to it."""
    if limit is None:
        start, limit = 0, start
    with name_scope(name) as scope:
        values = [convert_to_tensor(v, dtype=dtype) for v in (start, limit, delta)]
        if dtype is None:
            order = ("int32", "int64", "float32", "float64")
            widest = max(
                (v.dtype.base_dtype.name for v in values),
                key=lambda n: order.index(n) if n in order else -1,
            )
            values = [
                v if v.dtype.base_dtype.name == widest else op("Cast", v, DstT=widest)
                for v in values
            ]
        return op("Range", *values, name=scope)


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """num evenly spaced values from start to stop, both included."""
    return op("LinSpace", start, stop, num, name=name)


lin_space = linspace


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """on_value at each index along a new axis of size depth, off_value elsewhere."""
    wanted = None if dtype is None else as_dtype(dtype)
    for value in (on_value, off_value):
        if wanted is None and value is not None:
            wanted = convert_to_tensor(value).dtype.base_dtype
    wanted = wanted or as_dtype("float32")
    on = convert_to_tensor(1 if on_value is None else on_value, dtype=wanted, name="on_value")
    off = convert_to_tensor(0 if off_value is None else off_value, dtype=wanted, name="off_value")
    return op("OneHot", indices, depth, on, off, axis=-1 if axis is None else axis, name=name)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None
) -> Tensor:
    """True for the first lengths[i] places of row i. Returns: lengths' shape + [maxlen]."""
    with name_scope(name or "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            axes = op("Range", 0, op("Rank", lengths), 1)
            maxlen = op(
                "Maximum", op("Max", lengths, axes), constant(0, dtype=lengths.dtype.base_dtype)
            )
        else:
            maxlen = convert_to_tensor(maxlen, dtype=lengths.dtype.base_dtype)
        row = op(
            "Range",
            constant(0, dtype=lengths.dtype.base_dtype),
            maxlen,
            constant(1, dtype=lengths.dtype.base_dtype),
        )
        mask = op("Less", row, op("ExpandDims", lengths, -1))
        wanted = as_dtype(dtype)
        return mask if wanted.name == "bool" else op("Cast", mask, DstT=wanted)


# ---- shapes as tensors -----------------------------------------------------------------------


def _known(x: Any, out_type: Any, name: str | None, value: Any) -> Tensor | None:
    """The constant that a fully known shape makes, as TF 1.x folds it when the graph is built."""
    dims = x._shape  # noqa: SLF001
    if dims is None or None in dims:
        return None
    return constant(value(dims), dtype=as_dtype(out_type), name=name)


def shape(
    input: Any,  # noqa: A002
    name: str | None = None,
    out_type: Any = "int32",
    optimize: bool = True,
) -> Tensor:
    """The shape as a vector; a constant where it is fully known when the graph is built."""
    if isinstance(input, SparseTensor):
        return op("Cast", input.dense_shape, DstT=as_dtype(out_type), name=name)
    x = convert_to_tensor(input)
    known = _known(x, out_type, name or "Shape", list) if optimize else None
    return op("Shape", x, out_type=as_dtype(out_type), name=name) if known is None else known


def shape_n(input: Any, out_type: Any = "int32", name: str | None = None) -> list[Tensor]:  # noqa: A002
    """The shapes of several tensors of one dtype."""
    return op("ShapeN", input, out_type=as_dtype(out_type), name=name)


def size(input: Any, name: str | None = None, out_type: Any = "int32") -> Tensor:  # noqa: A002
    """The number of elements."""
    if isinstance(input, SparseTensor):
        return op("Prod", op("Cast", input.dense_shape, DstT=as_dtype(out_type)), 0, name=name)
    x = convert_to_tensor(input)
    known = _known(x, out_type, name or "Size", lambda d: int(np.prod(d, dtype=np.int64)))
    return op("Size", x, out_type=as_dtype(out_type), name=name) if known is None else known


def rank(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The number of dimensions."""
    if isinstance(input, SparseTensor):
        return op("Size", input.dense_shape, name=name)
    x = convert_to_tensor(input)
    if x._shape is not None:  # noqa: SLF001
        return constant(len(x._shape), dtype="int32", name=name or "Rank")  # noqa: SLF001
    return op("Rank", x, name=name)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape that two shapes broadcast to, as a tensor."""
    return op("BroadcastArgs", shape_x, shape_y)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Any:
    """The TensorShape that two TensorShapes broadcast to; ValueError where they do not."""
    from headrace.graph.framework.tensor_shape import TensorShape
    from headrace.graph.shape_rules.algebra import broadcast

    return TensorShape(broadcast(as_dims(shape_x), as_dims(shape_y)))


# ---- other shapes of the same elements -------------------------------------------------------


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The same elements in order under another shape; one size may be -1."""
    return op("Reshape", tensor, shape, name=name)


def expand_dims(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """A dimension of size 1 put in at axis."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("expand_dims: give the axis")
    return op("ExpandDims", input, axis, name=name)


def squeeze(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Tensor:
    """Dimensions of size 1 taken out: those named, or all."""
    axis = squeeze_dims if axis is None else axis
    axes = [] if axis is None else [axis] if np.ndim(axis) == 0 else list(axis)
    return op("Squeeze", input, squeeze_dims=axes, name=name)


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Dimension i of the result is dimension perm[i] of a; perm None: all reversed."""
    with name_scope(name) as scope:
        a = convert_to_tensor(a, name="a")
        kind = "ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose"
        if perm is None:
            n = a.get_shape().ndims
            if n is None:
                last = op("Sub", op("Rank", a), 1)
                perm = op("Sub", last, op("Range", 0, op("Rank", a), 1))
            else:
                perm = np.arange(n - 1, -1, -1, dtype=np.int32)
        return op(kind, a, perm, name=scope)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The innermost two dimensions exchanged."""
    with name_scope(name):
        a = convert_to_tensor(a, name="a")
        n = a.get_shape().ndims
        if n is not None:
            order: Any = np.array([*builtins.range(n - 2), n - 1, n - 2], np.int32)
        else:
            count = op("Rank", a)
            order = op(
                "ConcatV2", [op("Range", 0, count - 2, 1), op("Pack", [count - 1, count - 2])], 0
            )
        return transpose(a, order, conjugate=conjugate)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """input repeated along dimensions of size 1 (and new leading ones) up to shape."""
    return op("BroadcastTo", input, shape, name=name)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """input repeated multiples[i] times along dimension i."""
    return op("Tile", input, multiples, name=name)


# ---- joining and splitting -------------------------------------------------------------------


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors joined along an axis; their other dimensions are equal."""
    values = list(values) if isinstance(values, list | tuple) else [values]
    if len(values) == 1:
        return op("Identity", values[0], name=name)
    return op("ConcatV2", values, axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    return op(
        "Pack",
        list(values) if not isinstance(values, Tensor) else unstack(values),
        axis=axis,
        name=name,
    )


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Tensors of one known shape side by side along a new first axis."""
    return stack(values, name=name)


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The slices along an axis, as a list; num: how many, where the shape does not tell."""
    value = convert_to_tensor(value, name="value")
    if num is None:
        dims = value._shape  # noqa: SLF001
        if dims is None or dims[axis] is None:
            raise ValueError(f"Cannot infer num from shape {value.get_shape()}: give num")
        num = dims[axis]
    return list(op("Unpack", value, num=num, axis=axis, name=name))


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """A tensor cut along an axis: into equal parts (an int), or into parts of the given sizes."""
    sizes = num_or_size_splits
    if isinstance(sizes, int | np.integer):
        return list(op("Split", axis, value, num_split=int(sizes), name=name))
    sizes = convert_to_tensor(sizes)
    if num is None:
        num = sizes._shape[0] if sizes._shape else None  # noqa: SLF001
        if num is None:
            raise ValueError("split: the number of parts is not known: give num")
    return list(op("SplitV", value, sizes, axis, num_split=num, name=name))


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinate tensors of a grid from vectors of coordinates; indexing "xy" or "ij"."""
    indexing = kwargs.pop("indexing", "xy")
    with name_scope(kwargs.pop("name", "meshgrid")):
        if indexing not in ("xy", "ij"):
            raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
        n = len(args)
        shaped = [op("Reshape", x, [1] * i + [-1] + [1] * (n - i - 1)) for i, x in enumerate(args)]
        sizes = [op("Size", x) for x in args]
        if indexing == "xy" and n > 1:
            shaped[0] = op("Reshape", shaped[0], [1, -1] + [1] * (n - 2))
            shaped[1] = op("Reshape", shaped[1], [-1, 1] + [1] * (n - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        full = op("Pack", sizes) if sizes else []
        return [op("BroadcastTo", x, full) for x in shaped]


# ---- padding and order -----------------------------------------------------------------------


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """paddings[i] = (before, after) elements added to dimension i.

    Args:
      mode: CONSTANT (constant_values), REFLECT or SYMMETRIC (the border mirrored, without or with
        the outermost element).
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if isinstance(constant_values, int | float) and constant_values == 0:
            return op("Pad", tensor, paddings, name=name)
        return op("PadV2", tensor, paddings, constant_values, name=name)
    if mode in ("REFLECT", "SYMMETRIC"):
        return op("MirrorPad", tensor, paddings, mode=mode, name=name)
    raise ValueError(f"Unknown padding mode: {mode}; CONSTANT, REFLECT and SYMMETRIC are")


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements in opposite order along axes."""
    return op("ReverseV2", tensor, axis, name=name)


reverse_v2 = reverse


def reverse_sequence(
    input: Any,  # noqa: A002
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """The first seq_lengths[i] elements of sequence i in opposite order."""
    along = seq_axis if seq_axis is not None else seq_dim
    batch = batch_axis if batch_axis is not None else batch_dim
    return op("ReverseSequence", input, seq_lengths, seq_dim=along, batch_dim=batch or 0, name=name)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Elements moved by shift along axes; what falls off comes in at the other end."""
    return op("Roll", input, shift, axis, name=name)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation that undoes x."""
    return op("InvertPermutation", x, name=name)


def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> Any:
    """The distinct elements in order of appearance, and for each element the index of its value."""
    return op("Unique", x, out_idx=as_dtype(out_idx), name=name)


def unique_with_counts(x: Any, out_idx: Any = "int32", name: str | None = None) -> Any:
    """As unique, and how often each value occurs."""
    return op("UniqueWithCounts", x, out_idx=as_dtype(out_idx), name=name)


def setdiff1d(x: Any, y: Any, index_dtype: Any = "int32", name: str | None = None) -> Any:
    """The elements of x that are not in y, and their indices in x."""
    return op("ListDiff", x, y, out_idx=as_dtype(index_dtype), name=name)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = "int32",
    name: str | None = None,
) -> Tensor:
    """Where values would go into the sorted rows of sorted_sequence."""
    with name_scope(name or "searchsorted"):
        rows = convert_to_tensor(sorted_sequence)
        values = convert_to_tensor(values, dtype=rows.dtype.base_dtype)
        width = op("StridedSlice", op("Shape", rows), [-1], [0], [1], shrink_axis_mask=1)
        flat = op("Reshape", rows, op("Pack", [-1, width]))
        asked = op(
            "Reshape",
            values,
            op(
                "Pack",
                [op("StridedSlice", op("Shape", flat), [0], [1], [1], shrink_axis_mask=1), -1],
            ),
        )
        kind = {"left": "LowerBound", "right": "UpperBound"}.get(side)
        if kind is None:
            raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
        found = op(kind, flat, asked, out_type=as_dtype(out_type))
        return op("Reshape", found, op("Shape", values))


def space_to_depth(
    input: Any,
    block_size: int,
    name: str | None = None,
    data_format: str = "NHWC",  # noqa: A002
) -> Tensor:
    """Blocks of pixels moved into channels."""
    return op("SpaceToDepth", input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(
    input: Any,
    block_size: int,
    name: str | None = None,
    data_format: str = "NHWC",  # noqa: A002
) -> Tensor:
    """Channels moved into blocks of pixels."""
    return op("DepthToSpace", input, block_size=block_size, data_format=data_format, name=name)


def space_to_batch_nd(
    input: Any,
    block_shape: Any,
    paddings: Any,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    """Blocks of the padded spatial dimensions moved into the batch."""
    return op("SpaceToBatchND", input, block_shape, paddings, name=name)


def batch_to_space_nd(
    input: Any,
    block_shape: Any,
    crops: Any,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    """The inverse of space_to_batch_nd, cropped."""
    return op("BatchToSpaceND", input, block_shape, crops, name=name)


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor with the given diagonal, zero elsewhere. Returns: shape + shape."""
    return op("Diag", diagonal, name=name)


def diag_part(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The diagonal of a tensor of shape s + s."""
    return op("DiagPart", input, name=name)
