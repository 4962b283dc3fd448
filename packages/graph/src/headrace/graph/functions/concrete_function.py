"""ConcreteFunction: a function of the graph, for arguments of known dtypes and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import DType
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.control_flow.composite import packed
from headrace.graph.framework import nest
from headrace.graph.framework.function_library import LibraryFunction
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.functions.call_gradients import call_node
from headrace.graph.functions.func_graph import FuncGraph


class ConcreteFunction:
    """A function of the graph, for arguments of known dtypes and shapes.

    `hr.function` makes them; a call adds a PartitionedCall or StatefulPartitionedCall.

    Args:
      function: the function.
      graph: its graph.
      structured_outputs: the results of the Python function, with tensors of that graph.
      structured_input_signature: (args, kwargs) with a TensorSpec for each tensor.
      arg_names: names of the tensors among the arguments.
    """

    def __init__(
        self,
        function: LibraryFunction,
        graph: FuncGraph,
        structured_outputs: Any,
        structured_input_signature: Any,
        arg_names: Sequence[str],
    ) -> None:
        self._function = function
        self.graph = graph
        self.structured_outputs = structured_outputs
        self.structured_input_signature = structured_input_signature
        self._arg_names = list(arg_names)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._function.name

    @property
    def inputs(self) -> list[Tensor]:
        """The placeholders of the arguments, those of captured tensors last."""
        return list(self.graph.inputs)

    @property
    def outputs(self) -> list[Tensor]:
        """The results as tensors of the function's graph."""
        return list(self.graph.outputs)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The outer tensors that each call passes after its arguments."""
        return list(self.graph.extra_inputs)

    @property
    def variables(self) -> list[Any]:
        """The variables whose handle or reference the function captured."""
        from headrace.graph.framework.graph_keys import GraphKeys

        keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
        captured = {t.op for t in self.graph.extra_inputs}
        found = [v for key in keys for v in self.graph.get_collection(key) if v.op in captured]
        return list(dict.fromkeys(found))

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of them that are trainable."""
        return [v for v in self.variables if getattr(v, "trainable", False)]

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return nest.map_structure(_dtype, self.structured_outputs)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return nest.map_structure(_shape, self.structured_outputs)

    @property
    def function_def(self) -> Any:
        """The FunctionDef message."""
        return self._function.definition

    definition = cached_definition = function_def

    @property
    def signature(self) -> Any:
        """The signature of a node whose op is the function."""
        return self._function.signature

    def add_to_graph(self, g: Graph | None = None) -> None:
        """Adds the function, and those that it calls, to a graph."""
        self._function.add_to_graph(get_default_graph() if g is None else g)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call.

        Args:
          args: the tensors among the arguments, in order; those of the signature's dtypes.
          kwargs: the same by name.
        Returns: the results, in the structure that the Python function returned.
        Raises: TypeError for missing, repeated or unknown arguments or other dtypes; ValueError for
          shapes that do not match.
        """
        names = self._arg_names
        if len(args) > len(names):
            raise TypeError(
                f"{self.name} takes {len(names)} positional arguments "
                f"({', '.join(names)}), got {len(args)}"
            )
        values = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key in values or key not in names:
                problem = "two values for" if key in values else "an unexpected"
                raise TypeError(f"{self.name} got {problem} keyword argument {key!r}")
            values[key] = value
        missing = [name for name in names if name not in values]
        if missing:
            raise TypeError(f"{self.name} missing required arguments: {', '.join(missing)}")
        return self.call_flat([values[name] for name in names])

    def call_flat(self, values: Sequence[Any]) -> Any:
        """Adds a call with the tensors among the arguments; as a call by position."""
        arguments = []
        for name, inner, value in zip(self._arg_names, self.graph.inputs, values, strict=False):
            tensor = convert_to_tensor(value, preferred_dtype=inner.dtype.base_dtype)
            if tensor.dtype.base_dtype is not inner.dtype.base_dtype:
                raise TypeError(
                    f"{self.name}: argument {name!r} must be {inner.dtype.name}, got "
                    f"{tensor.dtype.name}: {value!r}"
                )
            if not inner.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"{self.name}: argument {name!r} has shape {tensor.shape}, which is "
                    f"incompatible with {inner.shape} of the signature"
                )
            arguments.append(tensor)
        with get_default_graph().control_dependencies(self.graph.control_captures):
            node = call_node(self._function, [*arguments, *self.graph.extra_inputs])
        return node if self.structured_outputs is None else self._packed(list(node.outputs))

    def _packed(self, outputs: list[Tensor]) -> Any:
        """Returns results in the structure of the Python function's; None stays None."""
        leaves = nest.flatten([self.structured_outputs])
        found = iter(packed([leaf for leaf in leaves if leaf is not None], outputs))
        return nest.pack_sequence_as(
            [self.structured_outputs], [None if leaf is None else next(found) for leaf in leaves]
        )[0]


def _dtype(leaf: Any) -> DType | None:
    return getattr(leaf, "dtype", None)


def _shape(leaf: Any) -> TensorShape | None:
    return leaf.get_shape() if hasattr(leaf, "get_shape") else None
