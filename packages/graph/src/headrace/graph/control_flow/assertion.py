"""Assert: an operation that fails if a condition is false."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import no_op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike


def Assert(  # noqa: N802 - TF's name
    condition: TensorLike,
    data: Sequence[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> Operation:
    """Creates an operation that fails with InvalidArgumentError if the condition is false.

    Args:
      condition: scalar bool.
      data: list of tensors to print in the error message.
      summarize: number of elements to print of each; 3 if None.
    """
    condition = convert_to_tensor(condition, name="condition")
    with name_scope(name, "Assert", [condition, *data]):
        xs = [convert_to_tensor(x) for x in data]
        shown = 3 if summarize is None else summarize
        if all(x.dtype.base_dtype.as_datatype_enum in (7, 3) for x in xs):
            # TensorFlow converts the data once to look at their dtypes, and once more here.
            count_nodes(sum(not isinstance(x, Tensor) for x in data))
            return op("Assert", condition, xs, summarize=shown, name="Assert")
        # The data may be on a device: cond copies them only if the condition is false.
        checked = cond(
            condition,
            no_op,
            lambda: op("Assert", condition, xs, summarize=shown, name="Assert"),
            name="AssertGuard",
        )
        return checked.op
