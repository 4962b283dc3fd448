"""Shape rules of clustering: nearest centers, and points that become centers."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, int_of, not_negative, same, with_rank

Shapes = list[Shape]


@shape_rule("nearest_neighbors")
def nearest_neighbors(op: ShapeQuery) -> Shapes:
    points, centers = with_rank(op.inputs[0], 2, "points"), with_rank(op.inputs[1], 2, "centers")
    with_rank(op.inputs[2], 0, "k")
    if not same(points[1], centers[1]):
        raise ValueError(
            f"Expected point_dimensions == center_dimensions: {points[1]} vs {centers[1]}."
        )
    k = not_negative(int_of(op, 2, "k"), "k")
    width = None if k is None or centers[0] is None else min(k, centers[0])
    return [(points[0], 0 if k == 0 else width)] * 2


@shape_rule("sampled_points")
def sampled_points(op: ShapeQuery) -> Shapes:
    points = with_rank(op.inputs[0], 2, "points")
    for i, what in enumerate(("num_to_sample", "seed", "num_retries_per_sample"), 1):
        with_rank(op.inputs[i], 0, what)
    n = not_negative(int_of(op, 1, "num_to_sample"), "num_to_sample")
    return [(n, points[1])]


@shape_rule("chosen_point")
def chosen_point(op: ShapeQuery) -> Shapes:
    with_rank(op.inputs[0], 1, "distances")
    with_rank(op.inputs[1], 0, "seed")
    return [()]
