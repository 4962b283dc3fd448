"""Assertions on values, ranks, shapes and dtypes of tensors.

Violations that are known statically raise at graph construction; otherwise an Assert node checks at
run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.assertion import Assert
from headrace.graph.control_flow.control_flow_ops import no_op, with_dependencies
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.shapes import shape as shape_of
from headrace.graph.ops.reduction import reduce_all
from headrace.graph.typing.aliases import DTypeLike, SparseLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import Comparison, SignCheck

_OK = "static_checks_determined_all_ok"

# ---- values --------------------------------------------------------------------------------


def _raise_if_false(static: Any, data: list[Any]) -> None:
    """Raises InvalidArgumentError if a condition is statically false."""
    if static is None or np.all(static):
        return
    shown = [str(constant_value(d)) if isinstance(d, Tensor) else str(d) for d in data]
    raise InvalidArgumentError(None, None, "\n".join(shown))


def _compare(
    name: str,
    summary: str,
    function: Callable[[Any, Any], Any],
    op_type: str,
    x: Any,
    y: Any,
    data: Any,
    summarize: int | None,
    message: str | None,
    scope: str | None,
) -> Operation:
    with name_scope(scope or name):
        if x is y and op_type == "Equal":
            return no_op()
        x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
        if data is None:
            data = [
                f"Condition x {summary} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        if message is not None:
            data = [message, *data]
        condition = reduce_all(op(op_type, x, y))
        one, other = constant_value(x), constant_value(y)
        if one is not None and other is not None:
            _raise_if_false(function(one, other), data)
        return Assert(condition, data, summarize=summarize)


def _comparison(
    name: str, summary: str, function: Callable[[Any, Any], Any], op_type: str
) -> Comparison:
    def check(
        x: TensorLike,
        y: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        return _compare(
            check.__name__, summary, function, op_type, x, y, data, summarize, message, name
        )

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""An operation that fails unless x {summary} y for all elements.

    Args:
      x, y: of one dtype, broadcasting.
      data: list of what an error shows; x and y where None.
      summarize: how many elements of each it shows.
      message: what it begins with.
    Raises: InvalidArgumentError at once, where both values are known.
    """
    return check


assert_equal = _comparison("assert_equal", "==", np.equal, "Equal")
assert_none_equal = _comparison("assert_none_equal", "!=", np.not_equal, "NotEqual")
assert_less = _comparison("assert_less", "<", np.less, "Less")
assert_less_equal = _comparison("assert_less_equal", "<=", np.less_equal, "LessEqual")
assert_greater = _comparison("assert_greater", ">", np.greater, "Greater")
assert_greater_equal = _comparison("assert_greater_equal", ">=", np.greater_equal, "GreaterEqual")


def _sign(name_of_check: str, summary: str, check: Any, zero_first: bool) -> SignCheck:
    def function(
        x: TensorLike,
        data: Sequence[TensorLike] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name or function.__name__):
            x = convert_to_tensor(x, name="x")
            if data is None:
                text, shown = (
                    f"Condition x {summary} 0 did not hold element-wise:",
                    f"x ({x.name}) = ",
                )
                # TensorFlow 1.15 joins two texts here, which makes a node less.
                texts = [text + shown] if name_of_check == "assert_non_positive" else [text, shown]
                data = [message or "", *texts, x]
            zero = convert_to_tensor(0, dtype=x.dtype.base_dtype)
            pair = (zero, x) if zero_first else (x, zero)
            return check(*pair, data=data, summarize=summarize)

    function.__name__ = function.__qualname__ = name_of_check
    function.__doc__ = f"An operation that fails unless x {summary} 0 for all elements."
    return function


assert_negative = _sign("assert_negative", "<", assert_less, False)
assert_positive = _sign("assert_positive", ">", assert_less, True)
assert_non_negative = _sign("assert_non_negative", ">=", assert_less_equal, True)
assert_non_positive = _sign("assert_non_positive", "<=", assert_less_equal, False)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Creates an operation that fails unless |x - y| <= atol + rtol |y| for all elements.

    Args:
      x, y: numeric tensors with broadcastable shapes.
      rtol, atol: tolerances; by default ten times the epsilon of the dtype of x.
      data, summarize: as in Assert.
      message: prefix of the error message.
    Raises: InvalidArgumentError if the values are static and differ.
    """
    with name_scope(name or "assert_near"):
        left = convert_to_tensor(x, name="x")
        dtype = left.dtype.base_dtype
        right = convert_to_tensor(y, name="y", dtype=dtype)
        bound = 10 * float(np.finfo(dtype.real_dtype.as_numpy_dtype).eps)
        kind = dtype.real_dtype
        relative = convert_to_tensor(bound if rtol is None else rtol, dtype=kind, name="rtol")
        absolute = convert_to_tensor(bound if atol is None else atol, dtype=kind, name="atol")
        if data is None:
            data = [
                message or "",
                f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                f"x ({left.name}) = ",
                left,
                f"y ({right.name}) = ",
                right,
            ]
        size = "ComplexAbs" if dtype.is_complex else "Abs"
        attrs: dict[str, Any] = {"Tout": kind} if dtype.is_complex else {}
        distance = op(size, left - right, **attrs)
        limit = absolute + relative * op(size, right, **attrs)
        return Assert(reduce_all(op("LessEqual", distance, limit)), data, summarize=summarize)


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether the elements are non-decreasing, in row-major order.

    Raises: TypeError if x is not numeric.
    """
    with name_scope(name or "is_non_decreasing"):
        steps = _steps(x)
        return reduce_all(op("LessEqual", op("ZerosLike", steps), steps))


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether the elements are strictly increasing, in row-major order.

    Raises: TypeError if x is not numeric.
    """
    with name_scope(name or "is_strictly_increasing"):
        steps = _steps(x)
        return reduce_all(op("Less", op("ZerosLike", steps), steps))


def _steps(x: Any) -> Tensor:
    """Returns the differences of adjacent elements; empty for fewer than two elements."""
    x = convert_to_tensor(x, name="x")
    if not is_numeric_tensor(x):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    count_nodes(15)  # TensorFlow 1.15 has a conditional for fewer than two elements
    flat = op("Reshape", x, [-1])
    count = op("Maximum", op("ExpandDims", op("Size", flat) - 1, 0), 0)
    after = op("Slice", flat, op("Minimum", op("Shape", flat), [1]), count)
    return after - op("Slice", flat, [0], count)


# ---- ranks and shapes ----------------------------------------------------------------------


def _rank_check(
    name: str,
    x: Any,
    ranks: list[Any],
    fits: Callable[[int, int], bool],
    op_type: str,
    must: str,
    data: Any,
    summarize: int | None,
    message: str | None,
    scope: str | None,
) -> Operation:
    with name_scope(scope or name):
        if not isinstance(x, SparseTensor):
            x = convert_to_tensor(x, name="x")
        message = message or ""
        known = [_static_rank(r) for r in ranks]
        wanted = [convert_to_tensor(r, name="rank") for r in ranks]
        if data is None:
            shape = x.dense_shape if isinstance(x, SparseTensor) else shape_of(x)
            data = [message, f"Tensor {x.name} must have rank {must}", *wanted,
                    "Received shape: ", shape]  # fmt: skip
        for want in wanted:
            assert_type(want, "int32")
        have = x.get_shape().ndims
        if have is not None and None not in known:
            if not any(fits(have, int(want)) for want in known if want is not None):
                shown = ", ".join(str(k) for k in known)
                raise ValueError(
                    f"{message}.  Tensor {x.name} must have rank {must}{shown}.  Received rank "
                    f"{have}, shape {x.get_shape()}"
                )
            return no_op(name=_OK)
        rank = op("Size", x.dense_shape) if isinstance(x, SparseTensor) else op("Rank", x)
        holds = op(op_type, rank, wanted[0])
        for want in wanted[1:]:
            holds = op("LogicalOr", holds, op(op_type, rank, want))
        for want, size in zip(wanted, known, strict=True):
            if size is None:
                text = "Rank must be a scalar. Received rank: "
                holds = with_dependencies([assert_rank(want, 0, data=[text, want])], holds)
        return Assert(holds, data, summarize=summarize)


def _static_rank(rank: Any) -> int | None:
    value = constant_value(rank) if isinstance(rank, Tensor) else rank
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"rank must be an integer, got {value!r}")
    if array.ndim:
        raise ValueError(f"Rank must be a scalar, got {value!r}")
    return int(array)


def assert_rank(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Creates an operation that fails unless x has the given rank.

    Raises: ValueError if the static rank differs, or `rank` is not an integer scalar.
    """
    return _rank_check(
        "assert_rank", x, [rank], int.__eq__, "Equal", "", data, summarize, message, name
    )


def assert_rank_at_least(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Creates an operation that fails unless x has at least the given rank.

    Raises: as assert_rank.
    """
    return _rank_check(
        "assert_rank_at_least", x, [rank], int.__ge__, "GreaterEqual", "at least ", data,
        summarize, message, name,
    )  # fmt: skip


def assert_rank_in(
    x: TensorLike,
    ranks: Sequence[TensorLike],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Creates an operation that fails unless x has one of the given ranks.

    Raises: as assert_rank.
    """
    return _rank_check(
        "assert_rank_in", x, list(ranks), int.__eq__, "Equal", "in ", data, summarize, message, name
    )


def assert_scalar(
    tensor: TensorLike | SparseLike, name: str | None = None, message: str | None = None
) -> Tensor:
    """Returns a scalar tensor. Raises: ValueError if its static rank is not 0 or is unknown."""
    with name_scope(name or "assert_scalar"):
        tensor = convert_to_tensor(tensor)
        shape = tensor.get_shape()
        if shape.ndims != 0:
            begin = f"{message or ''} " if message else ""
            raise ValueError(f"{begin}Expected scalar shape for {tensor.name}, saw shape: {shape}.")
        return tensor


def assert_shapes(
    shapes: Any,
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Creates an operation that checks the shapes of tensors, with named sizes.

    Args:
      shapes: dict, or list of pairs, from tensors to required sizes: an int, a name for a size that
        must be equal in all tensors, None or "." for any size; "*" or ... at the start or end for
        any number of dimensions.
      data, summarize: as in Assert.
      message: prefix of the error message.
    Raises: ValueError if the static shapes violate the requirements.
    """
    pairs = list(shapes.items()) if hasattr(shapes, "items") else list(shapes)
    with name_scope(name or "assert_shapes"):
        named: dict[str, tuple[int | None, Tensor, str]] = {}
        checks: list[Any] = []
        for tensor, requested in pairs:
            tensor = convert_to_tensor(tensor)
            checks += _check_sizes(tensor, requested, named, data, summarize, message)
        from headrace.graph.control_flow.control_flow_ops import group

        return group(*checks) if checks else no_op(name=_OK)


def _check_sizes(
    tensor: Tensor,
    requested: Any,
    named: dict[str, tuple[int | None, Tensor, str]],
    data: Any,
    summarize: int | None,
    message: str | None,
) -> list[Any]:
    sizes = list(requested) if isinstance(requested, (list, tuple)) else [requested]
    begin = f"{message}.  " if message else ""
    checks: list[Any] = []
    front = bool(sizes) and sizes[0] in ("*", ...)
    back = not front and bool(sizes) and sizes[-1] in ("*", ...)
    sizes = sizes[1:] if front else sizes[:-1] if back else sizes
    rank_check = assert_rank_at_least if front or back else assert_rank
    checks.append(rank_check(tensor, len(sizes), data=data, summarize=summarize, message=message))
    dims = tensor.get_shape().as_list() if tensor.get_shape().ndims is not None else None
    for place, size in enumerate(sizes):
        axis = place - len(sizes) if front else place
        if size in (None, "."):
            continue
        have = None if dims is None else dims[axis]
        shape = op("Shape", tensor)
        value = op("GatherV2", shape, axis % len(dims) if dims else
                   (op("Size", shape) + axis if axis < 0 else axis), 0)  # fmt: skip
        where = f"Tensor {tensor.name} dimension {axis}"
        if isinstance(size, str):
            if size not in named:
                named[size] = (have, value, where)
                continue
            known, other, there = named[size]
        else:
            known, other, there = int(size), convert_to_tensor(int(size), dtype="int32"), "given"
        if known is not None and have is not None:
            if known != have:
                raise ValueError(
                    f"{begin}{where} must have size {known} ({size}: {there}).  Received size "
                    f"{have}, shape {tensor.get_shape()}"
                )
            continue
        parts = data or [message or "", f"{where} must have size", other, "Received shape: ", shape]
        checks.append(Assert(op("Equal", value, other), parts, summarize=summarize))
    return checks


# ---- dtypes --------------------------------------------------------------------------------


def assert_type(
    tensor: TensorLike | SparseLike,
    tf_type: DTypeLike,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Checks the dtype of a tensor. Raises: TypeError for another dtype."""
    requested = as_dtype(tf_type)
    with name_scope(name or "assert_type"):
        if not isinstance(tensor, SparseTensor):
            tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype != requested:
            raise TypeError(
                f"{message or ''}{tensor.name} must be of type {requested.name}, "
                f"is {tensor.dtype.name}"
            )
        return no_op(name="statically_determined_correct_type")


def assert_integer(
    x: TensorLike | SparseLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Checks that a tensor has an integer dtype. Raises: TypeError for another dtype."""
    with name_scope(name or "assert_integer"):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}Expected "x" to be integer type.  Found: {x.dtype.name}'
            )
        return no_op(name="statically_determined_was_integer")


def is_numeric_tensor(tensor: TensorLike | SparseLike) -> bool:
    """Returns whether an object is a Tensor of a numeric dtype."""
    if not isinstance(tensor, Tensor):
        return False
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_quantized


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """Returns the floating-point dtype that tensors have in common; float32 without tensors.

    Raises: ValueError for different dtypes or another kind of dtype.
    """
    requested = None if dtype is None else as_dtype(dtype)
    for tensor in tensors or ():
        if tensor is None:
            continue
        own = tensor.dtype.base_dtype
        if requested is None:
            requested = own
        elif own != requested:
            raise ValueError(f"Expected {tensor} to be of type {requested.name}, is {own.name}")
    if requested is None:
        return as_dtype("float32")
    if not requested.is_floating:
        raise ValueError(f"Expected floating point type, got {requested.name}.")
    return requested


def assert_proper_iterable(values: Iterable[Any]) -> None:
    """Checks that values is an iterable other than a tensor, array or string.

    Raises: TypeError otherwise.
    """
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, bytes, str)):
        raise TypeError(f"Expected argument 'values' to be a 'proper' iterable.  Found: {values!r}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {values!r}")
