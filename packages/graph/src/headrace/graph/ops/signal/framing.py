"""Cuts signals into frames, and adds overlapping frames."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.creation import range as _range
from headrace.graph.ops.gather import gather
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.typing.aliases import TensorLike


def known_int(value: Any) -> int | None:
    """Returns an int for an int or a constant tensor; None if it is unknown."""
    if isinstance(value, Tensor):
        value = constant_value(value)
    return None if value is None else int(value)


def frame(
    signal: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Cuts a signal into frames, which may overlap.

    Args:
      signal: [..., samples, ...] of known rank.
      frame_length, frame_step: samples of a frame, and between the starts of two.
      pad_end: pad the end, so that a frame starts at each multiple of frame_step.
      pad_value: value of the padding.
      axis: axis of the samples.
    Returns: [..., frames, frame_length, ...]; the two axes replace that of the samples.
    Raises: ValueError for an unknown rank, an axis out of range, or sizes that are too small.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        x = convert_to_tensor(signal, name="signal")
        tensors = sum(isinstance(n, Tensor) for n in (frame_length, frame_step))
        dynamic = None in (known_int(frame_length), known_int(frame_step))
        with counted_as(67 + 34 * pad_end + 15 * dynamic - tensors):
            return _frames(x, frame_length, frame_step, pad_end, pad_value, axis)


def _frames(
    x: Tensor, frame_length: Any, frame_step: Any, pad_end: bool, pad_value: Any, axis: int
) -> Tensor:
    shape = x.get_shape()
    rank = shape.ndims
    if rank is None:
        raise ValueError("frame: the rank of the signal must be known")
    if not -rank <= axis < rank:
        raise ValueError(f"frame: axis {axis} is out of range for a signal of rank {rank}")
    axis %= rank
    samples: Any = shape[axis].value
    if samples is None:
        samples = op("Shape", x)[axis]
    length, step = _known_or_tensor(frame_length), _known_or_tensor(frame_step)
    for what, value, least in (("frame_length", length, 0), ("frame_step", step, 1)):
        if isinstance(value, int) and value < least:
            raise ValueError(f"frame: {what} must be at least {least}, got {value}")
    if pad_end:
        count = -(-samples // step)
        more = _not_negative(length + step * (count - 1) - samples)
        pads = [[0, more if i == axis else 0] for i in range(rank)]
        filler = convert_to_tensor(pad_value, dtype=x.dtype.base_dtype)
        x = op("PadV2", x, convert_to_tensor(pads), filler)
    else:
        count = _not_negative(1 + (samples - length) // step)
    starts = op("ExpandDims", _range(count) * step, 1)
    result = gather(x, starts + op("ExpandDims", _range(length), 0), axis=axis)
    sizes = [known_int(n) if not isinstance(n, int) else n for n in (count, length)]
    result.set_shape([*shape.as_list()[:axis], *sizes, *shape.as_list()[axis + 1 :]])
    return result


def _known_or_tensor(value: Any) -> Any:
    known = known_int(value)
    return value if known is None else known


def _not_negative(value: Any) -> Any:
    return max(0, value) if isinstance(value, int) else op("Maximum", 0, value)


def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Adds frames at their places in a signal.

    Args:
      signal: [..., frames, frame_length] of rank 2 or more.
      frame_step: samples between the starts of two frames.
    Returns: [..., (frames - 1) * frame_step + frame_length].
    Raises: ValueError for a rank below 2, or a frame_step that is not an integer scalar.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        x = convert_to_tensor(signal, name="signal")
        static = x.get_shape()
        if static.ndims is not None and static.ndims < 2:
            raise ValueError("overlap_and_add: the signal must have rank 2 or more")
        whole = static.ndims is not None and static.as_list()[-1] == known_int(frame_step)
        with counted_as((23 if whole else 91) - isinstance(frame_step, Tensor)):
            return _added(x, frame_step)


def _added(x: Tensor, frame_step: Any) -> Tensor:
    static = x.get_shape()
    step_tensor = convert_to_tensor(frame_step, name="frame_step")
    if not step_tensor.dtype.base_dtype.is_integer:
        raise ValueError(f"frame_step must be an integer. Got {step_tensor.dtype}")
    if step_tensor.get_shape().ndims not in (None, 0):
        raise ValueError(f"frame_step must be a scalar. Got shape {step_tensor.get_shape()}")
    shape = op("Shape", x)
    outer = op("StridedSlice", shape, [0], [-2], [1])
    frames, length = shape[-2], shape[-1]
    step = op("Cast", step_tensor, DstT="int32")
    # Each frame becomes `parts` pieces of `step` samples; piece k of frame f belongs at f + k.
    parts = -(-length // step)
    pads = op("Pack", [op("Pack", [0, 0]), op("Pack", [0, parts]),
                       op("Pack", [0, parts * step - length])])  # fmt: skip
    flat = op("Reshape", x, op("Pack", [-1, frames, length]))
    pieces = op("Reshape", op("Pad", flat, pads), op("Pack", [-1, frames + parts, parts, step]))
    pieces = op("Transpose", pieces, [0, 2, 1, 3])
    # A row that is one piece shorter moves each of the `parts` groups on by one place.
    lines = op("Reshape", pieces, op("Pack", [-1, parts * (frames + parts), step]))
    lines = lines[:, : parts * (frames + parts - 1)]
    added = reduce_sum(op("Reshape", lines, op("Pack", [-1, parts, frames + parts - 1, step])), 1)
    total = (frames - 1) * step + length
    added = op("Reshape", added, op("Pack", [-1, (frames + parts - 1) * step]))[:, :total]
    result: Tensor = op("Reshape", added, op("ConcatV2", [outer, op("ExpandDims", total, 0)], 0))
    if static.ndims is not None:
        n, m, known = *static.as_list()[-2:], known_int(step_tensor)
        full = None if None in (n, m, known) else (n - 1) * known + m  # type: ignore[operator]
        result.set_shape([*static.as_list()[:-2], full])
    return result
