"""foldl, foldr and scan: functions of an accumulator and a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.control_flow.while_loop import while_loop
from headrace.graph.framework import nest
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.scopes import name_scope
from headrace.graph.functional.rows import Rows, cached_variables, check_callable
from headrace.graph.ops.tensor_arrays.tensor_array import TensorArray
from headrace.graph.typing.aliases import TensorStructure


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: TensorStructure,
    initializer: TensorStructure | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Combines the rows of elems from first to last: a = fn(a, row).

    Args:
      fn: function of the accumulator and a row, in the structure of elems; it returns the next
        accumulator.
      elems: tensor, or structure of tensors with the same first dimension.
      initializer: first accumulator; by default the first row.
      parallel_iterations: number of rows that may be computed in parallel.
      back_prop: whether gradients are required.
      swap_memory: whether tensors kept for gradients may be moved to host memory.
      name: name scope of the operations.
    Returns: the last accumulator.
    Raises: TypeError if fn is not callable; ValueError for scalars, different numbers of rows, or
      an accumulator whose structure changes.

    >>> with hr.Session() as session:
    ...     print(session.run(hr.foldl(lambda a, x: 10 * a + x, hr.constant([1, 2, 3]))))
    123
    """
    check_callable(fn)
    with name_scope(name, "foldl", nest.flatten(elems)), cached_variables():
        rows = Rows(elems)
        first = rows.read(0) if initializer is None else initializer
        i = constant(1 if initializer is None else 0)
        _, result = while_loop(
            lambda i, a: i < rows.count,
            lambda i, a: [i + 1, fn(a, rows.read(i))],
            [i, first],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=rows.count,
        )
        return result


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: TensorStructure,
    initializer: TensorStructure | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Combines the rows of elems from last to first: a = fn(a, row).

    Args: as foldl; without an initializer the first accumulator is the last row.
    Returns: the last accumulator.
    Raises: as foldl.

    >>> with hr.Session() as session:
    ...     print(session.run(hr.foldr(lambda a, x: 10 * a + x, hr.constant([1, 2, 3]))))
    321
    """
    check_callable(fn)
    with name_scope(name, "foldr", nest.flatten(elems)), cached_variables():
        rows = Rows(elems)
        count = rows.count
        i = convert_to_tensor(count - 1 if initializer is None else count)
        first = rows.read(i) if initializer is None else initializer
        if initializer is None and isinstance(count, int):
            count_nodes(len(rows.dtypes))  # each read converts the number of the row

        def body(i: Any, a: Any) -> Any:
            i = i - 1
            return [i, fn(a, rows.read(i))]

        _, result = while_loop(
            lambda i, a: i > 0,
            body,
            [i, first],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return result


def scan(
    fn: Callable[[Any, Any], Any],
    elems: TensorStructure,
    initializer: TensorStructure | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Combines the rows of elems as foldl does, and stacks the accumulators of all rows.

    Args:
      fn: function of the accumulator and a row; it returns the next accumulator, in the structure
        of initializer, or of elems without one.
      elems: tensor, or structure of tensors with the same first dimension.
      initializer: first accumulator, not part of the result; by default the first row, which then
        is the first result.
      parallel_iterations: number of rows that may be computed in parallel.
      back_prop: whether gradients are required.
      swap_memory: whether tensors kept for gradients may be moved to host memory.
      infer_shape: all accumulators have the same shape.
      reverse: from the last row to the first; the results keep the order of the rows.
      name: name scope of the operations.
    Returns: in the structure of the accumulator, tensors [rows, *shape of the accumulator].
    Raises: TypeError if fn is not callable; ValueError for scalars, different numbers of rows, or
      an accumulator of another structure.

    >>> with hr.Session() as session:
    ...     print(session.run(hr.scan(lambda a, x: a + x, hr.constant([1, 2, 3]))).tolist())
    [1, 3, 6]
    """
    check_callable(fn)
    structure = elems if initializer is None else initializer
    with name_scope(name, "scan", nest.flatten(elems)), cached_variables():
        rows = Rows(elems, with_shapes=True)
        count = rows.count
        if initializer is None:
            first = rows.read_flat(count - 1 if reverse else 0)
        else:
            first = [convert_to_tensor(value) for value in nest.flatten(initializer)]
        results = [
            TensorArray(
                value.dtype.base_dtype,
                size=count,
                element_shape=value.get_shape() if infer_shape else None,
                dynamic_size=False,
                infer_shape=infer_shape,
            )
            for value in first
        ]
        done = 0
        if initializer is None:
            done = 1
            results = [
                array.write(count - 1 if reverse else 0, a)
                for array, a in zip(results, first, strict=True)
            ]

        def body(i: Any, a: Any, arrays: list[TensorArray]) -> Any:
            row = rows.read(i)
            following = fn(nest.pack_sequence_as(structure, a), row)
            nest.assert_same_structure(structure, following)
            flat = nest.flatten(following)
            written = [array.write(i, value) for array, value in zip(arrays, flat, strict=True)]
            return (i - 1 if reverse else i + 1), flat, written

        _, _, filled = while_loop(
            lambda i, a, _: i >= 0 if reverse else i < count,
            body,
            (convert_to_tensor(count - 1 - done if reverse else done), first, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return nest.pack_sequence_as(structure, rows.stacked(filled))
