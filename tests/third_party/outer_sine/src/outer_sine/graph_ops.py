"""The op's shape function and gradient."""

from __future__ import annotations

from typing import Any

import headrace.graph as hr
from headrace.graph.framework.op_registry import gradient, shape_rule


@shape_rule("OuterSine")
def outer_sine_shape(query: Any) -> list[Any]:
    sizes = []
    for name, shape in zip("xy", query.inputs, strict=True):
        if shape is not None and len(shape) != 1:
            raise ValueError(f"{name} must be a vector, but has rank {len(shape)}")
        sizes.append(None if shape is None else shape[0])
    return [tuple(sizes)]


@gradient("OuterSine")
def outer_sine_gradient(op: hr.Operation, grad: hr.Tensor) -> list[hr.Tensor]:
    x, y = op.inputs
    frequency = op.get_attr("frequency")
    along_x = hr.reduce_sum(grad * hr.expand_dims(y, 0), 1)
    along_y = hr.reduce_sum(grad * hr.expand_dims(hr.sin(frequency * x), 1), 0)
    return [along_x * frequency * hr.cos(frequency * x), along_y]
