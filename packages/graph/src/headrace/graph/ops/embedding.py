"""Embedding lookups, in whole or partitioned tables, for dense and sparse ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import colocate_with, name_scope
from headrace.graph.ops.clipping import clip_by_norm
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.gather import gather
from headrace.graph.ops.reduction import reduce_prod
from headrace.graph.typing.aliases import SparseLike, TensorLike

_INT32, _INT64 = as_dtype("int32"), as_dtype("int64")


def table_parts(params: Any) -> list[Any]:
    """Returns the list of a table's partitions. Raises: ValueError if there are none."""
    if params is None:
        raise ValueError("params must be specified")
    in_parts = isinstance(params, (list, tuple)) or hasattr(params, "_get_variable_list")
    parts = list(params) if in_parts else [params]
    if not parts:
        raise ValueError("Length of `params` must be non-zero.")
    return [convert_to_tensor(p) if isinstance(p, np.ndarray) else p for p in parts]


def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Looks up the rows of a table by id.

    Args:
      params: table [rows, ...], list of its partitions, or a partitioned variable.
      ids: [...] int32 or int64.
      partition_strategy: partition of row i: "mod" is i % partitions; "div" are contiguous ranges,
        as in a partitioned variable.
      validate_indices: ignored; an id out of range always fails the step.
      max_norm: greatest L2 norm of a row; larger rows are scaled down.
    Returns: [..., rest of a row]. Raises: ValueError for another strategy.
    """
    parts = table_parts(params)
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            with colocate_with(parts[0]):
                found = gather(parts[0], ids, name=scope)
                found = _clip_rows(found, ids, max_norm)
            return identity(found)
        return _from_parts(parts, ids, partition_strategy, scope, max_norm)


def _from_parts(parts: list[Any], ids: Tensor, strategy: str, scope: str, max_norm: Any) -> Tensor:
    flat = op("Reshape", ids, [-1])
    places = op("Range", 0, op("Size", flat), 1)
    assigned, rows = _partition_ids(parts, flat, strategy)
    assigned = cast(assigned, _INT32)
    count = len(parts)
    picked = op("DynamicPartition", rows, assigned, num_partitions=count)
    at = op("DynamicPartition", places, assigned, num_partitions=count)
    found = []
    for part, requested in zip(parts, picked, strict=True):
        with colocate_with(part):
            found.append(gather(part, requested))
    joined = op("ParallelDynamicStitch", at, found, name=scope)
    static = ids.get_shape().concatenate(_row_shape(parts))
    row = _row_shape(parts)
    if row.is_fully_defined():
        rest: Any = constant(row.as_list(), dtype=_INT32)
    else:
        count_nodes(1)
        rest = op("Slice", op("Shape", joined), [1], [-1])
    result = op("Reshape", joined, op("ConcatV2", [op("Shape", ids), rest], 0))
    result.set_shape(static)
    return identity(_clip_rows(result, ids, max_norm))


def _row_shape(parts: list[Any]) -> Any:
    shape = parts[0].get_shape()[1:]
    for part in parts[1:]:
        shape = shape.merge_with(part.get_shape()[1:])
    return shape


def _partition_ids(parts: list[Any], flat: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """Returns the partition of each id, and its row in the partition."""
    count = constant(len(parts), dtype=flat.dtype.base_dtype)
    if strategy == "mod":
        return op("FloorMod", flat, count), op("FloorDiv", flat, count)
    if strategy != "div":
        raise ValueError(
            f"Unrecognized partition strategy: {strategy}. Must be one of either `mod` or `div`."
        )
    count_nodes(1)
    ranks = [part.get_shape().ndims for part in parts]
    sizes = [None if None in ranks else part.get_shape().as_list()[0] for part in parts]
    if None not in sizes:
        total = constant(sum(sizes), dtype=flat.dtype.base_dtype)
    else:
        lengths = [op("Shape", convert_to_tensor(part))[0] for part in parts]
        total = cast(op("Sum", op("Pack", lengths), [0]), flat.dtype.base_dtype)
    least = op("FloorDiv", total, count)
    more = op("FloorMod", total, count)  # number of partitions with one more row: the first ones
    longer = least + constant(1, dtype=flat.dtype.base_dtype)
    behind = flat - more
    # avoids a division by 0 if the shorter partitions are empty
    safe = op("Maximum", least, constant(1, dtype=flat.dtype.base_dtype))
    assigned = op("Maximum", op("FloorDiv", flat, longer), op("FloorDiv", behind, safe))
    in_long = op("Less", assigned, more)
    rows = op("SelectV2", in_long, op("FloorMod", flat, longer), op("FloorMod", behind, safe))
    return assigned, rows


def _clip_rows(rows: Tensor, ids: Tensor, max_norm: Any) -> Tensor:
    if max_norm is None:
        return rows
    first, last = ids.get_shape().ndims, rows.get_shape().ndims
    if first is not None and last is not None:
        axes: Any = list(range(first, last))
    else:
        axes = op("Range", op("Rank", ids), op("Rank", rows), 1)
    result: Tensor = clip_by_norm(rows, max_norm, axes=axes)
    return result


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: SparseTensor,
    sp_weights: SparseLike | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """Combines the embeddings of each row of ids.

    Args:
      params, partition_strategy, max_norm: as in embedding_lookup.
      sp_ids: SparseTensor [rows, n] of ids, sorted, without empty rows.
      sp_weights: SparseTensor with the same indices; None means 1.
      combiner: "mean" (the default), "sqrtn" (sum / L2 norm of the weights) or "sum".
    Returns: [rows, rest of a table's row].
    Raises: TypeError if ids or weights are not sparse; ValueError for another combiner.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    parts = table_parts(params)
    for what, value in (("sp_ids", sp_ids), ("sp_weights", sp_weights)):
        if not isinstance(value, SparseTensor) and (what == "sp_ids" or value is not None):
            raise TypeError(f"{what} must be SparseTensor, got {type(value).__name__}")
    with name_scope(name, "embedding_lookup_sparse", [*parts, sp_ids.values]) as scope:
        rows = cast(sp_ids.indices[:, 0], _INT32)
        ids, index = op("Unique", sp_ids.values)
        found = embedding_lookup(parts, ids, partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            kind = {"sum": "Sum", "mean": "Mean", "sqrtn": "SqrtN"}[combiner]
            return op(f"SparseSegment{kind}", found, index, rows, name=scope)
        each = gather(found, index)
        weights = cast(sp_weights.values, each.dtype.base_dtype)
        extra = op("Fill", op("ExpandDims", op("Rank", each) - 1, 0), 1)
        wide = op("Reshape", weights, op("ConcatV2", [op("Shape", weights), extra], 0))
        static = each.get_shape().ndims
        if static is not None:
            wide.set_shape([None] + [1] * (static - 1))
        total = op("SegmentSum", each * wide, rows)
        if combiner == "sum":
            return op("Identity", total, name=scope)
        if combiner == "mean":
            divisor = op("SegmentSum", wide, rows)
        else:
            count_nodes(1)  # the exponent 2
            divisor = op("Sqrt", op("SegmentSum", op("Square", wide), rows))
        return op("DivNoNan", total, divisor, name=scope)


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: SparseTensor,
    sparse_weights: SparseLike | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """Same as embedding_lookup_sparse, but accepts empty rows and negative ids.

    Args:
      embedding_weights: table or list of its partitions.
      sparse_ids, sparse_weights: SparseTensors [..., n]; negative ids and weights <= 0 are removed.
      default_id: id of empty rows; None gives zeros.
      the others: as in embedding_lookup_sparse.
    Returns: [..., rest of a table's row].
    """
    parts = table_parts(embedding_weights)
    with name_scope(name, "embedding_lookup", [*parts, sparse_ids.values]) as scope:
        shape = sparse_ids.dense_shape
        count_nodes(1 if default_id is None else 2)
        count_nodes(0 if shape.get_shape().is_fully_defined() else 6)
        rank = sparse_ids.get_shape().ndims
        last = op("Sub", op("Size", shape), 1)
        before = op("Slice", shape, [0], op("ExpandDims", last, 0))
        width = gather(shape, last)
        flat = op("Pack", [reduce_prod(before), width])
        places, flat_shape = op("SparseReshape", sparse_ids.indices, shape, flat)
        ids = sparse_ids.values
        weights = None if sparse_weights is None else sparse_weights.values
        good = op("GreaterEqual", ids, constant(0, dtype=ids.dtype.base_dtype))
        if weights is not None and combiner != "sum":
            above = constant(0, dtype=weights.dtype.base_dtype)
            good = op("LogicalAnd", good, op("Greater", weights, above))
        kept = op("Reshape", op("Where", good), [-1])
        places, ids = gather(places, kept), gather(ids, kept)
        filler = constant(default_id or 0, dtype=ids.dtype.base_dtype)
        full, full_ids, is_empty, _ = op("SparseFillEmptyRows", places, ids, flat_shape, filler)
        filled = SparseTensor(full, full_ids, flat_shape)
        filled_weights: SparseTensor | None = None
        if weights is not None:
            one = constant(1, dtype=weights.dtype.base_dtype)
            more = op("SparseFillEmptyRows", places, gather(weights, kept), flat_shape, one)
            filled_weights = SparseTensor(more[0], more[1], flat_shape)
        result = embedding_lookup_sparse(
            parts,
            filled,
            filled_weights,
            partition_strategy,
            None if default_id is None else scope,
            combiner,
            max_norm,
        )
        if default_id is None:
            extra = op("Fill", op("ExpandDims", op("Rank", result) - 1, 0), 1)
            wide = op("ConcatV2", [op("Shape", is_empty), extra], 0)
            result = op(
                "SelectV2",
                op("Reshape", is_empty, wide),
                op("ZerosLike", result),
                result,
                name=scope,
            )
        rest = op("Slice", op("Shape", result), [1], [-1])
        final = op("Reshape", result, op("ConcatV2", [cast(before, _INT32), rest], 0))
        if rank is not None:
            known = sparse_ids.get_shape()[: rank - 1]
            final.set_shape(known.concatenate(result.get_shape()[1:]))
        return final
