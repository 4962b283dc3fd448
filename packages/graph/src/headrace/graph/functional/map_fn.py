"""map_fn: a function applied to each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import constant
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework import nest
from headrace.graph.framework.scopes import name_scope
from headrace.graph.functional.rows import Rows, cached_variables, check_callable
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.typing.aliases import DTypeStructure, TensorStructure


def map_fn(
    fn: Callable[[Any], Any],
    elems: TensorStructure,
    dtype: DTypeStructure | None = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Applies fn to each row of elems, and stacks the results.

    Args:
      fn: function of one row, in the structure of elems; its result has the structure of dtype.
      elems: tensor, or structure of tensors with the same first dimension.
      dtype: dtype of the result of fn, or a structure of them; by default those of elems.
      parallel_iterations: number of rows that may be computed in parallel; 10 by default.
      back_prop: whether gradients are required.
      swap_memory: whether tensors kept for gradients may be moved to host memory.
      infer_shape: all results of fn have the same shape.
      name: name scope of the operations.
    Returns: in the structure of dtype, tensors [rows, *shape of the result of fn].
    Raises: TypeError if fn is not callable, for a SparseTensor, or a result of fn of another
      structure type; ValueError for scalars, different numbers of rows, or a result of another
      structure.

    >>> with hr.Session() as session:
    ...     print(session.run(hr.map_fn(lambda x: x * x, hr.constant([1, 2, 3]))).tolist())
    [1, 4, 9]
    """
    check_callable(fn)
    with name_scope(name, "map", nest.flatten(elems)), cached_variables():
        rows = Rows(elems)
        structure = elems if dtype is None else dtype
        i = constant(0)
        results = [
            TensorArray(t, size=rows.count, dynamic_size=False, infer_shape=infer_shape)
            for t in (rows.dtypes if dtype is None else nest.flatten(dtype))
        ]

        def body(i: Any, arrays: list[TensorArray]) -> Any:
            values = fn(rows.read(i))
            nest.assert_same_structure(structure, values)
            written = [
                array.write(i, value)
                for array, value in zip(arrays, nest.flatten(values), strict=True)
            ]
            return i + 1, written

        _, filled = while_loop(
            lambda i, _: i < rows.count,
            body,
            (i, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=rows.count,
        )
        return nest.pack_sequence_as(structure, rows.stacked(filled))
