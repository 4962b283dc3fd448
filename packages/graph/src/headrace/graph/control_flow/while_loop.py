"""while_loop, built from Enter, Merge, Switch, NextIteration and Exit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices, SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.composite import packed, parts_of
from headrace.graph.control_flow.context import WhileContext
from headrace.graph.control_flow.context_edges import enter, switch_ref_or_tensor
from headrace.graph.control_flow.control_flow_ops import exit_frame, merge, ref_identity
from headrace.graph.control_flow.loop_variables import depend_on_outer_pivot
from headrace.graph.framework import nest
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import Shape, as_dims, show


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats body while cond is true.

    Args:
      cond: function from the loop variables to a scalar bool tensor.
      body: function from the loop variables to their next values, in the same structure.
      loop_vars: initial values: nested list or tuple of tensors.
      shape_invariants: shapes that hold in all iterations, in the structure of loop_vars; None uses
        the shapes of loop_vars.
      parallel_iterations: number of iterations that may run in parallel.
      back_prop: whether gradients are required.
      swap_memory: whether tensors kept for gradients may be moved to host memory.
      name: name scope of the operations.
      maximum_iterations: scalar int, limit of the number of iterations.
      return_same_structure: return a list of one element as a list; by default it is unpacked.
    Returns: the loop variables after the last iteration.
    Raises: TypeError if cond, body or parallel_iterations have other types; ValueError for no loop
      variables, or values whose structure, dtype or shape changes between iterations.
    """
    with name_scope(name, "while", nest.flatten(loop_vars)):
        if loop_vars is None or (nest.is_nested(loop_vars) and not loop_vars):
            raise ValueError("No loop variables provided")
        if not callable(cond):
            raise TypeError("cond must be callable.")
        if not callable(body):
            raise TypeError("body must be callable.")
        if parallel_iterations < 1:
            raise TypeError("parallel_iterations must be a positive integer.")
        if not nest.is_nested(loop_vars):
            loop_vars = [loop_vars]
        single = len(loop_vars) == 1 and not return_same_structure
        counted = maximum_iterations is not None
        if counted:
            maximum_iterations = convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if maximum_iterations._shape not in (None, ()):
                raise ValueError(
                    f"maximum_iterations must be a scalar, saw shape: {maximum_iterations.shape}"
                )
            cond, body, loop_vars, shape_invariants = _counted(
                cond, body, loop_vars, shape_invariants, maximum_iterations
            )
        context = WhileContext(maximum_iterations, parallel_iterations, back_prop, swap_memory)
        if context.outer_context is None:
            get_default_graph().add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = _build_loop(context, cond, body, loop_vars, shape_invariants)
        if counted:
            result = result[1]
        return result[0] if single else result


def _counted(cond: Any, body: Any, loop_vars: Any, invariants: Any, limit: Tensor) -> Any:
    """Adds an iteration counter to a loop as the first loop variable."""
    counter = constant(0, limit.dtype, name="iteration_counter")
    if invariants is not None:
        invariants = ((), invariants)
    return (
        lambda i, lv: op("LogicalAnd", i < limit, cond(*lv)),
        lambda i, lv: (i + 1, _as_sequence(body(*lv), lv)),
        (counter, loop_vars),
        invariants,
    )


def _as_sequence(result: Any, like: Any) -> Any:
    if not nest.is_nested(result):
        result = [result]
    return (
        nest.pack_sequence_as(like, nest.flatten(result))
        if type(result) is not type(like) and len(nest.flatten(result)) == len(nest.flatten(like))
        else result
    )


def _build_loop(
    context: WhileContext, cond: Any, body: Any, loop_vars: Any, shape_invariants: Any
) -> Any:
    graph = context.graph
    outer = context.outer_context
    tensors = [part for leaf in nest.flatten(loop_vars) for part in parts_of(leaf)]
    shapes = _invariants(loop_vars, tensors, shape_invariants)
    with context:
        context.values = set(tensors)
        real = tensors if outer is None else [outer.add_value(t) for t in tensors]
        enters = []
        with graph.control_dependencies(None):
            for tensor, shape in zip(real, shapes):
                entered = enter(tensor, context.name, False, context.parallel_iterations)
                entered._shape = shape
                graph.prevent_feeding(entered)
                enters.append(entered)
        depend_on_outer_pivot(context, enters)
        context.place_enters(enters)
        context.values = set(enters)
        context.loop_enters = enters

        merges = [merge([t, t])[0] for t in enters]
        context.pivot_for_pred = merges[0]
        go_on = convert_to_tensor(cond(*packed(loop_vars, merges)))
        context.pivot = op("LoopCond", go_on, name="LoopCond")
        switched = [switch_ref_or_tensor(t, context.pivot) for t in merges]

        in_body = [ref_identity(pair[1]) for pair in switched]
        context.pivot_for_body = in_body[0]
        arguments = packed(loop_vars, in_body)
        result = body(*arguments)
        if not nest.is_nested(result):
            result = [result]
        # Many programs return a list for a tuple at the top level.
        nest.assert_same_structure(list(arguments), list(result))
        following = [part for leaf in nest.flatten(result) for part in parts_of(leaf)]
        if len(following) != len(merges):
            raise ValueError(
                "Number of inputs and outputs of body must match loop_vars: "
                f"{len(merges)}, {len(following)}"
            )
        for merged, value in zip(merges, following):
            _close(merged, value)
        exits = [exit_frame(pair[0]) for pair in switched]
        context.loop_exits = exits
        context.exit_result(exits)
    return packed(result, exits)


def _invariants(loop_vars: Any, tensors: list[Tensor], invariants: Any) -> list[Shape]:
    """Returns the shape invariant of each loop variable."""
    if invariants is None:
        return [t._shape for t in tensors]
    shapes: list[Shape] = []
    leaves = nest.flatten(loop_vars)
    invariant_leaves = nest.flatten_up_to(loop_vars, invariants, check_types=False)
    for leaf, shape in zip(leaves, invariant_leaves):
        parts = parts_of(leaf)
        for part, dims in zip(parts, _shapes_of_parts(leaf, as_dims(shape)), strict=False):
            if not _less_specific(dims, part._shape):
                raise ValueError(
                    f"The shape invariant specified for {part.name} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape "
                    f"{show(part._shape)}, but the specified shape invariant is {show(dims)}."
                )
            shapes.append(dims)
    return shapes


def _shapes_of_parts(leaf: Any, dims: Shape) -> list[Shape]:
    """Returns the shapes of a loop variable's tensors.

    The invariant of a SparseTensor is the shape of its dense_shape, that of IndexedSlices the shape
    of their values.
    """
    if isinstance(leaf, SparseTensor):
        if dims is not None and len(dims) != 1:
            raise ValueError(f"Expected a shape with 1 dimension, got {show(dims)}")
        rank = None if dims is None else dims[0]
        return [(None, rank), (None,), (rank,)]
    if isinstance(leaf, IndexedSlices):
        return [dims, (None,) if dims is None else dims[:1], (None if dims is None else len(dims),)]
    return [dims]


def _less_specific(general: Shape, special: Shape) -> bool:
    """Returns whether a shape is less specific than another."""
    if general is None:
        return True
    if special is None or len(general) != len(special):
        return False
    return all(g is None or g == s for g, s in zip(general, special))


def _close(merged: Tensor, value: Tensor) -> None:
    """Adds the NextIteration of a loop variable, and checks its dtype and shape."""
    if value.dtype.base_dtype is not merged.dtype.base_dtype:
        raise TypeError(
            f"Loop variable {merged.op.inputs[0].op.inputs[0].name!r} enters the loop with type "
            f"{merged.dtype.base_dtype.name}, but has type {value.dtype.base_dtype.name} after "
            "one iteration."
        )
    kind = "RefNextIteration" if value.dtype.is_ref_dtype else "NextIteration"
    following = op(kind, value, name="NextIteration")
    if not _less_specific(merged._shape, following._shape):
        source = merged.op.inputs[0].op.inputs[0]
        raise ValueError(
            f"Input tensor {source.name!r} enters the loop with shape {show(merged._shape)}, but "
            f"has shape {show(following._shape)} after one iteration. To allow the shape to vary "
            "across iterations, use the `shape_invariants` argument of hr.while_loop to specify a "
            "less-specific shape."
        )
    merged.op._update_input(1, following)
