"""DefinedFunction: a function of the graph that Defun made, and its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.formats.dtypes import DType, as_dtype, resource
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.framework.function_library import LibraryFunction, called_names
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.node_messages import create_from_messages
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import init_scope
from headrace.graph.functions.call_attributes import call_attributes
from headrace.graph.functions.func_graph import FuncGraph
from headrace.graph.functions.function_body import FunctionBody, make_function
from headrace.graph.functions.graph_to_function import is_stateful
from headrace.graph.typing.aliases import DTypeLike
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope


class DefinedFunction:
    """A function of the graph that Defun or Declare made.

    Args:
      func: the Python function, or None for a function that a definition gives.
      argnames: names of its arguments.
      input_types: their dtypes.
      others: as Defun.
    """

    def __init__(
        self,
        func: Callable[..., Any] | None,
        argnames: Sequence[str],
        input_types: Sequence[DTypeLike],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[..., Any] | None = None,
        capture_by_value: bool = False,
        whitelisted_stateful_ops: Any = None,
        capture_resource_var_by_value: bool = True,
        **kwargs: Any,
    ) -> None:
        self._func = func
        self._input_types = [as_dtype(t) for t in input_types]
        self._arg_names = [
            argnames[i] if i < len(argnames) else f"arg{i}" for i in range(len(self._input_types))
        ]
        self._func_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = out_names
        self._shape_func = shape_func
        self._capture_by_value = capture_by_value
        self._stateful_copied = whitelisted_stateful_ops or ()
        self._by_value = capture_resource_var_by_value
        self._options = kwargs
        self._function: LibraryFunction | None = None
        self._graph: FuncGraph | None = None

    # -- the definition ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._made().name

    @property
    def definition(self) -> Any:
        """The FunctionDef message."""
        return self._made().definition

    cached_definition = definition

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that computes its gradient, or None."""
        return None if self._grad_func is None else self._grad_func.name

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The Python function that builds the gradient of a call, or None."""
        return self._python_grad_func

    @property
    def declared_input_types(self) -> list[DType]:
        """The dtypes of the arguments, without captured tensors."""
        return list(self._input_types)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The outer tensors that each call passes after its arguments."""
        self._made()
        return [] if self._graph is None else list(self._graph.extra_inputs)

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """The (name, type) of the stateful operations of the body."""
        self._made()
        operations = [] if self._graph is None else self._graph.get_operations()
        return [(op.name, op.type) for op in operations if is_stateful(op)]

    @property
    def signature(self) -> Any:
        """The signature of a node that calls the function."""
        return self._made().signature

    def set_grad_func(self, grad_func: Any) -> None:
        """Sets the function that computes the gradient. Raises: ValueError if there is one."""
        if self._grad_func is not None:
            raise ValueError(f"Gradient defined twice for function {self.name}")
        self._grad_func = grad_func
        if self._function is not None:
            self._function.grad_func_name = grad_func.name

    def _made(self) -> LibraryFunction:
        if self._function is None:
            self._function = self._make()
        return self._function

    def _make(self) -> LibraryFunction:
        assert self._func is not None
        base = self._func_name or _name_of(self._func)
        self._graph = graph = self._trace(base)
        operations = [node for node in graph.get_operations()]
        if self._func_name is None and self._grad_func is not None:
            base = f"{base}_{self._grad_func.name}"
        made = make_function(
            FunctionBody(graph, list(graph.inputs), graph.outputs, operations),
            base,
            self._func_name,
            self._out_names,
            call_attributes(base, self._options),
            self._func.__doc__,
            grad_func_name=self.grad_func_name,
            python_grad_func=self._python_grad_func,
        )
        graph.release_outer(called_names(made.definition.node_def))
        return made

    def _trace(self, name: str) -> FuncGraph:
        graph = FuncGraph(name, self._capture_by_value, self._stateful_copied)
        func = self._func
        assert func is not None
        with graph.as_default():
            arguments = [
                graph.add_input(dtype, None, argument)
                for argument, dtype in zip(self._arg_names, self._input_types, strict=True)
            ]
            with variable_scope(
                get_variable_scope(), custom_getter=self._getter(graph), auxiliary_name_scope=False
            ):
                results = func(*arguments)
            graph.outputs = _as_tensors(results, graph, name)
        return graph

    def _getter(self, graph: FuncGraph) -> Callable[..., Any]:
        """Returns a getter of variables that makes them outside, and passes in their values."""

        def get(getter: Callable[..., Any], name: str, **kwargs: Any) -> Any:
            with init_scope():
                variable = getter(name=name, **kwargs)
                graph.extra_vars.append(variable)
                handle = getattr(variable, "handle", None)
                if self._by_value and isinstance(handle, Tensor):
                    if handle.dtype.base_dtype is resource:
                        return variable.value()
            return variable

        return get

    # -- calls ---------------------------------------------------------------------------------

    def add_to_graph(self, g: Graph) -> None:
        """Adds the function, those that it calls, and its gradient to a graph.

        Raises: InvalidFunctionError if another function of the graph has the name.
        """
        function = self._made()
        if self._grad_func is not None:
            self._grad_func.add_to_graph(g)
            function.grad_func_name = self._grad_func.name
        function.add_to_graph(g)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a node that calls the function.

        Args:
          args: one value per argument.
          kwargs: `name` of the node, `noinline`, and other options of Defun for this call.
        Returns: the result; a tuple of results; the Operation if there is none.
        Raises: ValueError for another number or other dtypes of arguments.
        """
        graph = get_default_graph()
        self.add_to_graph(graph)
        function = self._made()
        values = converted_arguments(function, args, self._input_types)
        results, node = call_function(function, [*values, *self.captured_inputs], **kwargs)
        for control in () if self._graph is None else self._graph.control_captures:
            node._add_control_input(control)
        if self._shape_func is not None:
            _set_shapes(node, self._shape_func(node), self._shape_func)
        return results


def converted_arguments(
    function: LibraryFunction, args: Sequence[Any], types: Sequence[DType]
) -> list[Tensor]:
    """Returns the arguments of a call as tensors.

    Raises: ValueError for another number or other dtypes of arguments.
    """
    if len(args) != len(types):
        raise ValueError(
            f"Expected number of arguments: {len(types)}, received: {len(args)}: Expected "
            f"{len(types)} arguments, got {len(args)}. The function is '{function.name}'"
        )
    values = []
    for number, (value, dtype) in enumerate(zip(args, types, strict=True)):
        tensor = convert_to_tensor(value, as_ref=dtype.is_ref_dtype)
        if tensor.dtype.base_dtype is not dtype.base_dtype:
            argument = function.definition.signature.input_arg[number].name
            raise ValueError(
                f"Input {number} of node {function.name} was passed {tensor.dtype.name} from "
                f"{tensor.name} incompatible with expected {dtype.name}: it is argument "
                f"'{argument}' of the function"
            )
        values.append(tensor)
    return values


def call_function(function: LibraryFunction, inputs: Sequence[Any], **kwargs: Any) -> Any:
    """Adds a node that calls a function of the default graph.

    Args:
      function: the function, which is in the graph.
      inputs: its arguments, with captured tensors.
      kwargs: `name`, and the attributes of the call.
    Returns: (result, tuple of results or the Operation; the Operation).
    """
    name = kwargs.pop("name", None) or function.name.lstrip("_") or "call"
    attrs = call_attributes(function.name, kwargs)
    graph = get_default_graph()
    count = len(function.definition.signature.input_arg)
    if len(inputs) != count:
        raise ValueError(f"Expected {count} arguments, got {len(inputs)}.")
    node = create_from_messages(graph, function.name, list(inputs), name, attrs, None)
    outputs = node.outputs
    if not outputs:
        return node, node
    return (outputs[0] if len(outputs) == 1 else outputs), node


def _set_shapes(node: Operation, shapes: Sequence[Any], function: Any) -> None:
    if len(shapes) != len(node.outputs):
        raise ValueError(
            f"shape_func {function} produced {len(shapes)} shapes, which does not match "
            f"{len(node.outputs)} outputs."
        )
    for tensor, shape in zip(node.outputs, shapes, strict=True):
        tensor.set_shape(shape)


def _as_tensors(results: Any, graph: FuncGraph, name: str) -> list[Tensor]:
    """Returns the results of a Python function as tensors of its graph."""
    if results is None:  # a function without results
        return []
    if not isinstance(results, (list, tuple)):
        results = (results,)
    if any(result is None for result in results):
        raise ValueError(f"Function {name} can not return None.")
    return [graph.capture(convert_to_tensor(result)) for result in results]


def _name_of(func: Any) -> str:
    """Returns the name of a Python function, as a name of a function of the graph."""
    while hasattr(func, "func") and not hasattr(func, "__name__"):  # functools.partial
        func = func.func
    name = getattr(func, "__name__", None) or type(func).__name__
    return "lambda" if name == "<lambda>" else name
