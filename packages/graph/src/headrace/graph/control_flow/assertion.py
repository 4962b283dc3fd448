"""Assert: an operation that fails unless a condition holds."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import no_op
from headrace.graph.framework.operation import Operation
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike


def Assert(  # noqa: N802 - TF's name
    condition: TensorLike,
    data: Sequence[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless the condition holds, showing the data.

    Args:
      condition: scalar bool.
      data: list of tensors to show.
      summarize: how many elements of each to show; 3 where None.
    """
    condition = convert_to_tensor(condition, name="condition")
    with name_scope(name, "Assert", [condition, *data]):
        xs = [convert_to_tensor(x) for x in data]
        shown = 3 if summarize is None else summarize
        if all(x.dtype.base_dtype.as_datatype_enum in (7, 3) for x in xs):
            return op("Assert", condition, xs, summarize=shown, name="Assert")
        # The data may be on a device: they are brought here only if the condition fails.
        guarded = cond(
            condition,
            no_op,
            lambda: op("Assert", condition, xs, summarize=shown, name="Assert"),
            name="AssertGuard",
        )
        return guarded.op
