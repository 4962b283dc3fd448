"""Reordering, reshaping, slicing, concatenation and serialization of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.ops.sparse.sparse import as_sparse, known_rank, sparse_of, to_dense, triplet
from headrace.graph.typing.aliases import DTypeLike, SparseLike, TensorLike


def reorder(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """Sorts the entries in row-major order."""
    x = as_sparse(sp_input)
    indices, values = op("SparseReorder", *triplet(x), name=name)
    if x.get_shape().is_fully_defined():
        dims = convert_to_tensor(x.get_shape().as_list(), dtype="int64")
        return SparseTensor(indices, values, dims)
    return SparseTensor(indices, values, op("Identity", x.dense_shape))


def reshape(sp_input: SparseLike, shape: TensorLike, name: str | None = None) -> SparseTensor:
    """Reshapes a sparse tensor; one dimension may be -1."""
    x = as_sparse(sp_input)
    with name_scope(name or "SparseReshape") as scope:
        requested = convert_to_tensor(shape, dtype="int64")
        count_nodes(1)
        indices, dims = op("SparseReshape", x.indices, x.dense_shape, requested, name=scope)
        known = constant_value(requested)
        if known is not None and (known >= 0).all():
            # the op fails unless the number of elements is equal
            with control_dependencies([dims]):
                dims = op("Identity", requested)
        return SparseTensor(indices, op("Identity", x.values), dims)


def transpose(
    sp_input: SparseLike, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Permutes the dimensions; reverses them by default."""
    x = as_sparse(sp_input)
    with name_scope(name or "SparseTranspose"):
        rank = op("Size", x.dense_shape)
        if perm is None:
            perm = op("Sub", op("Sub", rank, 1), op("Range", 0, rank, 1))
        indices = op("GatherV2", x.indices, perm, 1)
        shape = op("GatherV2", x.dense_shape, perm, 0)
        return reorder(SparseTensor(indices, x.values, shape))


def expand_dims(
    sp_input: SparseLike, axis: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Inserts a dimension of size 1 before `axis`, by default at the end."""
    x = as_sparse(sp_input)
    with name_scope(name or "expand_dims"):
        rank = op("Size", x.dense_shape)
        place = convert_to_tensor(-1 if axis is None else axis, dtype="int32", name="axis")
        place = op("SelectV2", op("Less", place, 0), place + rank + 1, place)
        before, after = op("ExpandDims", place, 0), op("ExpandDims", rank - place, 0)
        entries = op("GatherV2", op("Shape", x.indices), [0], 0)
        zero = op("Cast", 0, DstT="int64")
        left = op("Slice", x.indices, [0, 0], op("ConcatV2", [[-1], before], 0))
        right = op(
            "Slice", x.indices, op("ConcatV2", [[0], before], 0), op("ConcatV2", [[-1], after], 0)
        )
        column = op("Fill", op("ConcatV2", [entries, [1]], 0), zero)
        one = convert_to_tensor([1], dtype="int64")
        shape = op(
            "ConcatV2",
            [
                op("Slice", x.dense_shape, [0], before),
                one,
                op("Slice", x.dense_shape, before, after),
            ],
            0,
        )
        return SparseTensor(op("ConcatV2", [left, column, right], 1), x.values, shape)


def concat(
    axis: int,
    sp_inputs: Sequence[SparseLike],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Concatenates sparse tensors along an axis.

    Args:
      axis: axis of concatenation; concat_dim: its old name.
      sp_inputs: list of SparseTensors of one dtype.
      expand_nonconcat_dims: the other dimensions may differ, and their maximum is used;
        expand_nonconcat_dim: its old name.
    Raises: ValueError for an unknown rank with expand_nonconcat_dims.
    """
    axis = int(axis if concat_dim is None else concat_dim)
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    inputs = [as_sparse(x) for x in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    count_nodes(1)
    shapes = [x.dense_shape for x in inputs]
    if expand:
        widest = op("Max", op("Pack", shapes), [0])
        rank = inputs[0].dense_shape.get_shape().as_list()[0]
        if rank is None:
            raise ValueError("sparse_concat: the rank must be known where dimensions expand")
        here = [i == axis % rank for i in range(rank)]
        shapes = [op("SelectV2", here, shape, widest) for shape in shapes]
    result = op(
        "SparseConcat",
        [x.indices for x in inputs],
        [x.values for x in inputs],
        shapes,
        concat_dim=axis,
        name=name,
    )
    return SparseTensor(*result)


def split(
    keyword_required: TensorLike | None = None,
    sp_input: SparseLike | None = None,
    num_split: int | None = None,
    axis: TensorLike | None = None,
    name: str | None = None,
    split_dim: TensorLike | None = None,
) -> list[SparseTensor]:
    """Splits a sparse tensor into num_split parts along an axis; the first ones are larger.

    Raises: ValueError for positional or missing arguments.
    """
    axis = split_dim if axis is None else axis
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("sparse_split needs sp_input, num_split and axis")
    x = as_sparse(sp_input)
    place = convert_to_tensor(axis, dtype="int64", name="split_dim")
    indices, values, shapes = op("SparseSplit", place, *triplet(x), num_split=num_split, name=name)
    return [sparse_of(part, known_rank(x)) for part in zip(indices, values, shapes, strict=True)]


def slice(  # noqa: A001 - TF's name
    sp_input: SparseLike, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Slices a sparse tensor: the entries in [start, start + size)."""
    x = as_sparse(sp_input)
    first = convert_to_tensor(start, dtype="int64", name="start")
    extent = convert_to_tensor(size, dtype="int64", name="size")
    with name_scope(name or "SparseSlice"):
        return sparse_of(op("SparseSlice", *triplet(x), first, extent), known_rank(x))


def retain(sp_input: SparseLike, to_retain: TensorLike) -> SparseTensor:
    """Retains some entries. Args: to_retain: [number of entries] bool."""
    x = as_sparse(sp_input)
    kept = convert_to_tensor(to_retain)
    kept.get_shape().with_rank(1)
    x.values.get_shape()[0:1].assert_is_compatible_with(kept.get_shape()[0:1])
    places = op("Reshape", op("Where", kept), [-1])
    return SparseTensor(
        op("GatherV2", x.indices, places, 0),
        op("GatherV2", x.values, places, 0),
        op("Identity", x.dense_shape),
    )


def reset_shape(sp_input: SparseLike, new_shape: TensorLike | None = None) -> SparseTensor:
    """Changes the dense shape without moving entries.

    Args:
      new_shape: [rank], not smaller in any dimension; None uses the bounding box of the entries.
    Raises: ValueError for an invalid static shape; at run time InvalidArgumentError.
    """
    from headrace.graph.control_flow.control_flow_ops import with_dependencies
    from headrace.graph.ops.assertions import assert_equal, assert_less_equal

    x = as_sparse(sp_input)
    indices, values = op("Identity", x.indices), op("Identity", x.values)
    if new_shape is None:
        greatest = op("Max", indices, [0])
        one = op("Cast", 1, DstT="int64")
        shape = op("Maximum", op("Add", greatest, one), op("ZerosLike", greatest))
        return SparseTensor(indices, values, shape)
    shape = op("Cast", convert_to_tensor(new_shape, name="new_shape"), DstT="int64")
    _check_new_shape(x, shape)
    held = op("Identity", x.dense_shape)
    shape = with_dependencies([assert_equal(op("Shape", held), op("Shape", shape))], shape)
    shape = with_dependencies([assert_less_equal(held, shape)], shape)
    return SparseTensor(indices, values, shape)


def _check_new_shape(x: SparseTensor, shape: Tensor) -> None:
    """Raises ValueError for a static shape of another rank, or with a smaller dimension."""
    new = constant_value(shape)
    if x.get_shape().ndims is None or new is None:
        return
    old = x.get_shape().as_list()
    if len(old) != len(new):
        raise ValueError(f"Shapes {old} and {new.tolist()} must have the same rank")
    if any(a is not None and b < a for a, b in zip(old, new.tolist(), strict=True)):
        raise ValueError(f"Requested dimension size(s) {new.tolist()} are below those of {old}")


def fill_empty_rows(
    sp_input: SparseLike, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Adds an entry at [row, 0, ...] to each empty row.

    Returns: (filled SparseTensor, [rows] bool of empty rows).
    """
    with name_scope(name or "SparseFillEmptyRows"):
        x = as_sparse(sp_input)
        default = convert_to_tensor(default_value, dtype=x.dtype.base_dtype)
        indices, values, empty, _ = op("SparseFillEmptyRows", *triplet(x), default)
        return sparse_of((indices, values, x.dense_shape), known_rank(x)), empty


def merge(
    sp_ids: Any,
    sp_values: SparseLike,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Merges ids and values to a sparse tensor: replaces the last dimension by the ids.

    Args:
      sp_ids: SparseTensor [..., n] of int32 or int64, or a list with one per new dimension.
      sp_values: SparseTensor with the same entries.
      vocab_size: int, or a list of ints: sizes of the new dimensions.
      already_sorted: whether the entries of the result are already sorted.
    Returns: SparseTensor [..., vocab_size].
    Raises: ValueError unless sp_ids and vocab_size are both lists of one length, or neither is.
    """
    several = isinstance(sp_ids, (list, tuple))
    if several != isinstance(vocab_size, (list, tuple)):
        raise TypeError("sparse_merge: sp_ids and vocab_size must both be lists, or neither")
    sizes = list(vocab_size) if several else [vocab_size]
    ids = [as_sparse(x) for x in (sp_ids if several else [sp_ids])]
    if len(ids) != len(sizes):
        raise ValueError(
            f"sp_ids and vocab_size must have the same length, got {len(ids)} and {len(sizes)}"
        )
    values = as_sparse(sp_values)
    with name_scope(name or "SparseMerge"):
        columns = [op("ExpandDims", op("Cast", x.values, DstT="int64"), 1) for x in ids]
        kept = op("Slice", values.indices, [0, 0], op("Pack", [-1, _rank(values) - 1]))
        extents = [op("Cast", convert_to_tensor(n), DstT="int64") for n in sizes]
        lead = op("Slice", values.dense_shape, [0], op("ExpandDims", _rank(values) - 1, 0))
        result = SparseTensor(
            op("ConcatV2", [kept, *columns], 1),
            values.values,
            op("ConcatV2", [lead, op("Pack", extents)], 0),
        )
        return result if already_sorted else reorder(result)


def to_indicator(sp_input: SparseLike, vocab_size: TensorLike, name: str | None = None) -> Tensor:
    """Converts ids [..., n] to indicators [..., vocab_size] bool."""
    ids = as_sparse(sp_input)
    with name_scope(name or "SparseToIndicator"):
        count = op("GatherV2", op("Shape", ids.indices), [0], 0)
        marks = SparseTensor(ids.indices, op("Fill", count, True), ids.dense_shape)
        merged = merge(ids, marks, vocab_size)
        return to_dense(merged, default_value=False, validate_indices=False)


def _rank(x: SparseTensor) -> Tensor:
    return op("Size", x.dense_shape)


# ---- serialization -------------------------------------------------------------------------


def serialize_sparse(
    sp_input: SparseLike, name: str | None = None, out_type: DTypeLike = "string"
) -> Tensor:
    """Serializes a sparse tensor to [3] string (or variant)."""
    x = as_sparse(sp_input)
    return op("SerializeSparse", *triplet(x), out_type=as_dtype(out_type), name=name)


def serialize_many_sparse(
    sp_input: SparseLike, name: str | None = None, out_type: DTypeLike = "string"
) -> Tensor:
    """Serializes each row of the first dimension to [rows, 3] string (or variant)."""
    x = as_sparse(sp_input)
    return op("SerializeManySparse", *triplet(x), out_type=as_dtype(out_type), name=name)


def deserialize_many_sparse(
    serialized_sparse: TensorLike,
    dtype: DTypeLike,
    rank: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Deserializes rows [rows, 3] to a sparse tensor. Args: rank: rank of each row, or None."""
    indices, values, shape = op(
        "DeserializeManySparse", serialized_sparse, dtype=as_dtype(dtype), name=name
    )
    if rank is not None:
        indices.set_shape([None, rank + 1])
        shape.set_shape([rank + 1])
    return SparseTensor(indices, values, shape)
