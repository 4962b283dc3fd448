"""Matrix products and batch matrix products."""

from __future__ import annotations

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.elementwise.elementwise import conj
from headrace.graph.ops.matmul.einsum import einsum  # noqa: F401 - of this family, and hr.einsum
from headrace.graph.typing.aliases import TensorLike


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the matrix product a @ b of the last two dimensions.

    Args:
      a: [..., n, k], or [..., k, n] with transpose_a or adjoint_a.
      b: [..., k, m], or [..., m, k] with transpose_b or adjoint_b.
      transpose_a, transpose_b: transpose the matrices first.
      adjoint_a, adjoint_b: transpose and conjugate the matrices first.
      a_is_sparse, b_is_sparse: ignored hints.
    Returns: [..., n, m].
    Raises: ValueError if the inner sizes differ, or transpose and adjoint of one matrix are true.
    """
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("matmul: give transpose or adjoint of one matrix, not both")
    a = convert_to_tensor(a, name="a")
    if not isinstance(b, Tensor):
        b = convert_to_tensor(b, name="b", dtype=a.dtype.base_dtype)
    rank_a, rank_b = a.get_shape().ndims, b.get_shape().ndims
    if (
        (rank_a is None or rank_a > 2)
        and (rank_b is None or rank_b > 2)
        or (rank_a is not None and rank_a > 2)
        or (rank_b is not None and rank_b > 2)
    ):
        a, adjoint_a = (conj(a), True) if transpose_a else (a, adjoint_a)
        b, adjoint_b = (conj(b), True) if transpose_b else (b, adjoint_b)
        return op("BatchMatMulV2", a, b, adj_x=adjoint_a, adj_y=adjoint_b, name=name or "MatMul")
    a, transpose_a = (conj(a), True) if adjoint_a else (a, transpose_a)
    b, transpose_b = (conj(b), True) if adjoint_b else (b, transpose_b)
    return op("MatMul", a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)


def batch_matmul(
    x: TensorLike, y: TensorLike, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Tensor:
    """Computes matrix products of the last two dimensions; the batch dimensions must be equal."""
    return op("BatchMatMul", x, y, adj_x=adj_x, adj_y=adj_y, name=name)


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrices by vectors.

    Args:
      a: [..., n, k].
      b: [..., k].
      the others: as in matmul.
    Returns: [..., n].
    """
    with name_scope(name or "MatVec"):
        product = matmul(
            a,
            op("ExpandDims", b, -1),
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return op("Squeeze", product, squeeze_dims=[-1])


# ---- gradients -----------------------------------------------------------------------------


@gradient("MatMul")
def _matmul_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    a, b = conj(node.inputs[0]), conj(node.inputs[1])

    def product(x: Tensor, y: Tensor, turn_x: bool, turn_y: bool) -> Tensor:
        return op("MatMul", x, y, transpose_a=turn_x, transpose_b=turn_y)

    turned = (bool(node.get_attr("transpose_a")), bool(node.get_attr("transpose_b")))
    if turned == (False, False):
        return [product(grad, b, False, True), product(a, grad, True, False)]
    if turned == (False, True):
        return [product(grad, b, False, False), product(grad, a, True, False)]
    if turned == (True, False):
        return [product(b, grad, False, True), product(a, grad, False, False)]
    return [product(b, grad, True, True), product(grad, a, True, True)]


def _batch_gradients(node: Operation, grad: Tensor) -> list[Tensor]:
    x, y = node.inputs
    adjoint = (bool(node.get_attr("adj_x")), bool(node.get_attr("adj_y")))

    def product(a: Tensor, b: Tensor, adj_a: bool, adj_b: bool) -> Tensor:
        return op("BatchMatMulV2", a, b, adj_x=adj_a, adj_y=adj_b)

    if adjoint == (False, False):
        return [product(grad, y, False, True), product(x, grad, True, False)]
    if adjoint == (False, True):
        return [product(grad, y, False, False), product(grad, x, True, False)]
    if adjoint == (True, False):
        return [product(y, grad, False, True), product(x, grad, False, False)]
    return [product(y, grad, True, True), product(grad, x, True, True)]


@gradient("BatchMatMul")
def _batch_matmul_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    return _batch_gradients(node, grad)


def _batch_matmul_v2_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    """Same as the gradient of BatchMatMul, summed over broadcast batch dimensions."""
    result = _batch_gradients(node, grad)
    x, y = node.inputs
    dims_x, dims_y = x._shape, y._shape  # noqa: SLF001
    if (
        dims_x is not None
        and dims_y is not None
        and dims_x[:-2] == dims_y[:-2]
        and None not in dims_x[:-2]
    ):
        return result
    shapes = [op("Shape", x), op("Shape", y)]
    batches = [op("StridedSlice", s, [0], [-2], [1], begin_mask=1) for s in shapes]
    axes = op("BroadcastGradientArgs", batches[0], batches[1])
    return [op("Reshape", op("Sum", g, axes[i]), shapes[i]) for i, g in enumerate(result)]


gradient("BatchMatMulV2")(_batch_matmul_v2_gradient)
gradient("BatchMatMulV3")(_batch_matmul_v2_gradient)


@gradient("SparseMatMul")
def _sparse_matmul_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    a, b = node.inputs
    turn_a, turn_b = bool(node.get_attr("transpose_a")), bool(node.get_attr("transpose_b"))

    def product(x: Tensor, y: Tensor, turn_x: bool, turn_y: bool, like: Tensor) -> Tensor:
        result = op("SparseMatMul", x, y, transpose_a=turn_x, transpose_b=turn_y)
        return (
            op("Cast", result, DstT=like.dtype.base_dtype)
            if (like.dtype.base_dtype is not result.dtype.base_dtype)
            else result
        )

    first = product(b, grad, turn_b, True, a) if turn_a else product(grad, b, False, not turn_b, a)
    second = product(grad, a, True, turn_a, b) if turn_b else product(a, grad, not turn_a, False, b)
    return [first, second]


no_gradient("_FusedMatMul", "graph passes create it after differentiation")
