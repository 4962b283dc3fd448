"""Defun: a decorator that makes a Python function a function of the graph (white paper §10)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.framework.function_library import (
    InvalidFunctionError,
    LibraryFunction,
    signature_of,
)
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.functions.defined_function import (
    DefinedFunction,
    call_function,
    converted_arguments,
)
from headrace.graph.functions.func_graph import FuncGraph
from headrace.graph.typing.aliases import DTypeLike


class Defun:
    """Decorator that makes a Python function a function of the graph.

    Each call of the result adds a node whose op is the function. The Python function runs once, at
    the first call, in a separate graph. What it reads from outside becomes an argument.

    Args:
      input_types: dtypes of the arguments; without them, a function is made for each combination of
        the dtypes of a call.
      func_name: name of the function in the graph; by default that of the Python function and a
        hash.
      grad_func: a Defun that computes the gradient: arguments and gradients of the results ->
        gradients of the arguments.
      python_grad_func: `f(op, *grads)` that builds the gradient of a call.
      out_names: names of the results.
      shape_func: `f(op)` that returns the shapes of the results of a call.
      capture_by_value: copy outer operations into the function instead of passing their results.
      noinline: ask the runtime not to inline calls.
      kwargs: TensorFlow's other options: whitelisted_stateful_ops, capture_resource_var_by_value,
        compiled, separate_compiled_gradients, and attributes that begin with experimental_.
    """

    def __init__(self, *input_types: DTypeLike, **kwargs: Any) -> None:
        self._input_types = [as_dtype(t) for t in input_types]
        self._options = kwargs

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Returns the function of the graph.

        Raises: ValueError if func is not callable, has defaults or keyword arguments, or takes
          another number of arguments than input_types.
        """
        if not callable(func):
            raise ValueError(f"Function {func} must be a callable.")
        names, is_variadic = _argument_names(func)
        count = len(self._input_types)
        if not self._input_types and (names or is_variadic):
            return OverloadedFunction(func, names, **self._options)
        if count < len(names) or (count > len(names) and not is_variadic):
            most = "any number" if is_variadic else len(names)
            raise ValueError(
                "The number of tf.function input types is not compatible with the allowed "
                f"arguments of {func}. The tf.function have {count} input types, while the python "
                f"function allows minimum {len(names)} and maximum {most} arguments."
            )
        return DefinedFunction(func, names, self._input_types, **self._options)


def _argument_names(func: Callable[..., Any]) -> tuple[list[str], bool]:
    """Returns the names of a function's arguments, and whether it takes any number of more."""
    names: list[str] = []
    is_variadic = False
    for p in inspect.signature(func).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            is_variadic = True
        elif p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY) or p.default is not p.empty:
            raise ValueError(
                "Functions with argument defaults or keywords arguments are not supported. "
                f"{func} has {p}."
            )
        else:
            names.append(p.name)
    return names, is_variadic


class OverloadedFunction:
    """A function of the graph for each combination of the dtypes of its calls.

    Args: as DefinedFunction.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        func_name: str | None = None,
        grad_func: Any = None,
        **kwargs: Any,
    ) -> None:
        self._func = func
        self._argnames = list(argnames)
        self._func_name = func_name
        self._grad_func = grad_func
        self._options = kwargs
        self._made: dict[str, DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[DTypeLike]) -> DefinedFunction:
        """Returns the function for some dtypes of the arguments."""
        types = [as_dtype(t).base_dtype for t in input_types]
        key = "".join([_short(t) for t in types])
        found = self._made.get(key)
        if found is None:
            name = None if self._func_name is None else f"{self._func_name}_{key}"
            found = DefinedFunction(self._func, self._argnames, types, name, **self._options)
            if self._grad_func is not None:
                results = [as_dtype(a.type) for a in found.definition.signature.output_arg]
                found.set_grad_func(self._grad_func.instantiate([*types, *results]))
            self._made[key] = found
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a node that calls the function for the dtypes of args; as DefinedFunction."""
        tensors = [convert_to_tensor(a) for a in args]
        return self.instantiate([t.dtype for t in tensors])(*tensors, **kwargs)


def _short(dtype: DType) -> str:
    """Returns the short name of a dtype in the name of an overload: f32, i64, s, …"""
    short = {"string": "s", "bool": "b", "bfloat16": "b16"}.get(dtype.name)
    if short is not None:
        return short
    for begin, letters in (("float", "f"), ("complex", "c"), ("uint", "u"), ("int", "i"),
                           ("quint", "qu"), ("qint", "qi")):  # fmt: skip
        if dtype.name.startswith(begin):
            return letters + dtype.name.removeprefix(begin)
    return dtype.name


class Declare:
    """Declares a function that is defined later, so that functions can call one another.

    Args:
      func_name: its name.
      inputs: (name, dtype) of each argument.
      outputs: (name, dtype) of each result.
    """

    def __init__(
        self,
        func_name: str,
        inputs: Sequence[tuple[str, DTypeLike]],
        outputs: Sequence[tuple[str, DTypeLike]],
    ) -> None:
        from headrace.formats.proto.graph_pb2 import FunctionDef

        definition = FunctionDef()
        definition.signature.name = func_name
        for pairs, target in (
            (inputs, definition.signature.input_arg),
            (outputs, definition.signature.output_arg),
        ):
            for name, dtype in pairs:
                target.add(name=name, type=as_dtype(dtype).as_datatype_enum)
        self._declared = definition
        self._types = [as_dtype(dtype) for _, dtype in inputs]

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._declared.signature.name

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Adds a node that calls the function. Raises: ValueError for another number of inputs."""
        function = LibraryFunction(self._declared)
        values = converted_arguments(function, inputs, self._types)
        graph = get_default_graph()
        known = graph._get_function(self.name)
        if known is not None:
            _check_same_signature(self._declared, known.definition)
            return call_function(known, values, **kwargs)[0]
        graph._declared[self.name] = signature_of(self._declared)
        return call_function(function, values, **kwargs)[0]


def _check_same_signature(declared: Any, definition: Any) -> None:
    for field in ("input_arg", "output_arg"):
        types = [[a.type for a in getattr(d.signature, field)] for d in (declared, definition)]
        if types[0] != types[1]:
            raise InvalidFunctionError(
                None,
                None,
                f"function '{declared.signature.name}' is declared with {field} of types "
                f"{types[0]}, and defined with {types[1]}",
            )


# ---- of the function that is being built ---------------------------------------------------------


def _building() -> FuncGraph | None:
    graph = get_default_graph()
    return graph if isinstance(graph, FuncGraph) else None


def get_extra_vars() -> list[Any]:
    """Returns the variables that the function that is being built got by get_variable."""
    graph = _building()
    return [] if graph is None else graph.extra_vars


def get_extra_inputs() -> list[Tensor]:
    """Returns the outer tensors that the function that is being built captured."""
    graph = _building()
    return [] if graph is None else graph.extra_inputs


def get_extra_args() -> list[Tensor]:
    """Returns the placeholders of those outer tensors, in the function."""
    graph = _building()
    return [] if graph is None else graph.extra_args
