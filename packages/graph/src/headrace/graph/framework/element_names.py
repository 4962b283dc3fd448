"""Names of tensors and operations: "op" names an operation, "op:0" its first output."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.graph.framework.operation import Operation, Tensor


def element_by_name(
    operations: Mapping[str, Operation], name: str, allow_tensor: bool, allow_operation: bool
) -> Tensor | Operation:
    """Returns the operation called "name", or the tensor called "name:index".

    Args:
      operations: the operations of a graph by name.
      allow_tensor, allow_operation: the kinds that the caller accepts.
    Raises: ValueError for a name of the other kind; KeyError for a name that the graph lacks.
    """
    if ":" in name:
        if not allow_tensor:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not an Operation.")
        op_name, _, number = name.rpartition(":")
        if not op_name or not number.isdigit() or ":" in op_name:
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. "
                'Tensor names must be of the form "<op_name>:<output_index>".'
            )
        op = operations.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. "
                f"The operation, {op_name!r}, does not exist in the graph."
            )
        outputs = op.outputs
        if int(number) >= len(outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, exists but only has {len(outputs)} outputs."
            )
        return outputs[int(number)]
    if not allow_operation:
        raise ValueError(
            f"The name {name!r} refers to an Operation, not a Tensor. "
            'Tensor names must be of the form "<op_name>:<output_index>".'
            if name in operations
            else f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. "
            'Tensor names must be of the form "<op_name>:<output_index>".'
        )
    op = operations.get(name)
    if op is None:
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
    return op
