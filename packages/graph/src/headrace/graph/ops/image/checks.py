"""What TensorFlow checks of an image's shape: when the graph is built, or in the run."""

from __future__ import annotations

from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import with_dependencies
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.assertions import assert_greater_equal, assert_positive

_TOO_FLAT = "'image' must be at least three-dimensional."
_EMPTY = "all dims of 'image.shape' must be > 0"


def at_least_three_dimensional(image: Tensor) -> Tensor:
    """Returns the image, as a tensor that depends on the checks of its shape.

    Raises: as shape_checks.
    """
    return with_dependencies(shape_checks(image), image)


def shape_checks(image: Tensor) -> list[Operation]:
    """Returns operations that check the shape of an image, none if it is known.

    Raises: ValueError for fewer than three dimensions, or one of size 0; InvalidArgumentError in
      the run.
    """
    shape = image.get_shape()
    try:
        shape = shape.with_rank(3) if shape.ndims is None else shape.with_rank_at_least(3)
    except ValueError:
        raise ValueError(_TOO_FLAT) from None
    if 0 in shape.as_list():
        raise ValueError(f"{_EMPTY}: {shape}")
    if shape.is_fully_defined():
        return []
    with counted_as(22):
        return [
            assert_positive(op("Shape", image), [f"{_EMPTY}."]),
            assert_greater_equal(op("Rank", image), 3, message=_TOO_FLAT),
        ]
