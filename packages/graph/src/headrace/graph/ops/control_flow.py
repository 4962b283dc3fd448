"""Order, branches and loops: no_op, group, tuple, cond, case, while_loop, Assert."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph import nest
from headrace.graph.control_flow_context import (
    CondContext,
    WhileContext,
    enter,
    is_constant_enter,
    switch_ref_or_tensor,
)
from headrace.graph.conversion import (
    convert_to_tensor,
    convert_to_tensor_or_indexed_slices,
)
from headrace.graph.graph import get_default_graph
from headrace.graph.graph_keys import GraphKeys
from headrace.graph.indexed_slices import IndexedSlices, SparseTensor
from headrace.graph.op_builder import op
from headrace.graph.op_registry import gradient, no_gradient
from headrace.graph.operation import Operation, Tensor
from headrace.graph.scopes import name_scope
from headrace.graph.tensor_shape import Shape, as_dims, show

# ---- order ---------------------------------------------------------------------------------


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; others are hung before it."""
    return op("NoOp", name=name)


def identity(input: Any, name: str | None = None) -> Any:  # noqa: A002 - TF's name
    """A tensor of the same value (a SparseTensor or IndexedSlices of the same values)."""
    if isinstance(input, SparseTensor):
        return SparseTensor(
            identity(input.indices, name=name), identity(input.values), identity(input.dense_shape)
        )
    if isinstance(input, IndexedSlices):
        shape = input.dense_shape
        return IndexedSlices(
            identity(input.values, name=name),
            identity(input.indices),
            None if shape is None else identity(shape),
        )
    return op("Identity", input, name=name)


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:  # noqa: A002 - TF's name
    """Tensors of the same values, all there only when all of the inputs are."""
    return op("IdentityN", input, name=name)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """A tensor of the same value, there only after the dependencies have run."""
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope:
        with get_default_graph().colocate_with(output_tensor):
            with get_default_graph().control_dependencies(dependencies):
                value = convert_to_tensor_or_indexed_slices(output_tensor)
                if isinstance(value, Tensor):
                    return _identity(value, scope)
                return IndexedSlices(
                    _identity(value.values, scope), value.indices, value.dense_shape
                )


def _identity(data: Tensor, name: str | None = None) -> Tensor:
    return op("RefIdentity" if data.dtype.is_ref_dtype else "Identity", data, name=name)


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that is done when all the inputs are.

    Args:
      inputs: operations, tensors, variables, or lists of these.
      name: of the operation.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    graph = get_default_graph()
    flat = nest.flatten(list(inputs))
    with name_scope(name, "group_deps", flat) as scope:
        if not flat:
            return no_op(name=scope)
        by_device: dict[str, list[Operation]] = {}
        for item in flat:
            if not hasattr(item, "device") and not hasattr(item, "op"):
                raise TypeError(f"Expected hr.group() expected Tensor objects not None or {item!r}")
            element = item.op if isinstance(item, (IndexedSlices, SparseTensor)) else item
            element = graph.as_graph_element(element)
            operation = element.op if isinstance(element, Tensor) else element
            by_device.setdefault(operation.device, []).append(operation)
        if len(by_device) == 1:
            ((device, deps),) = by_device.items()
            return _group_on(device, deps, scope)
        # One node for each device, and one that waits for those.
        parts = [_group_on(device, by_device[device], "NoOp") for device in sorted(by_device)]
        with graph.control_dependencies(parts):
            return no_op(name=scope)


def _group_on(device: str, deps: list[Operation], name: str) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(deps):
        if not device:
            return no_op(name=name)
        with graph.device(device):
            return no_op(name=name)


def tuple(  # noqa: A001 - TF's name
    tensors: Any, name: str | None = None, control_inputs: Any = None
) -> list[Any]:
    """The same tensors, each there only when all of them (and the control inputs) are.

    Raises: ValueError without a tensor; TypeError for other control inputs.
    """
    graph = get_default_graph()
    with name_scope(name, "tuple", tensors):
        gating: list[Any] = []
        for t in tensors:
            if t is not None:
                gating.append(t if isinstance(t, Operation) else t.op)
        for c in control_inputs or ():
            if isinstance(c, Tensor):
                c = c.op
            elif not isinstance(c, Operation):
                raise TypeError(f"Control input must be Operation or Tensor: {c}")
            gating.append(c)
        gating = sorted(set(gating), key=lambda o: o._id)
        if not gating:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        with graph.control_dependencies(gating):
            gate = no_op(name="group_deps")
        out: list[Any] = []
        for t in tensors:
            if t is None:
                out.append(None)
            elif isinstance(t, Operation):
                out.append(t)
            else:
                out.append(with_dependencies([gate], t))
        return out


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> Any:
    """(output_false, output_true): data comes out of the one that pred says."""
    data = convert_to_tensor_or_indexed_slices(data, dtype)
    pred = convert_to_tensor(pred, name="pred")
    return op("Switch", data, pred, name=name)


def merge(inputs: Any, name: str | None = None) -> Any:
    """(output, value_index): whichever of the inputs is there first."""
    if any(i is None for i in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    tensors = [convert_to_tensor(i, as_ref=True) for i in inputs]
    kind = "RefMerge" if all(t.dtype.is_ref_dtype for t in tensors) else "Merge"
    return op(kind, tensors, name=name)


def exit(data: Tensor, name: str | None = None) -> Tensor:  # noqa: A001 - TF's name
    """The tensor outside of its loop."""
    return op("RefExit" if data.dtype.is_ref_dtype else "Exit", data, name=name)


# ---- assertions ----------------------------------------------------------------------------


def Assert(  # noqa: N802 - TF's name
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that fails unless the condition holds, showing the data.

    Args:
      condition: scalar bool.
      data: list of tensors to show.
      summarize: how many elements of each to show; 3 where None.
    """
    condition = convert_to_tensor(condition, name="condition")
    with name_scope(name, "Assert", [condition, *data]):
        xs = [convert_to_tensor(x) for x in data]
        shown = 3 if summarize is None else summarize
        if all(x.dtype.base_dtype.as_datatype_enum in (7, 3) for x in xs):
            return op("Assert", condition, xs, summarize=shown, name="Assert")
        # The data may be on a device: they are brought here only if the condition fails.
        guarded = cond(
            condition,
            no_op,
            lambda: op("Assert", condition, xs, summarize=shown, name="Assert"),
            name="AssertGuard",
        )
        return guarded.op


# ---- cond ------------------------------------------------------------------------------------


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What true_fn returns where pred is true, else what false_fn returns.

    Both functions build their operations; only those of one branch run. What was built outside of
    them runs in any case.

    Args:
      pred: scalar bool tensor.
      true_fn, false_fn: functions without arguments, returning the same structure of the same
        types.
      strict: keep lists and tuples of one element.
    Raises: TypeError for what is no function or no tensor, or types that differ; ValueError for
      structures that differ or a function that returns nothing.
    """
    true_fn = fn1 if true_fn is None else true_fn
    false_fn = fn2 if false_fn is None else false_fn
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    graph = get_default_graph()
    with name_scope(name, "cond", [pred]):
        pred = convert_to_tensor(pred, name="pred")
        p_false, p_true = op("Switch", pred, pred, name="Switch")
        pivot_true = identity(p_true, name="switch_t")
        pivot_false = identity(p_false, name="switch_f")
        pred = identity(pred, name="pred_id")
        for t in (p_true, p_false, pivot_true, pivot_false, pred):
            graph.prevent_fetching(t.op)
        context_true, original_true, flat_true = _branch(pred, pivot_true, 1, true_fn, "true_fn")
        context_false, original_false, flat_false = _branch(
            pred, pivot_false, 0, false_fn, "false_fn"
        )
        try:
            nest.assert_same_structure(original_true, original_false)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"Incompatible return types of true_fn and false_fn: {error}"
            ) from None
        merges = []
        for number, (t, f) in enumerate(zip(flat_true, flat_false)):
            if t.dtype.base_dtype is not f.dtype.base_dtype:
                raise TypeError(
                    "Outputs of true_fn and false_fn must have the same type(s). Received "
                    f"{t.dtype.name} from true_fn and {f.dtype.name} from false_fn "
                    f"for output {number}."
                )
            merges.append(merge([f, t])[0])
        if context_true.outer_context is None:
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_true)
            graph.add_to_collection(GraphKeys.COND_CONTEXT, context_false)
    result = _packed(original_true, merges)
    if not strict and isinstance(result, (list, builtin_tuple)) and len(result) == 1:
        return result[0]
    return result


builtin_tuple: Any = ().__class__


def _branch(
    pred: Tensor, pivot: Tensor, number: int, function: Callable[[], Any], argument: str
) -> Any:
    """(context, structure that the function returned, flat tensors that leave the branch)."""
    context = CondContext(pred, pivot, number)
    with context:
        original = function()
        if original is None:
            raise ValueError(f"{argument} must have a return value.")
        flat: list[Tensor] = []
        for leaf in nest.flatten(original):
            if isinstance(leaf, Operation):
                # The pivot stands for an operation, since only tensors can be merged.
                flat.append(context.branch_output(with_dependencies([leaf], pivot)))
                continue
            for part in _parts(leaf):
                flat.append(context.branch_output(part))
        context.exit_result(flat)
    return context, original, flat


def _parts(leaf: Any) -> list[Tensor]:
    """The tensors that make up a leaf of a structure."""
    if hasattr(leaf, "_with_flow"):  # TensorArray: its flow orders what is done to it
        return [leaf.flow]
    leaf = leaf if isinstance(leaf, SparseTensor) else convert_to_tensor_or_indexed_slices(leaf)
    if isinstance(leaf, SparseTensor):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    if isinstance(leaf, IndexedSlices):
        return [t for t in (leaf.values, leaf.indices, leaf.dense_shape) if t is not None]
    return [leaf]


def _packed(structure: Any, flat: list[Tensor]) -> Any:
    """Puts tensors into a structure: the inverse of _parts on its leaves."""
    parts = iter(flat)
    leaves: list[Any] = []
    for leaf in nest.flatten(structure):
        if hasattr(leaf, "_with_flow"):
            leaves.append(leaf._with_flow(next(parts)))
        elif isinstance(leaf, SparseTensor):
            leaves.append(SparseTensor(next(parts), next(parts), next(parts)))
        elif isinstance(leaf, IndexedSlices):
            values, indices = next(parts), next(parts)
            shape = None if leaf.dense_shape is None else next(parts)
            leaves.append(IndexedSlices(values, indices, shape))
        else:
            leaves.append(next(parts))
    return nest.pack_sequence_as(structure, leaves)


# ---- case ------------------------------------------------------------------------------------


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function of the first true predicate returns; that of default where none is.

    Args:
      pred_fn_pairs: list of (scalar bool tensor, function), or a dict of these.
      default: function; without one, some predicate must be true.
      exclusive: fail where more than one predicate is true.
    Raises: TypeError for other arguments; ValueError without a pair.
    """
    if isinstance(pred_fn_pairs, Mapping):
        pairs = sorted(pred_fn_pairs.items(), key=lambda pair: pair[0].name)
        if type(pred_fn_pairs) is not dict:  # an ordered mapping says its own order
            pairs = list(pred_fn_pairs.items())
    elif isinstance(pred_fn_pairs, (list, builtin_tuple)):
        pairs = list(pred_fn_pairs)
    else:
        raise TypeError("'pred_fn_pairs' must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, builtin_tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]!r} must be callable.")
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs:
        raise ValueError("case needs at least one pair of predicate and function")
    preds, functions = zip(*pairs)
    with name_scope(name, "case", [preds]):
        if default is None:
            default = _assert_last(preds, functions[-1], name)
            preds, functions = preds[:-1], functions[:-1]
            if not preds:
                return default()
        if exclusive:
            check = _assert_exclusive(builtin_tuple(p for p, _ in pairs), name)
            with get_default_graph().control_dependencies([check]):
                return _nested_conds(preds, functions, default, strict)
        return _nested_conds(preds, functions, default, strict)


def _nested_conds(preds: Any, functions: Any, default: Any, strict: bool) -> Any:
    build = default
    for pred, function in reversed(builtin_tuple(zip(preds, functions))):
        build = functools.partial(cond, pred, function, build, strict)
    return build()


def _assert_last(preds: Any, function: Callable[[], Any], name: str) -> Callable[[], Any]:
    def last() -> Any:
        message = f"None of conditions evaluated as True. Conditions: ({_names(preds)}), values:"
        with get_default_graph().control_dependencies(
            [Assert(preds[-1], [message, op("Pack", builtin_list(preds))], name="assert_one")]
        ):
            return function()

    return last


builtin_list: Any = [].__class__


def _assert_exclusive(preds: Any, name: str) -> Operation:
    packed = op("Pack", builtin_list(preds), name="preds_c")
    count = op("Sum", op("Cast", packed, DstT=3), [0], name="num_true_conds")
    message = (
        "More than one condition evaluated as True but exclusive=True. "
        f"Conditions: ({_names(preds)}), Values:"
    )
    return Assert(count < 2, [message, packed], summarize=len(preds), name="assert_exclusive")


def _names(preds: Any) -> str:
    return ", ".join([p.name for p in preds])


def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """What the function of that number returns.

    Args:
      branch_index: scalar int32 tensor.
      branch_fns: list of functions, or of (number, function), or a dict of these.
      default: function for other numbers; that of the largest number where None.
    Raises: TypeError for other arguments; ValueError for numbers that are not 0, 1, ...
    """
    if isinstance(branch_fns, Mapping):
        branch_fns = list(branch_fns.items())
    if not branch_fns:
        raise ValueError("switch_case needs at least one branch")
    if all(callable(f) for f in branch_fns):
        branch_fns = list(enumerate(branch_fns))
    if not all(isinstance(i, int) and callable(f) for i, f in branch_fns):
        raise TypeError("branch_fns must be functions, or pairs of an int and a function")
    branches = sorted(branch_fns, key=lambda pair: pair[0])
    if len({i for i, _ in branches}) != len(branches):
        raise ValueError(f"branch indices must be distinct, got {[i for i, _ in branches]}")
    last = branches.pop()[1] if default is None else default
    with name_scope(name):
        index = convert_to_tensor(branch_index, name="branch_index")
        build = last
        for number, function in reversed(branches):
            build = functools.partial(_when_equal, index, number, function, build)
        return build()


def _when_equal(index: Tensor, number: int, function: Any, otherwise: Any) -> Any:
    return cond(op("Equal", index, number), function, otherwise)


# ---- while_loop ----------------------------------------------------------------------------------


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
    """Repeats body on loop_vars as long as cond of them is true; returns the last ones.

    Args:
      cond: loop variables -> scalar bool tensor.
      body: loop variables -> their next values, in the same structure.
      loop_vars: list or tuple of tensors, at any depth.
      shape_invariants: shapes (in the structure of loop_vars) that hold in every iteration; those
        of loop_vars where None.
      parallel_iterations: how many iterations may be under way at a time.
      back_prop: whether gradients are wanted.
      swap_memory: whether what gradients need may leave the device meanwhile.
      maximum_iterations: scalar; the loop ends after as many in any case.
      return_same_structure: keep a list of one element.
    Raises: TypeError for what is no function; ValueError for no loop variables, or values whose
      structure, type or shape changes from one iteration to the next.
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
    """Adds a counter to a loop as its first variable."""
    from headrace.graph.conversion import constant

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
    tensors = [part for leaf in nest.flatten(loop_vars) for part in _parts(leaf)]
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
        _hold_back(context, enters)
        context.place_enters(enters)
        context.values = set(enters)
        context.loop_enters = enters

        merges = [merge([t, t])[0] for t in enters]
        context.pivot_for_pred = merges[0]
        go_on = convert_to_tensor(cond(*_packed(loop_vars, merges)))
        context.pivot = op("LoopCond", go_on, name="LoopCond")
        switched = [switch_ref_or_tensor(t, context.pivot) for t in merges]

        in_body = [_identity(pair[1]) for pair in switched]
        context.pivot_for_body = in_body[0]
        arguments = _packed(loop_vars, in_body)
        result = body(*arguments)
        if not nest.is_nested(result):
            result = [result]
        # A list in the place of a tuple at the top is the custom of many programs.
        nest.assert_same_structure(builtin_list(arguments), builtin_list(result))
        following = [part for leaf in nest.flatten(result) for part in _parts(leaf)]
        if len(following) != len(merges):
            raise ValueError(
                "Number of inputs and outputs of body must match loop_vars: "
                f"{len(merges)}, {len(following)}"
            )
        for merged, value in zip(merges, following):
            _close(merged, value)
        exits = [exit(pair[0]) for pair in switched]
        context.loop_exits = exits
        context.exit_result(exits)
    return _packed(result, exits)


def _hold_back(context: WhileContext, enters: list[Tensor]) -> None:
    """In an outer loop, an invariant enters the inner one only where an iteration takes place."""
    outer = context.outer_context
    pivot = None
    while outer is not None and pivot is None:
        pivot = outer.control_pivot
        outer = outer.outer_context
    if pivot is not None:
        for tensor in enters:
            if is_constant_enter(tensor.op.inputs[0].op):
                tensor.op.control_inputs = (*tensor.op.control_inputs, pivot.op)


def _invariants(loop_vars: Any, tensors: list[Tensor], given: Any) -> list[Shape]:
    """The shape of each tensor that goes round."""
    if given is None:
        return [t._shape for t in tensors]
    shapes: list[Shape] = []
    leaves = nest.flatten(loop_vars)
    said = nest.flatten_up_to(loop_vars, given, check_types=False)
    for leaf, shape in zip(leaves, said):
        parts = _parts(leaf)
        if len(parts) > 1:
            dims = as_dims(shape)
            rank = None if dims is None else len(dims)
            if isinstance(leaf, SparseTensor):
                shapes.extend([(None, rank), (None,), (rank,)])
            else:
                shapes.extend([t._shape for t in parts])
            continue
        dims = as_dims(shape)
        if not _less_specific(dims, parts[0]._shape):
            raise ValueError(
                f"The shape invariant specified for {parts[0].name} is not compatible with the "
                f"initial shape of the loop variable. It enters the loop with shape "
                f"{show(parts[0]._shape)}, but the specified shape invariant is {show(dims)}."
            )
        shapes.append(dims)
    return shapes


def _less_specific(general: Shape, special: Shape) -> bool:
    """Whether all tensors of the special shape are of the general one."""
    if general is None:
        return True
    if special is None or len(general) != len(special):
        return False
    return all(g is None or g == s for g, s in zip(general, special))


def _close(merged: Tensor, value: Tensor) -> None:
    """Adds the back edge of one loop variable."""
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


# ---- gradients -----------------------------------------------------------------------------------


def _not_yet(op_type: str, what: str) -> None:
    @gradient(op_type)
    def refuse(operation: Operation, *grads: Any) -> Any:
        raise LookupError(
            f"No gradient defined for {op_type} '{operation.name}': gradients through {what} are "
            "not implemented yet; cut the path with hr.stop_gradient, or unroll it in Python"
        )


for _op_type in ("Switch", "Merge", "RefSwitch", "RefMerge"):
    _not_yet(_op_type, "hr.cond and hr.while_loop")
for _op_type in ("Enter", "Exit", "NextIteration", "RefEnter", "RefExit", "RefNextIteration"):
    _not_yet(_op_type, "hr.while_loop")
for _op_type in ("LoopCond", "NoOp", "ControlTrigger", "Abort"):
    no_gradient(_op_type, "it only steers the run")
