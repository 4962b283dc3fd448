"""Ordering of operations (no_op, group, tuple), and the primitives Switch, Merge and Exit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import (
    IndexedSlices,
    SparseTensor,
    convert_to_tensor_or_indexed_slices,
)
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import gradient_not_implemented, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import DTypeLike, GraphElement, TensorLike

# ---- ordering ------------------------------------------------------------------------------


def no_op(name: str | None = None) -> Operation:
    """Creates an operation that does nothing, as a target for control inputs."""
    return op("NoOp", name=name)


def identity(input: TensorLike, name: str | None = None) -> Any:  # noqa: A002 - TF's name
    """Returns a tensor, SparseTensor or IndexedSlices with the same value."""
    if isinstance(input, SparseTensor):
        return SparseTensor(
            identity(input.indices, name=name), identity(input.values), identity(input.dense_shape)
        )
    if isinstance(input, IndexedSlices):
        shape = input.dense_shape
        return IndexedSlices(
            identity(input.values, name=name),
            identity(input.indices),
            None if shape is None else identity(shape),
        )
    return op("Identity", input, name=name)


def identity_n(input: TensorLike, name: str | None = None) -> list[Tensor]:  # noqa: A002 - TF's name
    """Returns tensors with the same values, available when all inputs are."""
    return op("IdentityN", input, name=name)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """Returns a tensor with the same value, available after the dependencies have run."""
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope:
        with get_default_graph().colocate_with(output_tensor):
            with get_default_graph().control_dependencies(dependencies):
                value = convert_to_tensor_or_indexed_slices(output_tensor)
                if isinstance(value, Tensor):
                    return ref_identity(value, scope)
                return IndexedSlices(
                    ref_identity(value.values, scope), value.indices, value.dense_shape
                )


def ref_identity(data: Tensor, name: str | None = None) -> Tensor:
    return op("RefIdentity" if data.dtype.is_ref_dtype else "Identity", data, name=name)


def group(*inputs: GraphElement | IndexedSlices, **kwargs: Any) -> Operation:
    """Creates an operation that finishes after all inputs.

    Args:
      inputs: operations, tensors, variables, or lists of these.
      name: name of the operation.
    Raises: TypeError for other inputs; ValueError for other keywords.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    graph = get_default_graph()
    flat = nest.flatten(list(inputs))
    with name_scope(name, "group_deps", flat) as scope:
        if not flat:
            return no_op(name=scope)
        by_device: dict[str, list[Operation]] = {}
        for item in flat:
            if not hasattr(item, "device") and not hasattr(item, "op"):
                raise TypeError(f"Expected hr.group() expected Tensor objects not None or {item!r}")
            element = item.op if isinstance(item, (IndexedSlices, SparseTensor)) else item
            element = graph.as_graph_element(element)
            operation = element.op if isinstance(element, Tensor) else element
            by_device.setdefault(operation.device, []).append(operation)
        if len(by_device) == 1:
            ((device, deps),) = by_device.items()
            return _group_on(device, deps, scope)
        # One node per device, and one that depends on these.
        parts = [_group_on(device, by_device[device], "NoOp") for device in sorted(by_device)]
        with graph.control_dependencies(parts):
            return no_op(name=scope)


def _group_on(device: str, deps: list[Operation], name: str) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(deps):
        if not device:
            return no_op(name=name)
        with graph.device(device):
            return no_op(name=name)


def tuple(  # noqa: A001 - TF's name
    tensors: Any, name: str | None = None, control_inputs: Sequence[GraphElement] | None = None
) -> list[Any]:
    """Returns the same tensors, each available after all of them and the control inputs.

    Raises: ValueError without tensors; TypeError for control inputs of other types.
    """
    with name_scope(name, "tuple", tensors):
        gating: list[Any] = []
        for t in tensors:
            if t is not None:
                element = t if hasattr(t, "op") or isinstance(t, Operation) else None
                element = convert_to_tensor(t) if element is None else element
                gating.append(element if isinstance(element, Operation) else element.op)
        for c in control_inputs or ():
            if isinstance(c, Tensor):
                c = c.op
            elif not isinstance(c, Operation):
                raise TypeError(f"Control input must be Operation or Tensor: {c}")
            gating.append(c)
        gating = sorted(set(gating), key=lambda o: o._id)
        if not gating:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*gating)
        out: list[Any] = []
        for t in tensors:
            if t is None:
                out.append(None)
            elif isinstance(t, Operation):
                out.append(t)
            else:
                out.append(with_dependencies([gate], t))
        return out


def switch(
    data: Any, pred: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Forwards data to the output selected by pred; the other output is dead.

    Returns: (output_false, output_true)."""
    data = convert_to_tensor_or_indexed_slices(data, dtype)
    pred = convert_to_tensor(pred, name="pred")
    return op("Switch", data, pred, name=name)


def merge(inputs: Any, name: str | None = None) -> Any:
    """Forwards the first available input; returns (output, value_index).

    Raises: ValueError if an input is None.
    """
    if any(i is None for i in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    tensors = [convert_to_tensor(i, as_ref=True) for i in inputs]
    kind = "RefMerge" if all(t.dtype.is_ref_dtype for t in tensors) else "Merge"
    return op(kind, tensors, name=name)


def exit_frame(data: Tensor, name: str | None = None) -> Tensor:
    """Adds an Exit: returns the tensor outside of its loop."""
    return op("RefExit" if data.dtype.is_ref_dtype else "Exit", data, name=name)


# ---- gradients -----------------------------------------------------------------------------------

for _op_type in ("Enter", "Exit", "NextIteration", "RefEnter", "RefExit", "RefNextIteration"):
    gradient_not_implemented(
        _op_type,
        "it belongs to no hr.while_loop: gradients go through the loops that hr.while_loop builds, "
        "or that a MetaGraph describes",
    )
for _op_type in ("LoopCond", "NoOp", "ControlTrigger", "Abort", "ToBool", "FakeParam"):
    no_gradient(_op_type, "it only steers the run")
