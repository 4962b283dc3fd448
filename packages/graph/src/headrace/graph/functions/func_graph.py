"""FuncGraph: the graph of a function, which captures tensors of the graphs around it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.attributes import AttrSet
from headrace.graph.framework.constant_value import handle_data
from headrace.graph.framework.create_op import add_node
from headrace.graph.framework.function_library import called_names
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.variables.variable_scope import SCOPES
from headrace.graph.variables.variable_store import STORE

_SHARED_COLLECTIONS = (*GraphKeys._VARIABLE_COLLECTIONS, SCOPES, STORE)


class FuncGraph(Graph):
    """The graph of a function.

    An operation of the graph may read a tensor of the graph around it: it then reads a placeholder,
    which becomes an argument of the function, and each call passes the tensor. Variables are those
    of the outermost graph, where a new variable is added too.

    Args:
      name: name of the function.
      capture_by_value: copy the operation of an outer tensor, and those that it depends on.
      stateful_copied: operations that may be copied although they are stateful.

    Attributes:
      outer_graph: the graph around it.
      inputs: placeholders of the arguments, those of captured tensors last.
      outputs: the results.
      extra_inputs: captured tensors, in order.
      extra_args: their placeholders.
      extra_vars: variables that the function got by get_variable.
      control_captures: operations of outer graphs that the calls must wait for.
    """

    def __init__(
        self,
        name: str,
        capture_by_value: bool = False,
        stateful_copied: Iterable[Operation] = (),
    ) -> None:
        super().__init__()
        self.name = name
        self.outer_graph = get_default_graph()
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.extra_inputs: list[Tensor] = []
        self.extra_args: list[Tensor] = []
        self.extra_vars: list[Any] = []
        self.control_captures: list[Operation] = []
        self._capture_by_value = capture_by_value
        self._stateful_copied = set(stateful_copied)
        self._captured: dict[Tensor, Tensor] = {}
        self._copies: dict[Operation, Operation] = {}
        for key in _SHARED_COLLECTIONS:
            self._collections[key] = self.outer_graph.get_collection_ref(key)
        outer = self.outer_graph._local.scope
        self._local.scope = self._local.scope.changed(device=outer.device, devices=outer.devices)

    @property
    def building_function(self) -> bool:
        """Whether this is the graph of a function; always True."""
        return True

    @property
    def captures(self) -> list[tuple[Tensor, Tensor]]:
        """The pairs of an outer tensor and its replacement."""
        return list(self._captured.items())

    # -- functions of outer graphs -------------------------------------------------------------

    def _is_function(self, name: str) -> bool:
        return super()._is_function(name) or self.outer_graph._is_function(name)

    def _get_function(self, name: str | bytes) -> Any:
        found = super()._get_function(name)
        return self.outer_graph._get_function(name) if found is None else found

    def release_outer(self, names: Iterable[str]) -> None:
        """Drops the graph around it, unless the function uses tensors of that graph.

        A function may outlive the graph in which it was built, and be called in others.

        Args:
          names: the functions that this one calls, which it keeps.
        """
        if self.extra_inputs or self.extra_vars or self.control_captures:
            return
        if self._declared.keys() - self._functions.keys():
            return  # functions that the graph around it defines later
        ahead = list(names)
        seen = set(self._functions)
        while ahead:
            name = ahead.pop()
            function = self._get_function(name)
            if function is None or name in seen:
                continue
            seen.add(name)
            self._add_function(function)
            ahead.extend(called_names(function.definition.node_def))
            if function.grad_func_name:
                ahead.append(function.grad_func_name)
        self.outer_graph = Graph()
        self._captured.clear()  # by value: the copies stay
        self._copies.clear()
        for key in _SHARED_COLLECTIONS:
            self._collections[key] = []

    # -- captures ------------------------------------------------------------------------------

    def captured(self, values: Any) -> Any:
        """Returns a tensor, or lists of tensors, with outer tensors replaced."""
        if isinstance(values, (list, tuple)):
            return type(values)([self.captured(v) for v in values])
        if values.op.graph is self:
            return values
        return self.capture(values)

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the replacement of an outer tensor.

        Raises: ValueError for a tensor that is not of an outer graph, or, if values are copied, for
          one that depends on a placeholder or a stateful operation.
        """
        if tensor.op.graph is self:
            return tensor
        found = self._captured.get(tensor)
        if found is not None:
            return found
        self._check_is_outer(tensor)
        if self._capture_by_value:
            inner = self._copied(tensor.op).outputs[tensor.value_index]
        else:
            inner = self.add_input(tensor.dtype, tensor._shape, name or tensor.op.name)
            self._keep_handle_data(inner, tensor)
            self.extra_inputs.append(tensor)
            self.extra_args.append(inner)
        self._captured[tensor] = inner
        return inner

    def _keep_handle_data(self, inner: Tensor, outer: Tensor) -> None:
        """Records which variable an argument refers to, if it is a handle."""
        data = handle_data(outer)
        if data is not None:
            self._handle_data[inner] = data

    def _check_is_outer(self, tensor: Tensor) -> None:
        graph: Any = self.outer_graph
        while graph is not tensor.op.graph:
            if not graph.building_function:
                raise ValueError(
                    f"The tensor {tensor!r} cannot be accessed here: it is defined in another "
                    "function or graph. Use return values, explicit Python locals or collections "
                    "to access it."
                )
            graph = graph.outer_graph

    def add_input(self, dtype: Any, shape: Any, name: str) -> Tensor:
        """Adds a placeholder as the last input of the function."""
        tensor = self.placeholder(dtype, shape, name)
        self.inputs.append(tensor)
        return tensor

    def placeholder(self, dtype: Any, shape: Any, name: str) -> Tensor:
        """Adds a placeholder outside of all scopes; it may be a reference."""
        with ExitStack() as stack:
            stack.enter_context(self.as_default())
            stack.enter_context(super().control_dependencies(None))
            stack.enter_context(self.name_scope(None))
            stack.enter_context(super().colocate_with(None, ignore_existing=True))
            tensor = op("Placeholder", dtype=dtype.base_dtype, shape=shape, name=_valid(name))
        if dtype.is_ref_dtype:
            node = tensor.op
            attrs = node._attrs
            node._attrs = AttrSet("Placeholder", attrs.signature, attrs.values, (dtype,))
            tensor.dtype = dtype
        return tensor

    def _copied(self, source: Operation) -> Operation:
        found = self._copies.get(source)
        if found is not None:
            return found
        signature = source._attrs.signature
        stateful = signature is None or signature.stateful
        if source.type in ("Placeholder", "PlaceholderV2"):
            raise ValueError(
                f"Cannot capture a placeholder (name:{source.name}, type:{source.type}) by value."
            )
        if stateful and source not in self._stateful_copied:
            raise ValueError(
                f"Cannot capture a stateful node (name:{source.name}, type:{source.type}) by value."
            )
        inputs = tuple(
            [
                t if t.op.graph is self else self._copied(t.op).outputs[t.value_index]
                for t in source.inputs
            ]
        )
        name = self._unique(source.name)
        scope = self._local.scope.changed(context=None, controllers=(), colocation=())
        found = add_node(self, scope, source.type, inputs, source._attrs, name)
        self._copies[source] = found
        return found

    # -- scopes --------------------------------------------------------------------------------

    def control_dependencies(self, control_inputs: Any) -> Any:
        """As Graph.control_dependencies; the calls of the function wait for outer operations."""
        if not isinstance(control_inputs, (list, tuple)):
            return super().control_dependencies(control_inputs)
        inner = []
        for item in control_inputs:
            convert = getattr(item, "_as_graph_element", None)
            element = item if convert is None else convert()
            operation = getattr(element, "op", element)
            if isinstance(operation, Operation) and operation.graph is not self:
                if operation not in self.control_captures:
                    self.control_captures.append(operation)
            else:
                inner.append(item)
        return super().control_dependencies(inner)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        """As Graph.colocate_with; a node is not colocated with an operation of an outer graph."""
        convert = getattr(op, "_as_graph_element", None)
        element = op if convert is None else convert()
        operation = getattr(element, "op", element)
        if isinstance(operation, Operation) and operation.graph is not self:
            return ExitStack()
        return super().colocate_with(op, ignore_existing)


def _valid(name: str) -> str:
    """Returns the name of a placeholder for a tensor or argument."""
    return name if name[:1].isalnum() or name[:1] == "." else f"arg_{name.lstrip('_')}" or "arg"
