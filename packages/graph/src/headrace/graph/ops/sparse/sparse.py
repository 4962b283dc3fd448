"""Arithmetic of sparse tensors, and conversion from and to dense tensors.

Ops that move entries (reshape, concat, slice, ...) are in layout.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices, SparseTensor, SparseTensorValue
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.sparse import gradients as gradients  # the family's gradients
from headrace.graph.typing.aliases import DTypeLike, SparseLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import SparseReduction


def as_sparse(value: object) -> SparseTensor:
    """Converts a SparseTensor or SparseTensorValue to a SparseTensor.

    Raises: TypeError for other types.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, got {value!r}")
    return value


def triplet(x: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns (indices, values, dense_shape), the inputs of sparse ops."""
    return x.indices, x.values, x.dense_shape


def known_rank(x: SparseTensor) -> int | None:
    """Returns the static rank, or None."""
    return x.dense_shape.get_shape().as_list()[0]


def sparse_of(parts: Any, rank: int | None) -> SparseTensor:
    """Creates a SparseTensor from the three outputs of an op, and sets its rank."""
    indices, values, shape = parts
    if rank is not None:
        indices.set_shape([None, rank])
        shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


# ---- from and to dense ---------------------------------------------------------------------


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Creates a dense tensor from indices and values.

    Args:
      sparse_indices: [n, rank], [n] for a vector, or a scalar; int32 or int64.
      output_shape: [rank], dtype of the indices.
      sparse_values: [n], or a scalar for all indices.
      default_value: scalar value of the other elements.
      validate_indices: fail for unsorted or repeated indices.
    """
    return op(
        "SparseToDense",
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


def to_dense(
    sp_input: SparseLike,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Converts a SparseTensor to a dense tensor; missing entries are default_value.

    Args:
      sp_input: SparseTensor.
      default_value: scalar; 0, "" or False by default.
      validate_indices: fail for unsorted or repeated indices.
    """
    x = as_sparse(sp_input)
    if default_value is None:
        default_value = "" if x.dtype.base_dtype.name == "string" else 0
        if x.dtype.base_dtype.name == "bool":
            default_value = False
    result = op(
        "SparseToDense",
        x.indices,
        x.dense_shape,
        x.values,
        convert_to_tensor(default_value, dtype=x.dtype.base_dtype),
        validate_indices=validate_indices,
        name=name,
    )
    result.set_shape(x.get_shape())
    return result


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Converts a dense tensor to a SparseTensor of its nonzero elements."""
    with name_scope(name or "dense_to_sparse"):
        x = convert_to_tensor(tensor)
        indices = op("Where", op("NotEqual", x, op("ZerosLike", x)))
        values = op("GatherNd", x, indices)
        return SparseTensor(indices, values, op("Shape", x, out_type="int64"))


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> SparseTensor:
    """Creates a sparse identity matrix."""
    with name_scope(name or "eye"):
        rows = convert_to_tensor(num_rows, dtype="int64", name="num_rows")
        columns = (
            rows
            if num_columns is None
            else convert_to_tensor(num_columns, dtype="int64", name="num_columns")
        )
        count = op("Minimum", rows, columns)
        zero, one = (convert_to_tensor(n, dtype="int64") for n in (0, 1))
        diagonal = op("Range", zero, count, one)
        values = op("Fill", op("ExpandDims", count, 0), op("Cast", 1, DstT=as_dtype(dtype)))
        return SparseTensor(op("Pack", [diagonal, diagonal], axis=1), values,
                            op("Pack", [rows, columns]))  # fmt: skip


def mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Removes the slices with given indices from IndexedSlices."""
    with name_scope(name or "sparse_mask"):
        kept, places = op("ListDiff", a.indices, mask_indices)
        return IndexedSlices(op("GatherV2", a.values, places, 0), kept, a.dense_shape)


# ---- element-wise --------------------------------------------------------------------------


def add(
    a: TensorLike | SparseLike,
    b: TensorLike | SparseLike,
    threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
) -> Any:
    """Computes a + b for at least one sparse operand.

    Args:
      a, b: SparseTensor or Tensor of one dtype.
      threshold: entries of a sparse sum below it are removed; 0 by default; thresh: its old name.
    Returns: SparseTensor for two sparse operands, Tensor otherwise.
    Raises: TypeError if neither is sparse.
    """
    sparse = (SparseTensor, SparseTensorValue)
    if not isinstance(a, sparse) and not isinstance(b, sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use hr.add()?")
    if isinstance(a, sparse) and isinstance(b, sparse):
        a, b = as_sparse(a), as_sparse(b)
        limit = threshold if thresh is None else thresh
        kind = {"complex64": "float32", "complex128": "float64"}.get(
            a.dtype.base_dtype.name, a.dtype.base_dtype.name
        )
        limit = convert_to_tensor(0 if limit is None else limit, dtype=kind, name="thresh")
        count_nodes(known_rank(a) is not None)
        return sparse_of(op("SparseAdd", *triplet(a), *triplet(b), limit), known_rank(a))
    if isinstance(b, sparse):
        a, b = b, a
    return op("SparseTensorDenseAdd", *triplet(as_sparse(a)), b)


def maximum(sp_a: SparseLike, sp_b: SparseLike, name: str | None = None) -> SparseTensor:
    """Computes the element-wise maximum of sparse tensors; missing entries are 0."""
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    indices, values = op("SparseSparseMaximum", *triplet(a), *triplet(b), name=name)
    return SparseTensor(indices, values, a.dense_shape)


def minimum(sp_a: SparseLike, sp_b: SparseLike, name: str | None = None) -> SparseTensor:
    """Computes the element-wise minimum of sparse tensors; missing entries are 0."""
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    indices, values = op("SparseSparseMinimum", *triplet(a), *triplet(b), name=name)
    return SparseTensor(indices, values, a.dense_shape)


def softmax(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """Computes the softmax of the entries of each row; missing entries stay missing."""
    x = as_sparse(sp_input)
    values = op("SparseSoftmax", *triplet(x), name=name)
    return SparseTensor(x.indices, values, x.dense_shape)


# ---- products ------------------------------------------------------------------------------


def sparse_dense_matmul(
    sp_a: SparseLike,
    b: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies a sparse and a dense matrix, in either order.

    Args:
      sp_a: [n, k] SparseTensor, fastest in row-major order.
      b: [k, m].
      adjoint_a, adjoint_b: use the conjugate transpose.
    Returns: [n, m] Tensor.
    """
    sparse = (SparseTensor, SparseTensorValue)
    with name_scope(name or "SparseTensorDenseMatMul"):
        if isinstance(b, sparse) and not isinstance(sp_a, sparse):
            # (a b) = (b' a')'
            result = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
            turned = op("Transpose", result, [1, 0])
            return op("Conj", turned) if result.dtype.is_complex else turned
        a = as_sparse(sp_a)
        return op(
            "SparseTensorDenseMatMul", *triplet(a), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )


def sparse_matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies dense matrices, optimised for many zeros."""
    return op(
        "SparseMatMul",
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        name=name,
    )


# ---- reductions ----------------------------------------------------------------------------


def _reduction(kind: str, summary: str, sparse: bool) -> SparseReduction:
    def function(
        sp_input: SparseLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        reduction_axes: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        x = as_sparse(sp_input)
        axis = reduction_axes if axis is None else axis
        keep = bool(keep_dims if keepdims is None else keepdims)
        if axis is None:
            axes: Any = op("Range", 0, op("Size", x.dense_shape), 1)
        else:
            axes = convert_to_tensor(axis, dtype="int32", name="reduction_axes")
        result = op(
            f"SparseReduce{kind}{'Sparse' if sparse else ''}", *triplet(x), axes, keep_dims=keep
        )
        if sparse:
            return sparse_of(result, known_rank(x) if keep else None)
        _set_reduced(result, x, axes, keep)
        return result

    function.__name__ = function.__qualname__ = (
        f"reduce_{kind.lower()}{'_sparse' if sparse else ''}"
    )
    function.__doc__ = f"""{summary} of the entries along axes.

    Args:
      sp_input: SparseTensor.
      axis: int or list of ints; None: all.
      keepdims: keep the reduced dimensions, with size 1.
    Returns: {"SparseTensor" if sparse else "Tensor, 0 where there are no entries"}.
    """
    return function


def _set_reduced(result: Tensor, x: SparseTensor, axes: Tensor, keep: bool) -> None:
    """Sets the static shape of a reduction, if shape and axes are known."""
    dims, places = x.get_shape(), constant_value(axes)
    if dims.ndims is None:
        return
    if places is None:
        result.set_shape([1] * dims.ndims if keep else [])
        return
    reduced = {int(a) % max(dims.ndims, 1) for a in places.reshape(-1)}
    left = [
        1 if i in reduced else d for i, d in enumerate(dims.as_list()) if keep or i not in reduced
    ]
    result.set_shape(left)


reduce_sum = _reduction("Sum", "The sum", False)
reduce_max = _reduction("Max", "The greatest", False)
reduce_sum_sparse = _reduction("Sum", "The sum", True)
reduce_max_sparse = _reduction("Max", "The greatest", True)

# ---- crosses and edit distance -------------------------------------------------------------

_HASH_KEY = 0xDECAFCAFFE  # TensorFlow's default: equal hashes in all programs


def cross(inputs: Sequence[TensorLike | SparseLike], name: str | None = None) -> SparseTensor:
    """Creates crossed features: for each row all combinations of the inputs, joined by "_X_".

    Args:
      inputs: list of SparseTensors and Tensors [batch, ?] of strings or integers.
    Raises: TypeError if inputs is not a list.
    """
    return _cross(inputs, False, 0, None, name)


def cross_hashed(
    inputs: Sequence[TensorLike | SparseLike],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Same as cross, hashed to integers below num_buckets; 0 does not limit them."""
    return _cross(inputs, True, num_buckets, hash_key, name)


def _cross(
    inputs: Any, hashed: bool, num_buckets: int, hash_key: int | None, name: str | None
) -> SparseTensor:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Inputs must be a list, got {inputs!r}")
    kept = [as_sparse(x) if isinstance(x, SparseTensorValue) else x for x in inputs]
    sparse = [x for x in kept if isinstance(x, SparseTensor)]
    dense = [convert_to_tensor(x) for x in kept if not isinstance(x, SparseTensor)]
    every = [*[x.dtype.base_dtype for x in sparse], *[x.dtype.base_dtype for x in dense]]
    internal = "string" if any(t.name == "string" for t in every) else "int64"

    def text_or_int64(x: Tensor) -> Tensor:
        return x if x.dtype.base_dtype.name == "string" else op("Cast", x, DstT="int64")

    result = op(
        "SparseCross",
        [x.indices for x in sparse],
        [text_or_int64(x.values) for x in sparse],
        [x.dense_shape for x in sparse],
        [text_or_int64(x) for x in dense],
        hashed_output=hashed,
        num_buckets=num_buckets,
        hash_key=_HASH_KEY if hash_key is None else hash_key,
        out_type=as_dtype("int64" if hashed else "string"),
        internal_type=as_dtype(internal),
        name=name,
    )
    return sparse_of(result, 2)


def edit_distance(
    hypothesis: SparseLike, truth: SparseLike, normalize: bool = True, name: str = "edit_distance"
) -> Tensor:
    """Computes the Levenshtein distance of the sequences in the last dimension.

    Args:
      hypothesis, truth: SparseTensors [..., length] of one dtype.
      normalize: divide by the length of truth.
    Returns: [...] float32.
    """
    one, other = as_sparse(hypothesis), as_sparse(truth)
    result = op("EditDistance", *triplet(one), *triplet(other), normalize=normalize, name=name)
    sizes, others = one.get_shape(), other.get_shape()
    if sizes.is_fully_defined() and others.is_fully_defined():
        pairs = zip(sizes.as_list()[:-1], others.as_list()[:-1])
        result.set_shape([max(int(a or 0), int(b or 0)) for a, b in pairs])
    return result
