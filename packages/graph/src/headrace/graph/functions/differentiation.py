"""The gradient of a function's body, as operations that are added to the body's graph.

The gradient of a call is the call of another function, which computes again what it needs of the
body, except for what could be different: results of stateful operations, such as random numbers,
and loops. The call itself returns those too, and passes them on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.formats.dtypes import float32, resource, variant
from headrace.graph.autodiff.gradient_calls import gradient_call
from headrace.graph.autodiff.gradients import differentiate
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.branch_values import branches_around, merged_outside
from headrace.graph.control_flow.context import WhileContext
from headrace.graph.framework.constant_value import handle_data
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.functions.function_body import FunctionBody
from headrace.graph.functions.graph_to_function import is_stateful

# Stateful ops that a gradient may run again: they read what no op between the two changes.
_READS = frozenset(
    ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp", "VariableShape",
     "Variable", "VariableV2", "VarIsInitializedOp")
)  # fmt: skip


@dataclasses.dataclass
class BodyGradient:
    """The gradient of a body.

    Attributes:
      body: the body.
      dys: a placeholder per output of the body, for its gradient.
      grads: per input of the body a Tensor, IndexedSlices or None.
      replaced: values of branches that the gradient gets from the call, and what it reads instead.
    """

    body: FunctionBody
    dys: list[Tensor]
    grads: list[Any]
    replaced: dict[Tensor, Tensor] = dataclasses.field(default_factory=dict)

    def wanted(self) -> list[Tensor]:
        """Returns the tensors of the gradients."""
        return [part for grad in self.grads if grad is not None for part in parts_of(grad)]

    def operations(self, outputs: Iterable[Tensor], cuts: Iterable[Tensor]) -> list[Operation]:
        """Returns the operations that compute outputs from the inputs, the dys and the cuts."""
        stop = [*self.body.inputs, *self.dys, *cuts]
        return _needed(self.body, outputs, stop, self.replaced)


def parts_of(grad: Any) -> list[Tensor]:
    """Returns the tensors of a gradient: values, indices and shape of IndexedSlices."""
    if isinstance(grad, IndexedSlices):
        parts = [grad.values, grad.indices]
        return parts if grad.dense_shape is None else [*parts, grad.dense_shape]
    return [grad]


def has_gradient(tensor: Tensor) -> bool:
    """Returns whether an argument or a result of a function may have a gradient."""
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or dtype in (resource, variant)


def body_gradient(body: FunctionBody, name: str) -> BodyGradient:
    """Adds the gradient of a body to its graph.

    Args:
      name: name of the function, for errors.
    Raises: LookupError for an operation without a gradient.
    """
    _check_loops(body, name)
    graph = body.graph
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        dys = [
            graph.placeholder(t.dtype.base_dtype, t._shape, f"grad_{number}")
            for number, t in enumerate(body.outputs)
        ]
        pairs = [
            (y, dy)
            for y, dy in zip(body.outputs, dys, strict=True)
            if has_gradient(y) and y.dtype.base_dtype is not resource
        ]
        xs = [t for t in body.inputs if has_gradient(t)]
        with graph.name_scope("gradients") as scope, gradient_call(scope):
            stops = set(body.inputs)
            found = dict(zip(xs, differentiate(pairs, xs, stops, body.replaced), strict=True))
    return BodyGradient(body, dys, [found.get(t) for t in body.inputs], dict(body.replaced))


def _check_loops(body: FunctionBody, name: str) -> None:
    for node in body.operations:
        if node.type in ("Enter", "RefEnter") and node._context is None:
            raise LookupError(
                f"function '{name}' has a while loop ('{node.name}') that was read from its "
                "FunctionDef, which does not say what belongs to the loop: there is no gradient "
                "through it; call the Python function that made it instead"
            )


def cuts_of(gradient: BodyGradient) -> list[Tensor]:
    """Returns what the gradient must get from the call: results of stateful nodes and of loops.

    The value of a branch leaves it by Merges; the gradient reads it behind Switches.
    """
    body = gradient.body
    mine = set(body.operations)
    loops = {_outermost_loop(node) for node in body.operations}
    wanted = gradient.wanted()
    cuts: dict[Tensor, None] = {}
    while True:
        operations = gradient.operations(wanted, cuts)
        read = {t for node in operations for t in node.inputs} | set(wanted)
        cut = [node for node in operations if _is_cut(node, mine, loops)]
        new = [t for node in cut for t in node.outputs if t in read]
        new = [t for t in new if t not in cuts and t not in gradient.replaced]
        if not new:
            break
        for tensor in new:
            cuts[_outside(gradient, tensor)] = None
    return list(cuts)


def _is_cut(node: Operation, mine: set[Operation], loops: set[WhileContext | None]) -> bool:
    """Returns whether the gradient gets the results of a node from the call."""
    loop = _outermost_loop(node)
    if loop is not None:
        is_exit = node.type in ("Exit", "RefExit") and node._context is loop
        return is_exit and loop in loops
    if node not in mine or not is_stateful(node):
        return False
    if node.type == "VarHandleOp":  # it names the same variable wherever it runs
        return False
    return node._context is None or node.type not in _READS


def _outside(gradient: BodyGradient, tensor: Tensor) -> Tensor:
    """Returns what a call can return of a tensor, which may be in a branch."""
    branches = branches_around(tensor)
    if not branches:
        return tensor
    graph = gradient.body.graph
    with graph.as_default(), graph.control_dependencies(None), graph._in_context(None):
        merged = found = merged_outside(tensor)
        for branch in reversed(branches):
            found = op("Switch", found, branch.pred)[branch.branch]
    gradient.replaced[tensor] = found
    return merged


def _outermost_loop(node: Operation) -> WhileContext | None:
    found, context = None, node._context
    while context is not None:
        if isinstance(context, WhileContext):
            found = context
        context = context.outer_context
    return found


def _needed(
    body: FunctionBody,
    outputs: Iterable[Tensor],
    inputs: Iterable[Tensor],
    replaced: Mapping[Tensor, Tensor] | None = None,
) -> list[Operation]:
    """Returns the operations that outputs depend on, in order of creation.

    What only a control edge reaches is left out if it is a stateful node of the body: the call ran
    it already.
    """
    stop = set(inputs)
    replaced = replaced or {}
    mine = set(body.operations)
    found: set[Operation] = set()
    ahead = [t.op for t in outputs if t not in stop]
    while ahead:
        node = ahead.pop()
        if node in found:
            continue
        found.add(node)
        ahead.extend([replaced.get(t, t).op for t in node.inputs if t not in stop])
        ahead.extend(
            [
                c
                for c in node.control_inputs
                if not (c in mine and (is_stateful(c) or not c.outputs))
            ]
        )
    arguments = {t.op for t in stop}
    return sorted(
        [n for n in found if n not in arguments or n.type != "Placeholder"], key=lambda n: n._id
    )


def forward_body(body: FunctionBody, cuts: Iterable[Tensor]) -> FunctionBody:
    """Returns a body that also returns the cuts."""
    returned = set(body.outputs)
    more = [t for t in cuts if t not in returned]
    mine = set(body.operations)
    added = [n for n in _needed(body, more, body.inputs, body.replaced) if n not in mine]
    operations = sorted([*body.operations, *added], key=lambda node: node._id)
    outputs = [*body.outputs, *more]
    return dataclasses.replace(body, outputs=outputs, operations=operations)


def zeros_of(tensor: Tensor) -> Tensor:
    """Returns zeros for the gradient of an argument."""
    if tensor.dtype.base_dtype is not resource:
        return op("ZerosLike", tensor)
    data = handle_data(tensor)
    if data is None:
        return constant(0.0)
    return op("ZerosLike", op("ReadVariableOp", tensor, dtype=data[0]))


def gradient_dtype(tensor: Tensor) -> Any:
    """Returns the dtype of an argument's gradient: for a resource, that of the variable."""
    if tensor.dtype.base_dtype is not resource:
        return tensor.dtype.base_dtype
    data = handle_data(tensor)
    return float32 if data is None else data[0]


def dense(grad: Any) -> Tensor:
    """Returns a gradient as one tensor."""
    return convert_to_tensor(grad)
