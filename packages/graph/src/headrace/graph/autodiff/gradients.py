"""Reverse-mode automatic differentiation: adds gradient nodes to the graph (white paper §4.1)."""

from __future__ import annotations

import collections
import enum
import os
from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import resource
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import gradient_function
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with, name_scope
from headrace.graph.typing.aliases import TensorLike

_SWITCHES = frozenset(("Switch", "RefSwitch"))


class AggregationMethod:
    """How partial gradients of a tensor are summed; all of TF 1.x's methods mean AddN here."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients(enum.Enum):
    """Results of `gradients` for an x that no y depends on."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: TensorLike | IndexedSlices | Sequence[TensorLike | IndexedSlices | None],
    xs: TensorLike | IndexedSlices | Sequence[TensorLike | IndexedSlices | None],
    grad_ys: TensorLike | IndexedSlices | Sequence[TensorLike | IndexedSlices | None] | None = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: TensorLike
    | IndexedSlices
    | Sequence[TensorLike | IndexedSlices | None]
    | None = None,
    unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
) -> list[Any]:
    """Computes the sum of dy/dx over all ys, for each x.

    Args:
      ys: a tensor or a list of them, floating-point or complex.
      xs: a tensor, variable or list of them.
      grad_ys: initial gradients, one per y, of the shape of y; None means ones.
      name: name scope of the new operations.
      colocate_gradients_with_ops: place each gradient on the device of its operation.
      gate_gradients: make the gradients of an operation available only when all are computed.
      aggregation_method: one of AggregationMethod.
      stop_gradients: tensors to treat as constants.
      unconnected_gradients: None or zeros for an x that no y depends on.
    Returns: for each x a Tensor of its shape, IndexedSlices (for instance if x is gathered from),
      or None.
    Raises: LookupError for an operation without a gradient between xs and ys, or one in a
      while_loop; TypeError for a y that is neither floating-point nor complex, or a complex y
      without grad_ys; ValueError for grad_ys of another number or shape.
    Source: white paper §4.1.
    """
    ys, xs = _as_list(ys), _as_list(xs)
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"gradients: {len(ys)} ys need as many grad_ys, got {len(grad_ys)}")
    unconnected = UnconnectedGradients(unconnected_gradients)
    with name_scope(name, "gradients", ys + xs + [g for g in grad_ys if g is not None]):
        y_tensors = [convert_to_tensor_or_indexed_slices(y) for y in ys]
        x_tensors = [_as_source(x) for x in xs]
        stops = {_as_source(t) for t in _as_list(stop_gradients or [])}
        builder = _GradientBuilder(x_tensors, stops, colocate_gradients_with_ops, gate_gradients)
        for y, grad in zip(y_tensors, grad_ys, strict=True):
            builder.start(y, grad)
        builder.run([y.op for y in y_tensors])
        found = [builder.summed(x) for x in x_tensors]
        if unconnected is UnconnectedGradients.ZERO:
            found = [
                op("ZerosLike", x) if grad is None else grad
                for x, grad in zip(x_tensors, found, strict=True)
            ]
    return found


def _gradient_name(node: Operation) -> str:
    """Returns the registered gradient of a node, which Graph.gradient_override_map can change."""
    name = node._attrs.values.get("_gradient_op_type")  # noqa: SLF001
    if name is None:
        return node.type
    name = node.get_attr("_gradient_op_type")
    return name.decode() if isinstance(name, bytes) else name


class _GradientBuilder:
    """Adds the gradient nodes between ys and xs, in reverse topological order."""

    def __init__(
        self, xs: Sequence[Tensor], stops: set[Tensor], colocate: bool, gate: bool
    ) -> None:
        self._xs = set(xs)
        self._stops = stops
        self._colocate = colocate
        self._gate = gate
        self._partials: dict[Tensor, list[Any]] = collections.defaultdict(list)

    def start(self, y: Any, grad: Any) -> None:
        """Sets the initial gradient of a y."""
        if isinstance(y, IndexedSlices):
            y = y.values
        dtype = y.dtype.base_dtype
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                f"gradients: y must be floating-point or complex, got {dtype.name} "
                f"'{y.name}': cast it first"
            )
        if grad is None:
            if dtype.is_complex:
                raise TypeError(
                    f"gradients: y '{y.name}' is complex ({dtype.name}): give its gradient in "
                    "grad_ys"
                )
            shape = op("Shape", y, name="Shape")
            grad = op(
                "Fill", shape, convert_to_tensor(1.0, dtype=dtype, name="grad_ys_0"), name="Fill"
            )
        elif not isinstance(grad, IndexedSlices):
            grad = convert_to_tensor(grad, dtype=dtype, name="grad_ys")
            if not grad.get_shape().is_compatible_with(y.get_shape()):
                raise ValueError(
                    f"gradients: grad_ys of '{y.name}' has shape {grad.get_shape()}, the tensor "
                    f"has {y.get_shape()}"
                )
        self._partials[y].append(grad)

    def run(self, starts: Sequence[Operation]) -> None:
        """Adds the gradients of the operations between xs and ys, each after its consumers."""
        between, waiting = self._between(starts)
        ready = [node for node in dict.fromkeys(starts) if node in between and not waiting[node]]
        while ready:
            node = ready.pop()
            grads = [self.summed(t, keep=t in self._xs) for t in node.outputs]
            stop = any(t in self._stops for t in node.outputs)
            if any(g is not None for g in grads) and not stop and node.inputs:
                self._visit(node, grads, between)
            for source in dict.fromkeys(t.op for t in node.inputs):
                if source in waiting:
                    waiting[source] -= 1
                    if not waiting[source]:
                        ready.append(source)

    def _between(self, starts: Sequence[Operation]) -> tuple[set[Operation], dict[Operation, int]]:
        """Returns the operations between xs and ys, with their numbers of consumers there."""
        below: dict[Operation, None] = {}
        stack = list(starts)
        while stack:
            node = stack.pop()
            if node not in below:
                below[node] = None
                stack.extend(t.op for t in node.inputs)
        reached: set[Operation] = {t.op for t in self._xs}
        order = _topological(below)
        for node in order:
            if node not in reached and any(t.op in reached for t in node.inputs):
                reached.add(node)
        between = {node for node in below if node in reached}
        waiting = dict.fromkeys(between, 0)
        for node in between:
            for source in {t.op for t in node.inputs}:
                if source in between:
                    waiting[source] += 1
        return between, waiting

    def _visit(self, node: Operation, grads: list[Any], between: set[Operation]) -> None:
        if node._context is not None and node._context.while_context is not None:  # noqa: SLF001
            raise LookupError(
                f"{node.type} '{node.name}'{_line(node)}: gradients through while_loop are not "
                "implemented; compute the loop's gradient outside of it, or unroll it"
            )
        try:
            function = gradient_function(_gradient_name(node))
        except LookupError as missing:
            raise LookupError(
                f"{node.type} '{node.name}'{_line(node)} has no gradient: {missing.args[0]}"
            ) from None
        if function is None:
            return
        # Only one output of a Switch is alive: its gradient function creates zeros for the other.
        whole = [
            _zeros_for(t) if g is None and _is_trainable(t) and node.type not in _SWITCHES else g
            for t, g in zip(node.outputs, grads, strict=True)
        ]
        with get_default_graph().name_scope(f"{node.name.replace(':', '_')}_grad"):
            if self._colocate:
                with colocate_with(node):
                    result = function(node, *whole)
            else:
                result = function(node, *whole)
        result = (
            list(result)
            if isinstance(result, list | tuple) and not isinstance(result, IndexedSlices)
            else [result]
        )
        if len(result) != len(node.inputs):
            raise ValueError(
                f"the gradient of {node.type} '{node.name}' returned {len(result)} gradients for "
                f"{len(node.inputs)} inputs"
            )
        if self._gate and sum(g is not None for g in result) > 1:
            result = _gated(result)
        for source, grad in zip(node.inputs, result, strict=True):
            if grad is not None and source.op in between:
                _check_shape(node, source, grad)
                self._partials[source].append(grad)

    def summed(self, tensor: Tensor, keep: bool = True) -> Any:
        """Returns the sum of a tensor's partial gradients, or None if there are none."""
        partials = self._partials.get(tensor)
        if not partials:
            return None
        if len(partials) > 1:
            partials[:] = [aggregate(partials)]
        found = partials[0]
        if not keep:
            del self._partials[tensor]
        return found


def aggregate(partials: Sequence[Any]) -> Any:
    """Sums partial gradients; IndexedSlices are concatenated, or converted if any is dense."""
    if all(isinstance(g, IndexedSlices) for g in partials):
        return IndexedSlices(
            op("ConcatV2", [g.values for g in partials], 0),
            op("ConcatV2", [_as_int64(g.indices) for g in partials], 0),
            partials[0].dense_shape,
        )
    return op("AddN", [convert_to_tensor(g) for g in partials])


def _as_int64(indices: Tensor) -> Tensor:
    if indices.dtype.base_dtype.name == "int64":
        return indices
    return op("Cast", indices, DstT="int64")


def _gated(grads: list[Any]) -> list[Any]:
    from headrace.graph.control_flow.control_flow_ops import tuple as tuple_op

    present = [g for g in grads if g is not None]
    waited = iter(tuple_op(present))
    return [None if g is None else next(waited) for g in grads]


def _topological(nodes: dict[Operation, None]) -> list[Operation]:
    """Sorts nodes so that each follows its inputs; back edges of loops are ignored."""
    order: list[Operation] = []
    done: set[Operation] = set()
    for root in nodes:
        stack = [(root, iter(root.inputs))] if root not in done else []
        done.add(root)
        while stack:
            node, rest = stack[-1]
            for tensor in rest:
                if tensor.op in nodes and tensor.op not in done:
                    done.add(tensor.op)
                    stack.append((tensor.op, iter(tensor.op.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def _zeros_for(tensor: Tensor) -> Tensor:
    return op("ZerosLike", tensor)


def _is_trainable(tensor: Tensor) -> bool:
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex


def _check_shape(node: Operation, source: Tensor, grad: Any) -> None:
    if isinstance(grad, IndexedSlices) or source.dtype.base_dtype is resource:
        return
    if not grad.get_shape().is_compatible_with(source.get_shape()):
        raise ValueError(
            f"the gradient of {node.type} '{node.name}' has shape {grad.get_shape()} for an input "
            f"of shape {source.get_shape()}"
        )
    grad.set_shape(source.get_shape())


def _line(node: Operation) -> str:
    line, file = node.source_line, node.source_file
    return f" ({os.path.basename(file)}:{line})" if line and file else ""


def _as_list(value: Any) -> list[Any]:
    return (
        list(value)
        if isinstance(value, list | tuple) and not isinstance(value, IndexedSlices)
        else [value]
    )


def _as_source(x: Any) -> Tensor:
    """Returns the tensor to differentiate by: the handle or the reference of a variable."""
    handle = getattr(x, "handle", None)
    if isinstance(handle, Tensor) and handle.dtype.base_dtype is resource:
        return handle
    return (
        convert_to_tensor_or_indexed_slices(x, as_ref=True)
        if _is_variable(x)
        else (convert_to_tensor(x))
    )


def _is_variable(x: Any) -> bool:
    return hasattr(x, "_as_graph_element") or hasattr(x, "initializer")


def hessians(
    ys: TensorLike | IndexedSlices | Sequence[TensorLike | IndexedSlices | None],
    xs: TensorLike | IndexedSlices | Sequence[TensorLike | IndexedSlices | None],
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Computes the Hessian of the sum of ys, for each x.

    Args:
      ys: scalar or list of scalars.
      xs: vectors [n] of known length.
    Returns: for each x a tensor [n, n].
    """
    result = []
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    with name_scope(name):
        for x, grad in zip(_as_list(xs), gradients(ys, xs, **options), strict=True):
            n = _as_source(x).get_shape().as_list()
            if len(n) != 1 or n[0] is None:
                raise ValueError(f"hessians: x must be a vector of known length, got {n}")
            rows = [gradients(op("GatherV2", grad, i, 0), x, **options)[0] for i in range(n[0])]
            result.append(op("Pack", rows))
    return result
