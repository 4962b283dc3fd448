"""Reverse-mode automatic differentiation: adds gradient nodes to the graph (white paper §4.1)."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import os
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

from headrace.formats.dtypes import resource
from headrace.graph.autodiff.gradient_calls import gradient_call
from headrace.graph.autodiff.units import Unit, Units, active_enters
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.composite import parts_of
from headrace.graph.control_flow.context import (
    CondContext,
    ControlFlowContext,
    WhileContext,
    entered_branch,
)
from headrace.graph.control_flow.context_edges import output_context
from headrace.graph.control_flow.loop_variables import is_loop_switch
from headrace.graph.control_flow.while_gradients import GradientWhileContext, loop_gradient
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import FUNCTION_CALL, gradient_function
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
      grad_ys: initial gradients, one per y, of the dtype of y and of a shape that broadcasts to
        its shape where the gradients of its op do; None means ones.
      name: name scope of the new operations.
      colocate_gradients_with_ops: place each gradient on the device of its operation.
      gate_gradients: make the gradients of an operation available only when all are computed.
      aggregation_method: one of AggregationMethod.
      stop_gradients: tensors to treat as constants.
      unconnected_gradients: None or zeros for an x that no y depends on.
    Returns: for each x a Tensor of its shape, IndexedSlices (for instance if x is gathered from),
      or None.
    Raises: LookupError for an operation without a gradient between xs and ys; TypeError for grad_ys
      of another dtype, or a complex y without grad_ys; ValueError for grad_ys of another number, or
      an unknown aggregation_method.
    Source: white paper §4.1.
    """
    ys, xs = _as_list(ys), _as_list(xs)
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"gradients: {len(ys)} ys need as many grad_ys, got {len(grad_ys)}")
    unconnected = _unconnected(unconnected_gradients)
    methods = (None, AggregationMethod.ADD_N, AggregationMethod.EXPERIMENTAL_TREE,
               AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)  # fmt: skip
    if aggregation_method not in methods:
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    values = ys + xs + [g for g in grad_ys if g is not None]
    with name_scope(name, "gradients", values) as scope, gradient_call(scope):
        y_tensors = [_inside(convert_to_tensor_or_indexed_slices(y)) for y in ys]
        x_tensors = [_inside(_as_source(x)) for x in xs]
        stops = {_inside(_as_source(t)) for t in _as_list(stop_gradients or [])}
        options = _Options(stops, colocate_gradients_with_ops, gate_gradients)
        loop = _current_loop()
        if loop is not None:  # ys and gradients belong to one iteration of the loop being built
            x_tensors = [loop.external_values.get(x, x) for x in x_tensors]
        builder = _GradientBuilder(x_tensors, options, loop)
        for y, grad in zip(y_tensors, grad_ys, strict=True):
            builder.start(y, grad)
        builder.run()
        found = [builder.summed(x) for x in x_tensors]
        if unconnected is UnconnectedGradients.ZERO:
            found = [
                op("ZerosLike", x) if grad is None else grad
                for x, grad in zip(x_tensors, found, strict=True)
            ]
    return found


def differentiate(
    pairs: Sequence[tuple[Tensor, Any]],
    xs: Sequence[Tensor],
    stops: set[Tensor],
    replaced: Mapping[Tensor, Tensor],
) -> list[Any]:
    """Returns the gradients of xs for given gradients of ys, without the checks of `gradients`.

    Args:
      pairs: (y, gradient of y); y may be a TensorList.
      xs: tensors, of any dtype that has a gradient.
      stops: tensors to treat as constants.
      replaced: tensors that operations read, and what they count as reading instead.
    Returns: the gradients; those of values in a branch are in the branch.
    """
    options = _Options(stops, False, False, in_branches=True, replaced=replaced)
    builder = _GradientBuilder(xs, options)
    for y, grad in pairs:
        builder.continue_from(y, grad)
    builder.run()
    return [builder.summed(x) for x in xs]


def _gradient_name(node: Operation) -> str:
    """Returns the registered gradient of a node, which Graph.gradient_override_map can change."""
    name = node._attrs.values.get("_gradient_op_type")  # noqa: SLF001
    if name is None:
        return node.type
    name = node.get_attr("_gradient_op_type")
    return name.decode() if isinstance(name, bytes) else name


def _gradient_of(node: Operation) -> Callable[..., Any] | None:
    """Returns the gradient function of a node, which may be a call of a function."""
    try:
        return gradient_function(_gradient_name(node))
    except LookupError as missing:
        if node.graph._is_function(node.type):
            return gradient_function(FUNCTION_CALL)
        raise LookupError(
            f"{node.type} '{node.name}'{_line(node)} has no gradient: {missing.args[0]}"
        ) from None


@dataclasses.dataclass(frozen=True)
class _Options:
    stops: set[Tensor]
    colocate: bool
    gate: bool
    in_branches: bool = False  # whether gradients of what is in a branch belong to the branch
    replaced: Mapping[Tensor, Tensor] = dataclasses.field(default_factory=dict)


class _GradientBuilder:
    """Adds the gradient nodes between ys and xs, in reverse topological order.

    A loop is one unit of the order. Its gradient is a loop, and a nested builder differentiates the
    body.

    Args:
      loop: the loop whose body is differentiated, or None.
      gradient_loop: the loop of its gradient, where the nodes are added, or None.
    """

    def __init__(
        self,
        xs: Sequence[Tensor],
        options: _Options,
        loop: WhileContext | None = None,
        gradient_loop: GradientWhileContext | None = None,
    ) -> None:
        self._xs = set(xs)
        self._options = options
        self._units = Units(loop, options.replaced)
        self._gradient_loop = gradient_loop
        self._ys: list[Tensor] = []
        self._partials: dict[Tensor, list[Any]] = collections.defaultdict(list)

    def start(self, y: Any, grad: Any) -> None:
        """Sets the initial gradient of a y."""
        if isinstance(y, IndexedSlices):
            y = y.values
        self._ys.append(y)
        dtype = y.dtype.base_dtype
        if not (dtype.is_floating or dtype.is_complex):
            return  # as in TensorFlow, nothing has a gradient of an integer
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
            if not isinstance(grad, Tensor):
                grad = convert_to_tensor(grad, dtype=dtype, name="grad_ys")
            if grad.dtype.base_dtype is not dtype:
                raise TypeError(
                    f"Gradient type {grad.dtype.base_dtype.name} generated for tensor '{y.name}' "
                    f"with type {dtype.name}: the types must agree"
                )
        self._partials[y].append(grad)

    def continue_from(self, y: Tensor, grad: Any) -> None:
        """Sets the gradient of a y that the builder of an outer level computed."""
        self._ys.append(y)
        self._partials[y].append(grad)

    def run(self) -> None:
        """Adds the gradients of the units between xs and ys, each after its consumers."""
        starts = [self._units.of(y.op) for y in self._ys]
        between, waiting = self._between(starts)
        ready = [unit for unit in dict.fromkeys(starts) if unit in between and not waiting[unit]]
        while ready:
            unit = ready.pop()
            if isinstance(unit, WhileContext):
                self._visit_loop(unit, between)
            else:
                self._visit_operation(unit, between)
            for source in self._units.sources(unit):
                if source in waiting:
                    waiting[source] -= 1
                    if not waiting[source]:
                        ready.append(source)

    def _between(self, starts: Sequence[Unit]) -> tuple[set[Unit], dict[Unit, int]]:
        """Returns the units between xs and ys, with their numbers of consumers there."""
        order = self._units.in_order(starts)
        reached: set[Unit] = {self._units.of(t.op) for t in self._xs}
        for unit in order:
            if unit not in reached and any(s in reached for s in self._units.sources(unit)):
                reached.add(unit)
        between = {unit for unit in order if unit in reached}
        waiting = dict.fromkeys(between, 0)
        for unit in between:
            for source in self._units.sources(unit):
                if source in between:
                    waiting[source] += 1
        return between, waiting

    def _visit_operation(self, node: Operation, between: set[Unit]) -> None:
        context = output_context(node)
        branch = self._branch_of(context)
        with branch or contextlib.nullcontext():
            grads = [self.summed(t, keep=t in self._xs) for t in node.outputs]
        if all(g is None for g in grads) or not node.inputs:
            return
        if any(t in self._options.stops for t in node.outputs) or self._units.is_boundary(node):
            return
        if is_loop_switch(node):  # of the loop's variable, in its body
            self._partials[node.inputs[0]].append(grads[1])
            return
        if node.type in _SWITCHES and (entered := entered_branch(node)) is not None:
            # Its gradient leads out of the branch.
            branch = self._branch_of(entered.outer_context)
        with branch or contextlib.nullcontext():
            self._visit(node, grads, between)

    def _branch_of(self, context: ControlFlowContext | None) -> CondContext | None:
        """Returns where the gradient of what is in a branch, in a loop or a function, belongs.

        What is computed there is known to be missing in runs that take the other branch.
        """
        if not (self._units.is_body or self._options.in_branches) or not isinstance(
            context, CondContext
        ):
            return None
        if self._gradient_loop is not None:
            found = self._gradient_loop.branch(context)
            return found if isinstance(found, CondContext) else None
        return context

    def _visit_loop(self, loop: WhileContext, between: set[Unit]) -> None:
        # In the branch that the loop is in: else a Switch would lead the sum into it.
        with self._branch_of(loop.outer_context) or contextlib.nullcontext():
            grads = {t: self.summed(t, keep=t in self._xs) for t in loop.loop_exits}
        known = {t: g for t, g in grads.items() if g is not None and t not in self._options.stops}
        if not known or not loop.back_prop:
            return
        enters = active_enters(loop, known, self._requested(between))
        if not enters:
            return

        def differentiate(sources: Sequence[Tensor], ys: Sequence[tuple[Tensor, Any]]) -> list[Any]:
            back = _current_loop()
            builder = _GradientBuilder(sources, self._options, loop, back)
            for y, grad in ys:
                builder.continue_from(y, grad)
            builder.run()
            return [builder.summed(x) for x in sources]

        with get_default_graph().name_scope(f"{loop.name}_grad"), self._context_for(loop):
            found = loop_gradient(loop, enters, known, differentiate)
        for enter, grad in zip(enters, found, strict=True):
            if grad is not None:
                self._partials[self._units.source(enter.op.inputs[0])].append(grad)

    def _requested(self, between: set[Unit]) -> Callable[[Tensor], bool]:
        """Returns whether the gradient of what an Enter reads is requested."""
        source = self._units.source
        return lambda enter: self._units.of(source(enter.op.inputs[0]).op) in between

    def _context_for(self, loop: WhileContext) -> Any:
        """Returns the context for the gradient of a loop: the branch that the loop is in."""
        outer = loop.outer_context
        if self._gradient_loop is not None:
            return self._gradient_loop.branch(outer)
        return outer if isinstance(outer, CondContext) else contextlib.nullcontext()

    def _visit(self, node: Operation, grads: list[Any], between: set[Unit]) -> None:
        function = _gradient_of(node)
        if function is None:
            return
        # Only one output of a Switch is alive: its gradient function creates zeros for the other.
        whole = [
            _zeros_for(t) if g is None and _is_trainable(t) and node.type not in _SWITCHES else g
            for t, g in zip(node.outputs, grads, strict=True)
        ]
        with get_default_graph().name_scope(f"{node.name.replace(':', '_')}_grad"):
            if self._options.colocate:
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
        if self._options.gate and sum(g is not None for g in result) > 1:
            result = _gated(result)
        for read, grad in zip(node.inputs, result, strict=True):
            source = self._units.source(read)
            if grad is not None and self._units.of(source.op) in between:
                _check_shape(node, source, grad)
                self._partials[source].append(grad)
                branch = self._branch_of(output_context(source.op))
                if branch is not None:
                    branch._add_known_values(parts_of(grad))

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


def _current_loop() -> Any:
    context = get_default_graph()._get_control_flow_context()
    return None if context is None else context.while_context


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


def _unconnected(value: Any) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {value!r}") from None


def _as_list(value: Any) -> list[Any]:
    sequence = isinstance(value, list | tuple | MappingView | Iterator)
    return list(value) if sequence and not isinstance(value, IndexedSlices) else [value]


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


def _inside(tensor: Any) -> Any:
    """Returns what stands for a tensor in the function that is being built."""
    graph: Any = get_default_graph()
    if isinstance(tensor, Tensor) and graph.building_function and tensor.graph is not graph:
        return graph.capture(tensor)
    return tensor


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
