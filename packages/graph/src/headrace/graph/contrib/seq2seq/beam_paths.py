"""Follows beams back from their end to their start."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.creation import range as _range
from headrace.graph.ops.arrays.creation import sequence_mask
from headrace.graph.ops.gather import batch_gather, gather_nd
from headrace.graph.ops.reduction import cumsum, reduce_max
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.typing.aliases import TensorLike


def gather_tree(
    step_ids: TensorLike,
    parent_ids: TensorLike,
    max_sequence_lengths: TensorLike,
    end_token: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Returns the sequence of each beam, from the ids and parents of all steps.

    Args:
      step_ids, parent_ids: [steps, batch, beams] int32: the id of each beam, and the beam of the
        step before that it continues.
      max_sequence_lengths: [batch] int32.
      end_token: int32 scalar; it also fills the steps behind the end of a sequence.
    Returns: [steps, batch, beams] int32.
    Raises: InvalidArgumentError in a run for a parent out of range.
    """
    with name_scope(name, "GatherTree", [step_ids, parent_ids]):
        ids = convert_to_tensor(step_ids, dtype="int32", name="step_ids")
        parents = convert_to_tensor(parent_ids, dtype="int32", name="parent_ids")
        lengths = convert_to_tensor(max_sequence_lengths, dtype="int32")
        end = convert_to_tensor(end_token, dtype="int32", name="end_token")
        shape = op("Shape", ids)
        steps, wide = shape[0], shape[1:]
        own = op("BroadcastTo", _range(shape[2]), wide)
        found = TensorArray("int32", size=steps, element_shape=ids.get_shape()[1:])

        def back(time: Tensor, beams: Tensor, found: TensorArray) -> Any:
            reached = op("BroadcastTo", op("ExpandDims", op("Less", time, lengths), 1), wide)
            here = op("Select", reached, batch_gather(ids[time], beams), op("Fill", wide, end))
            before = op("Select", reached, batch_gather(parents[time], beams), beams)
            before.set_shape(beams.get_shape())
            return time - 1, before, found.write(time, here)

        own.set_shape(ids.get_shape()[1:])
        *_, found = while_loop(
            lambda time, beams, found: op("GreaterEqual", time, 0), back, (steps - 1, own, found)
        )
        paths = found.stack()
        ended = cumsum(op("Cast", op("Equal", paths, end), DstT="int32"), 0, exclusive=True)
        result: Tensor = op("Select", op("Greater", ended, 0), op("Fill", shape, end), paths)
        result.set_shape(ids.get_shape())
        return result


def gather_tree_from_array(
    t: TensorLike, parent_ids: TensorLike, sequence_length: TensorLike
) -> Tensor:
    """Orders the values of all steps by the paths of the beams.

    Args:
      t: [steps, batch, beams, ...] or [steps, batch * beams, ...].
      parent_ids: [steps, batch, beams] int32.
      sequence_length: [batch, beams].
    Returns: the shape and dtype of t; behind its end, a beam keeps its own values.
    """
    values, parents = convert_to_tensor(t), convert_to_tensor(parent_ids)
    lengths = op("Cast", convert_to_tensor(sequence_length), DstT="int32")
    shape = op("Shape", parents)
    steps, batch, beams = shape[0], shape[1], shape[2]
    own = op("BroadcastTo", _range(beams), shape)
    ordered = gather_tree(own, parents, reduce_max(lengths, axis=1), beams + 1)
    inside = op("Transpose", sequence_mask(lengths, maxlen=steps), [2, 0, 1])
    ordered = op("Select", inside, ordered, own)
    at_step = op("BroadcastTo", op("Reshape", _range(steps), [-1, 1, 1]), shape)
    at_batch = op("BroadcastTo", op("Reshape", _range(batch), [1, -1, 1]), shape)
    index = op("Pack", [at_step, at_batch, ordered], axis=-1)
    flat = op("Reshape", values, op("Pack", [steps, batch, beams, -1]))
    result: Tensor = op("Reshape", gather_nd(flat, index), op("Shape", values))
    result.set_shape(values.get_shape())
    return result
