"""Ops that call functions: conditionals, loops, calls on another device, symbolic gradients.

Each takes functions that Defun or hr.function made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.functions.defined_function import DefinedFunction
from headrace.graph.functions.defun import Defun, get_extra_args
from headrace.graph.typing.aliases import TensorLike

Function = Any  # a DefinedFunction or ConcreteFunction


def If(  # noqa: N802 - TF's name
    cond: TensorLike,
    inputs: Sequence[TensorLike],
    then_branch: Function,
    else_branch: Function,
    name: str | None = None,
) -> Any:
    """Calls one of two functions.

    Args:
      cond: scalar; a number counts as true if it is not zero, a string if it is not empty.
      inputs: arguments of both functions.
      then_branch, else_branch: functions with equal signatures.
    Returns: a list of the results; the Operation if there is none.
    Raises: ValueError for functions whose results have different dtypes, or that capture tensors.
    """
    types = _output_types(then_branch)
    if types != _output_types(else_branch):
        raise ValueError(
            "then_branch and else_branch must return the same dtypes, got "
            f"{_names(types)} and {_names(_output_types(else_branch))}"
        )
    _check_captures(then_branch, else_branch)
    return op(
        "If",
        cond,
        list(inputs),
        Tout=types,
        then_branch=then_branch,
        else_branch=else_branch,
        output_shapes=_common_shapes([then_branch, else_branch]),
        name=name,
    )


def Case(  # noqa: N802 - as the other functions
    branch_index: TensorLike,
    inputs: Sequence[TensorLike],
    branches: Sequence[Function],
    name: str | None = None,
) -> Any:
    """Calls one of several functions.

    Args:
      branch_index: scalar int32; the last function is called if it is out of range.
      inputs: arguments of all functions.
      branches: functions with equal signatures.
    Returns: a list of the results; the Operation if there is none.
    Raises: ValueError for no function, different dtypes, or functions that capture tensors.
    """
    if not branches:
        raise ValueError("Must provide at least one branch")
    types = _output_types(branches[0])
    for branch in branches:
        if _output_types(branch) != types:
            raise ValueError(
                "branches must return the same dtypes, got "
                f"{_names(types)} and {_names(_output_types(branch))}"
            )
    _check_captures(*branches)
    return op(
        "Case",
        branch_index,
        list(inputs),
        Tout=types,
        branches=list(branches),
        output_shapes=_common_shapes(branches),
        name=name,
    )


def Gradient(  # noqa: N802 - TF's name
    inputs: Sequence[TensorLike], f: Function, name: str | None = None
) -> Any:
    """Computes the gradient of a function.

    Args:
      inputs: the arguments of f, then a gradient for each of its results.
      f: a function.
    Returns: a list with the gradient of each argument.
    """
    return op("SymbolicGradient", list(inputs), Tout=_input_types(f), f=f, name=name)


symbolic_gradient = Gradient


def While(  # noqa: N802 - TF's name
    input_: Sequence[TensorLike],
    cond: Function,
    body: Function,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
) -> Any:
    """Calls a function again and again while another returns true.

    Args:
      input_: the first arguments.
      cond: function of the arguments that returns a scalar.
      body: function of the arguments that returns the next ones.
      hostmem: indices of arguments in host memory, an attribute of the node.
    Returns: a list of the last arguments; the Operation if there is none.
    Raises: ValueError if cond captures tensors or takes other dtypes than body.
    """
    if _captured(cond):
        raise ValueError(
            "The 'cond' argument can not have implicitly captured inputs. Received "
            f"captured_inputs: {_captured(cond)}"
        )
    declared = _declared_types(body)
    if _declared_types(cond) != declared:
        raise ValueError(
            "The 'cond' and 'body' signatures do not match. Received: "
            f"cond_input_types={_names(_declared_types(cond))}, "
            f"body_input_types={_names(declared)}"
        )
    more = _captured(body)
    if more:
        types = [*declared, *[t.dtype for t in more]]
        first = cond

        @Defun(*types, func_name=f"{cond.name}_Wrapper")
        def go_on(*args: Any) -> Any:
            return first(*args[: len(declared)])

        cond, body = go_on, _returning_captures(body)
    outputs = op(
        "While",
        [*input_, *more],
        cond=cond,
        body=body,
        output_shapes=[],
        name=name,
    )
    if isinstance(outputs, Operation):
        return outputs
    _set_host_memory(outputs, hostmem, 0)
    return outputs[: len(outputs) - len(more)]


def For(  # noqa: N802 - TF's name
    start: TensorLike,
    limit: TensorLike,
    delta: TensorLike,
    inputs: Sequence[TensorLike],
    body: Function,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
    rewrite_with_while: bool | None = None,
) -> Any:
    """Calls a function for each of a range of numbers.

    Args:
      start, limit, delta: scalars int32: the first number, the bound, and the step.
      inputs: the first values of the arguments that follow the number.
      body: function of the number and the values that returns the next values.
      hostmem: indices of values in host memory, an attribute of the node.
      rewrite_with_while: call the function by While.
    Returns: a list of the last values; the Operation if there is none.
    """
    if rewrite_with_while:
        return _for_by_while(start, limit, delta, inputs, body, name, hostmem)
    more = _captured(body)
    if more:
        body = _returning_captures(body)
    outputs = op("For", start, limit, delta, [*inputs, *more], body=body, name=name)
    if isinstance(outputs, Operation):
        return outputs
    _set_host_memory(outputs, hostmem, 3)
    return outputs[: len(outputs) - len(more)]


def _for_by_while(
    start: Any, limit: Any, delta: Any, inputs: Any, body: Function, name: Any, hostmem: Any
) -> Any:
    """Computes For by While: the iteration number, and start and delta, are arguments too."""
    step = op("Abs", delta)
    count = op("Maximum", op("FloorDiv", (limit - start) * op("Sign", delta) + step - 1, step), 0)
    types: list[Any] = [as_dtype("int32")] * 4 + _declared_types(body)[1:]

    @Defun(*types, func_name=f"{body.name}_Cond")
    def go_on(i: Any, n: Any, *_: Any) -> Any:
        return op("Less", i, n)

    @Defun(*types, func_name=f"{body.name}_Body")
    def following(i: Any, n: Any, start: Any, delta: Any, *args: Any) -> Any:
        return (i + 1, n, start, delta, *_as_tuple(body(start + i * delta, *args)))

    host = [0, 1, 2, 3] + [4 + i for i in hostmem or ()]
    return While([0, count, start, delta, *inputs], go_on, following, name, host)[4:]


def partitioned_call(
    args: Sequence[TensorLike],
    f: Function,
    tout: Sequence[Any] | None = None,
    executing_eagerly: bool | None = None,
    config: bytes | None = None,
    executor_type: str | None = None,
) -> Any:
    """Calls a function; the call may run on several devices.

    Args:
      args: arguments of the function, with the tensors that it captured.
      f: the function.
      tout: dtypes of the results; by default those of the function.
      executing_eagerly: ignored.
      config: serialized ConfigProto for the call.
      executor_type: name of an executor.
    Returns: a list of the results; the Operation if there is none.
    """
    types = _output_types(f) if tout is None else [as_dtype(t) for t in tout]
    is_stateful = f.definition.signature.is_stateful
    return op(
        "StatefulPartitionedCall" if is_stateful else "PartitionedCall",
        list(args),
        Tout=types,
        f=f,
        config_proto=config or "",
        executor_type=executor_type or "",
    )


def remote_call(
    args: Sequence[TensorLike],
    Tout: Sequence[Any],  # noqa: N803 - TF's name
    f: Function,
    target: TensorLike,
    name: str | None = None,
) -> Any:
    """Calls a function on a device.

    Args:
      args: arguments of the function.
      Tout: dtypes of the results.
      f: the function.
      target: scalar string, name of the device.
    Returns: a list of the results; the Operation if there is none.
    """
    return op("RemoteCall", target, list(args), Tout=Tout, f=f, name=name)


# ---- of the functions ----------------------------------------------------------------------------


def _output_types(f: Function) -> list[DType]:
    return [as_dtype(a.type) for a in f.definition.signature.output_arg]


def _input_types(f: Function) -> list[DType]:
    return [as_dtype(a.type) for a in f.definition.signature.input_arg]


def _names(types: Sequence[DType]) -> list[str]:
    return [t.name for t in types]


def _captured(f: Function) -> list[Tensor]:
    return list(getattr(f, "captured_inputs", ()))


def _declared_types(f: Function) -> list[DType]:
    """Returns the dtypes of the arguments, without captured tensors."""
    types = _input_types(f)
    return types[: len(types) - len(_captured(f))]


def _check_captures(*functions: Function) -> None:
    """Raises ValueError for captured tensors: nothing would pass them."""
    for f in functions:
        if _captured(f):
            raise ValueError(
                f"function '{f.name}' captures {_captured(f)}, which a branch cannot: pass them in "
                "inputs"
            )


def _common_shapes(functions: Sequence[Function]) -> list[Any]:
    """Returns what is known of the results' shapes, whichever function is called."""
    shapes = [_shapes(f) for f in functions]
    if any(s is None for s in shapes):
        return []
    return [_common(list(of_one)) for of_one in zip(*shapes, strict=True)]


def _shapes(f: Function) -> list[Any] | None:
    graph = getattr(f, "graph", None)
    return None if graph is None else [t._shape for t in graph.outputs]


def _common(shapes: list[Any]) -> Any:
    first = shapes[0]
    if any(s is None or len(s) != len(first or ()) for s in shapes):
        return None
    return tuple([d if all(s[i] == d for s in shapes) else None for i, d in enumerate(first)])


def _returning_captures(body: Function) -> DefinedFunction:
    """Returns a function that also takes and returns the tensors that body captured."""

    @Defun(*_declared_types(body), func_name=f"{body.name}_Wrapper")
    def wrapper(*args: Any) -> Any:
        return (*_as_tuple(body(*args)), *get_extra_args())

    return wrapper


def _as_tuple(results: Any) -> tuple[Any, ...]:
    if isinstance(results, Operation):
        return ()
    return tuple(results) if isinstance(results, (list, tuple)) else (results,)


def _set_host_memory(outputs: Sequence[Tensor], hostmem: Any, before: int) -> None:
    if hostmem and outputs:
        from headrace.formats.proto.op_pb2 import AttrValue

        inputs = AttrValue(list=AttrValue.ListValue(i=[before + i for i in hostmem]))
        outputs[0].op._set_attr("_input_hostmem", inputs)
        results = AttrValue(list=AttrValue.ListValue(i=list(hostmem)))
        outputs[0].op._set_attr("_output_hostmem", results)
