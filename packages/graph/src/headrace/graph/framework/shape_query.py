"""What a shape function sees of the node that it decides about."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.framework.tensor_shape import Shape


class ShapeQuery:
    """The question "which shapes have the outputs?".

    Attributes:
      inputs: plain shapes of the inputs.
      attrs: attribute values by name: types as DataType numbers, shapes plain, strings as str
        (bytes where they are no UTF-8), tensors as arrays, lists as tuples.
      n_outputs: how many shapes to return.
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
        """The value of input i where the graph decides it, otherwise None."""
        from headrace.graph.framework.constant_value import constant_value

        self.used_values = True
        return constant_value(self._tensors[i])

    def value_as_shape(self, i: int) -> Shape:
        """The shape that input i, a vector of sizes, says; sizes that are not known are None."""
        from headrace.graph.framework.constant_value import value_as_shape

        self.used_values = True
        return value_as_shape(self._tensors[i])

    def handle(self, i: int) -> tuple[int, Shape] | None:
        """(DataType number, shape) of what the resource in input i holds, where it is known."""
        from headrace.graph.framework.constant_value import handle_data

        self.used_values = True
        return handle_data(self._tensors[i])
