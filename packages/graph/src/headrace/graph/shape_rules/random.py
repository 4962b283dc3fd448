"""Shape rules of random numbers and samples."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    int_of,
    not_negative,
    show,
    sizes,
    with_rank,
)

Shapes = list[Shape]


@shape_rule("random_crop")
def random_crop(op: ShapeQuery) -> Shapes:
    image, size = with_rank(op.inputs[0], 3, "image"), with_rank(sizes(op, 1), 2, "size")
    return [(*size, image[2])]


@shape_rule("random_gamma")
def random_gamma(op: ShapeQuery) -> Shapes:
    shape, alpha = sizes(op, 0), op.inputs[1]
    return [None if shape is None or alpha is None else shape + alpha]


@shape_rule("multinomial")
def multinomial(op: ShapeQuery) -> Shapes:
    logits = with_rank(op.inputs[0], 2, "logits")
    return [(logits[0], not_negative(int_of(op, 1, "num_samples"), "num_samples"))]


@shape_rule("candidate_sampler")
def candidate_sampler(op: ShapeQuery) -> Shapes:
    true, n = with_rank(op.inputs[0], 2, "true_classes"), op.attrs["num_sampled"]
    if true[1] not in (op.attrs["num_true"], None):
        raise ValueError(
            f"true_classes {show(true)} have not num_true, {op.attrs['num_true']}, columns"
        )
    return [(n,), (true[0], op.attrs["num_true"]), (n,)]


@shape_rule("ctc_loss")
def ctc_loss(op: ShapeQuery) -> Shapes:
    inputs = with_rank(op.inputs[0], 3, "inputs")
    return [(inputs[1],), inputs]


@shape_rule("ctc_decoder")
def ctc_decoder(op: ShapeQuery) -> Shapes:
    batch, paths = with_rank(op.inputs[0], 3, "inputs")[1], op.n_outputs // 3
    indices: Shapes = [(None, 2)] * paths
    values: Shapes = [(None,)] * paths
    shapes: Shapes = [(2,)] * paths
    return [*indices, *values, *shapes, (batch, paths)]
