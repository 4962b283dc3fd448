"""Shape rules of normalisation, activations over classes, and losses."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    broadcast,
    compatible,
    merge,
    same,
    show,
    with_rank,
)
from headrace.graph.shape_rules.windows import channels_first

Shapes = list[Shape]


def _channels(op: ShapeQuery, x: tuple[int | None, ...], i: int, what: str) -> int | None:
    scale = with_rank(op.inputs[i], 1, what)
    c = x[1 if channels_first(op) else len(x) - 1]
    if not same(c, scale[0]):
        raise ValueError(f"{what} {show(scale)} does not fit the channels of {show(x)}")
    return scale[0] if c is None else c


def _image(shape: Shape) -> tuple[int | None, ...]:
    if shape is None:
        return (None,) * 4
    if len(shape) not in (4, 5):
        raise ValueError(f"x must have rank 4 or 5, is {show(shape)}")
    return shape


@shape_rule("fused_batch_norm")
def fused_batch_norm(op: ShapeQuery) -> Shapes:
    x = _image(op.inputs[0])
    c = _channels(op, x, 1, "scale")
    _channels(op, x, 2, "offset")
    whole: list[int | None] = list(x)
    whole[1 if channels_first(op) else len(x) - 1] = c
    # V3 has one more output, reserved for cuDNN: it stays empty.
    shapes: Shapes = [tuple(whole), (c,), (c,), (c,), (c,), (0,)]
    return shapes[: op.n_outputs]


@shape_rule("fused_batch_norm_grad")
def fused_batch_norm_grad(op: ShapeQuery) -> Shapes:
    y, x = op.inputs[0], _image(op.inputs[1])
    if not compatible(y, op.inputs[1]):
        raise ValueError(f"y_backprop {show(y)} and x {show(x)} differ")
    c = _channels(op, x, 2, "scale")
    return [merge(y, op.inputs[1]), (c,), (c,), (), ()]


@shape_rule("batch_norm_global_grad")
def batch_norm_global_grad(op: ShapeQuery) -> Shapes:
    t, mean, variance, gamma = op.inputs[:4]
    return [t, mean, variance, mean, gamma]


@shape_rule("softmax")
def softmax(op: ShapeQuery) -> Shapes:
    return [at_least(op.inputs[0], 1, "logits")]


@shape_rule("softmax_cross_entropy")
def softmax_cross_entropy(op: ShapeQuery) -> Shapes:
    both = with_rank(broadcast(op.inputs[0], op.inputs[1]), 2, "logits")
    return [both[:1], both]


@shape_rule("sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(op: ShapeQuery) -> Shapes:
    logits, labels = with_rank(op.inputs[0], 2, "logits"), with_rank(op.inputs[1], 1, "labels")
    if not same(logits[0], labels[0]):
        raise ValueError(f"labels {show(labels)} do not fit logits {show(logits)}")
    batch = logits[0] if labels[0] is None else labels[0]
    return [(batch,), (batch, logits[1])]


@shape_rule("in_top_k")
def in_top_k(op: ShapeQuery) -> Shapes:
    predictions = with_rank(op.inputs[0], 2, "predictions")
    targets = with_rank(op.inputs[1], 1, "targets")
    if not same(predictions[0], targets[0]):
        raise ValueError(f"targets {show(targets)} do not fit predictions {show(predictions)}")
    return [(predictions[0] if targets[0] is None else targets[0],)]
