"""Ops on variables: assignment, scatter updates, initialisation tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.tensor_shape import as_dims
from headrace.graph.typing.aliases import DTypeLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import VariableScatter


def variable_op_v2(
    shape: TensorLike,
    dtype: DTypeLike,
    name: str = "Variable",
    container: str = "",
    shared_name: str = "",
) -> Tensor:
    """Creates a reference to the storage of a new variable."""
    return op(
        "VariableV2",
        shape=as_dims(shape),
        dtype=as_dtype(dtype),
        name=name,
        container=container,
        shared_name=shared_name,
    )


def _is_resource(ref: Any) -> bool:
    return hasattr(ref, "handle")


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Assigns a value to a variable.

    Args:
      ref: variable or reference.
      value: tensor of its dtype and, if validate_shape is true, its shape.
      use_locking: ignored; updates are always atomic.
    Returns: the new value.
    """
    if _is_resource(ref):
        return ref.assign(value, name=name)
    return op(
        "Assign",
        ref,
        value,
        validate_shape=True if validate_shape is None else validate_shape,
        use_locking=True if use_locking is None else use_locking,
        name=name,
    )


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Adds a value to a variable; returns the new value."""
    if _is_resource(ref):
        return ref.assign_add(value, name=name)
    return op("AssignAdd", ref, value, use_locking=bool(use_locking), name=name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Subtracts a value from a variable; returns the new value."""
    if _is_resource(ref):
        return ref.assign_sub(value, name=name)
    return op("AssignSub", ref, value, use_locking=bool(use_locking), name=name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Increments a scalar variable, and returns its old value.

    Raises: in a run OutOfRangeError if the variable has reached the limit.
    """
    if _is_resource(ref):
        return op("ResourceCountUpTo", ref.handle, limit=limit, T=ref.dtype, name=name)
    return op("CountUpTo", ref, limit=limit, name=name)


def is_variable_initialized(ref: Any, name: str | None = None) -> Tensor:
    """Returns whether a variable is initialised, [] bool."""
    if _is_resource(ref):
        return ref.is_initialized(name=name)
    return op("IsVariableInitialized", ref, name=name)


def _scatter(kind: str, default_locking: bool, what: str) -> VariableScatter:
    def function(
        ref: Any,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = default_locking,
        name: str | None = None,
    ) -> Tensor:
        if not _is_resource(ref):
            return op(f"Scatter{kind}", ref, indices, updates, use_locking=use_locking, name=name)
        values = convert_to_tensor(updates, ref.dtype)
        update = op(
            f"ResourceScatter{kind}", ref.handle, indices, values, dtype=ref.dtype, name=name
        )
        return ref._value_after(update)

    function.__name__ = function.__qualname__ = f"scatter_{kind.lower()}"
    function.__doc__ = f"""{what} the rows of a variable that indices name; returns its new value.

    Args:
      ref: a variable, or a reference: [n, ...].
      indices: [...] int32 or int64, below n.
      updates: indices' shape, then the variable's without its first axis; or a scalar.
    """
    return function


scatter_update = _scatter("Update", True, "Sets")
scatter_add = _scatter("Add", False, "Adds to")
scatter_sub = _scatter("Sub", False, "Subtracts from")
scatter_mul = _scatter("Mul", False, "Multiplies")
scatter_div = _scatter("Div", False, "Divides")
scatter_min = _scatter("Min", False, "Takes the minimum with")
scatter_max = _scatter("Max", False, "Takes the maximum with")


def _scatter_nd(kind: str, default_locking: bool, what: str) -> VariableScatter:
    def function(
        ref: Any,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = default_locking,
        name: str | None = None,
    ) -> Tensor:
        if not _is_resource(ref):
            return op(f"ScatterNd{kind}", ref, indices, updates, use_locking=use_locking, name=name)
        values = convert_to_tensor(updates, ref.dtype)
        update = op(
            f"ResourceScatterNd{kind}",
            ref.handle,
            indices,
            values,
            use_locking=use_locking,
            name=name,
        )
        return ref._value_after(update)

    function.__name__ = function.__qualname__ = f"scatter_nd_{kind.lower()}"
    function.__doc__ = f"""{what} the slices of a variable that index vectors name.

    Args:
      ref: a variable, or a reference.
      indices: [..., k] int32 or int64: k leading coordinates of each slice.
      updates: indices' shape without its last axis, then the slice's.
    Returns: its new value.
    """
    return function


scatter_nd_update = _scatter_nd("Update", True, "Sets")
scatter_nd_add = _scatter_nd("Add", False, "Adds to")
scatter_nd_sub = _scatter_nd("Sub", False, "Subtracts from")


def init_variable(v: Any, init: TensorLike, name: str = "init") -> Operation:
    """Creates an operation that initialises a variable by a function or value."""
    with (
        get_default_graph().name_scope(f"{v.op.name}/{name}/"),
        get_default_graph().colocate_with(v.op),
    ):
        if callable(init):
            return assign(v, init(v.get_shape().as_list(), v.dtype.base_dtype)).op
        return assign(v, convert_to_tensor(init, name="init")).op


# ---- gradients -----------------------------------------------------------------------------------


@gradient("ReadVariableOp")
def _read_gradient(operation: Operation, grad: Any) -> Any:
    return grad


for _op_type in (
    "Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp",
    "AssignSubVariableOp", "ConsumeMutexLock", "CountUpTo", "DestroyResourceOp",
    "DestroyTemporaryVariable", "DisableCopyOnRead", "IsVariableInitialized", "MutexLock",
    "MutexV2", "RefSelect", "ResourceCountUpTo", "TemporaryVariable", "VarHandleOp",
    "VarIsInitializedOp", "VariableV2", "Variable",
    "VariableShape",
):  # fmt: skip
    no_gradient(_op_type, "it reads or changes state, not a value")
