"""User functions of transformations: Python functions of elements become functions of the graph."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.data import element_nest as nest
from headrace.graph.data.element_specs import (
    flat_specs,
    from_tensors,
    most_specific_shapes,
    output_classes,
    output_types,
    spec_of,
    to_tensors,
)
from headrace.graph.framework.default_graph import outermost_graph
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.functions.automatic_control import add_control_dependencies
from headrace.graph.functions.defun import Defun
from headrace.graph.functions.func_graph import FuncGraph
from headrace.graph.functions.function_body import FunctionBody, make_function
from headrace.graph.variables.variable_scope import get_variable_scope

_numbers = itertools.count()


class UserFunction:
    """A Python function of elements, as a function of the graph.

    A tuple is passed as several arguments. What the function reads from outside is captured: it
    becomes an argument that the op of the dataset passes.

    Args:
      func: the Python function.
      transformation: name of the transformation in errors, such as "Dataset.map()".
      input_spec: structure of the specs of its argument.
      add_to_graph: whether the default graph gets the function now.
      legacy: make it by Defun, in a graph that captures resource variables by value.
    Raises: TypeError for a result that does not convert to tensors; what func raises.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        transformation: str,
        input_spec: Any,
        add_to_graph: bool = True,
        legacy: bool = False,
    ) -> None:
        self._func = func
        self._transformation = transformation
        self._input_spec = input_spec
        self.output_spec: Any = None
        tables = len(outermost_graph().get_collection(GraphKeys.TABLE_INITIALIZERS))
        name = f"{transformation.replace('.', '_')[:-2]}_{_name_of(func)}"
        self.captured_inputs: list[Tensor]
        self.function = self._defun(name) if legacy else self._traced(name)
        if add_to_graph:
            self.function.add_to_graph(get_default_graph())
        if len(outermost_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)) > tables:
            warnings.warn(
                f"Creating resources inside a function passed to {transformation} is not "
                "supported. Create each resource outside the function, and capture it inside the "
                "function to use it.",
                stacklevel=5,
            )

    def _call(self, *tensors: Tensor) -> list[Tensor]:
        """Calls the Python function with tensors of its graph; returns its results as tensors."""
        arguments = from_tensors(self._input_spec, tensors)
        result = self._func(*arguments) if type(arguments) is tuple else self._func(arguments)
        if isinstance(result, list):
            result = tuple(result)
        try:
            self.output_spec = spec_of(result)
        except (TypeError, ValueError):
            raise TypeError(
                f"Unsupported return value from function passed to {self._transformation}: "
                f"{result}."
            ) from None
        found = to_tensors(self.output_spec, result)
        return [convert_to_tensor(tensor) for tensor in found]

    def _traced(self, name: str) -> Any:
        outer = get_default_graph()
        graph = FuncGraph(name)
        graph.seed = outer.seed
        with graph.as_default():
            tensors = [
                graph.add_input(spec.dtype, spec.shape, f"args_{number}")
                for number, spec in enumerate(flat_specs(self._input_spec))
            ]
            scope = get_variable_scope()
            before = scope.use_resource
            scope.set_use_resource(True)
            try:
                results = self._call(*tensors)
            finally:
                scope.set_use_resource(before)
            graph.outputs = [graph.capture(tensor) for tensor in results]
        self.captured_inputs = list(graph.extra_inputs)
        operations = graph.get_operations()
        controls = add_control_dependencies(operations)
        body = FunctionBody(graph, list(graph.inputs), graph.outputs, operations, controls)
        if outer.seed and graph.seed == outer.seed and graph._seed_used:
            warnings.warn(
                f"Seed {outer.seed} from outer graph might be getting used by function {name}, if "
                "the random op has not been provided any seed. Explicitly set the seed in the "
                "function if this is not the intended behavior.",
                stacklevel=6,
            )
        return make_function(body, f"__inference_{name}")

    def _defun(self, name: str) -> Any:
        types = [spec.dtype for spec in flat_specs(self._input_spec)]
        function = Defun(*types, func_name=f"{name}_{next(_numbers)}")(self._call)
        self.captured_inputs = function.captured_inputs
        return function


def _name_of(func: Any) -> str:
    while hasattr(func, "func") and not hasattr(func, "__name__"):  # functools.partial
        func = func.func
    name = getattr(func, "__name__", None) or type(func).__name__
    return "lambda" if name == "<lambda>" else name


def stable_function(
    func: Callable[..., Any],
    transformation: str,
    initial_spec: Any,
    element_spec: Any,
    state_of: Callable[[Any], Any],
) -> tuple[UserFunction, Any]:
    """Returns the function of (state, element) -> state of a loop, and the spec of its state.

    Where the new state has another shape than the state before, the state's shape is made less
    specific, and the function is made again.

    Args:
      initial_spec: the spec of the first state.
      state_of: returns the part of the function's output_spec that is the new state.
    Raises: TypeError for a new state of other classes or dtypes.
    """
    state_spec = initial_spec
    while True:
        made = UserFunction(func, transformation, (state_spec, element_spec), add_to_graph=False)
        new = state_of(made.output_spec)
        for what, part in (("classes", output_classes), ("types", output_types)):
            expected, found = nest.flatten(part(state_spec)), nest.flatten(part(new))
            if len(expected) != len(found) or any(
                a != b for a, b in zip(expected, found, strict=True)
            ):
                raise TypeError(
                    f"The element {what} for the new state must match the initial state. "
                    f"Expected {part(state_spec)}; got {part(new)}."
                )
        weakened = most_specific_shapes(state_spec, new)
        if all(
            type(a) is type(b) and repr(a) == repr(b)
            for a, b in zip(nest.flatten(weakened), nest.flatten(state_spec), strict=True)
        ):
            made.function.add_to_graph(get_default_graph())
            return made, state_spec
        state_spec = weakened
