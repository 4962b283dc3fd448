"""Follows beams back from their end to their start."""

from __future__ import annotations

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.creation import range as _range
from headrace.graph.ops.arrays.creation import sequence_mask
from headrace.graph.ops.gather import gather_nd
from headrace.graph.ops.reduction import reduce_max
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
    result: Tensor = op(
        "GatherTree", step_ids, parent_ids, max_sequence_lengths, end_token, name=name
    )
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
