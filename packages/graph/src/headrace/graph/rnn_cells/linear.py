"""A linear map of several tensors, for cells that create variables when they are called."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.arrays.joining import concat
from headrace.graph.ops.convolution.bias import bias_add
from headrace.graph.rnn_cells.cell import checked_depth
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Constant
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope


class Linear:
    """[args] @ kernel + bias, with the variables `kernel` and `bias` of the current scope.

    Args:
      args: tensor [batch, n] or list of them, whose sizes the variables get.
      output_size: columns of the result.
      build_bias: whether there is a bias.
    Raises: ValueError for tensors that are not matrices of known width.
    """

    def __init__(self, args: Any, output_size: int, build_bias: bool) -> None:
        tensors = _listed(args)
        shapes = [t.get_shape() for t in tensors]
        for shape in shapes:
            if shape.ndims != 2:
                raise ValueError(f"linear is expecting 2D arguments: {shapes}")
            if shape.as_list()[1] is None:
                raise ValueError(
                    f"linear expects shape[1] to be provided for shape {shape}, but saw {shape[1]}"
                )
        rows = sum(checked_depth(shape) for shape in shapes)
        dtype = tensors[0].dtype.base_dtype
        scope = get_variable_scope()
        with variable_scope(scope):
            self._kernel = get_variable("kernel", [rows, output_size], dtype=dtype)
            self._bias = None
            if build_bias:
                with variable_scope(scope) as unpartitioned:
                    unpartitioned.set_partitioner(None)
                    self._bias = get_variable(
                        "bias", [output_size], dtype=dtype, initializer=Constant(0.0)
                    )

    def __call__(self, args: Any) -> Tensor:
        """Returns [batch, output_size]."""
        tensors = _listed(args)
        joint = tensors[0] if len(tensors) == 1 else concat(tensors, 1)
        result: Tensor = op("MatMul", joint, self._kernel)
        return result if self._bias is None else bias_add(result, self._bias)


def _listed(args: Any) -> list[Tensor]:
    return [convert_to_tensor(t) for t in (args if isinstance(args, (list, tuple)) else [args])]
