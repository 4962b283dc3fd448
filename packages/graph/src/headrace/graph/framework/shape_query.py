"""The argument of shape functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.framework.tensor_shape import Shape


class ShapeQuery:
    """A node whose output shapes are to be inferred.

    Attributes:
      inputs: plain shapes of the inputs.
      attrs: attribute values by name: types as DataType numbers, shapes plain, strings as str
        (bytes if they are not UTF-8), tensors as arrays, lists as tuples.
      n_outputs: number of shapes to return.
    """

    __slots__ = ("_tensors", "attrs", "inputs", "n_outputs", "used_values")

    def __init__(
        self, inputs: tuple[Shape, ...], attrs: dict[str, Any], n_outputs: int, tensors: Any
    ) -> None:
        self.inputs = inputs
        self.attrs = attrs
        self.n_outputs = n_outputs
        self.used_values = False
        self._tensors = tensors

    def value(self, i: int) -> np.ndarray | None:
        """Returns the static value of input i, or None if it is unknown."""
        from headrace.graph.framework.constant_value import constant_value

        self.used_values = True
        return constant_value(self._tensors[i])

    def value_as_shape(self, i: int) -> Shape:
        """Returns input i, a vector of sizes, as a shape; unknown sizes are None."""
        from headrace.graph.framework.constant_value import value_as_shape

        self.used_values = True
        return value_as_shape(self._tensors[i])

    def handle(self, i: int) -> tuple[int, Shape] | None:
        """Returns (DataType number, shape) of the resource in input i, or None if unknown."""
        from headrace.graph.framework.constant_value import handle_data

        self.used_values = True
        return handle_data(self._tensors[i])
