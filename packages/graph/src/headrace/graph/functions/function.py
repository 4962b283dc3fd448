"""hr.function: makes functions of the graph of a Python function, one per kind of arguments."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.formats.fork_lock import renew_in_child
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices, SparseTensor
from headrace.graph.control_flow.composite import parts_of
from headrace.graph.framework import nest
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.tensor_spec import TensorSpec
from headrace.graph.functions.automatic_control import add_control_dependencies
from headrace.graph.functions.concrete_function import ConcreteFunction
from headrace.graph.functions.func_graph import FuncGraph
from headrace.graph.functions.function_body import FunctionBody, make_function
from headrace.graph.variables.variable_scope import variable_creator_scope


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: object | None = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
    experimental_implements: str | None = None,
) -> Any:
    """Makes a Python function a function of the graph.

    A call adds a PartitionedCall, or a StatefulPartitionedCall. The Python function runs once for
    each combination of the dtypes and shapes of the tensors, and of the other values, among the
    arguments. Its stateful operations run in the order in which it made them, also those that no
    result depends on. Variables are those of the graph around it.

    Python's `if` and `while` are not converted: use hr.cond and hr.while_loop for tensors.

    Args:
      func: the function; None returns a decorator.
      input_signature: a structure of TensorSpecs for its arguments; all calls share one function.
      autograph: has no effect.
      experimental_relax_shapes: after two calls that differ only in shapes, make a function for
        shapes of unknown sizes.
      experimental_autograph_options, experimental_compile: have no effect.
      experimental_implements: name of what the function implements, an attribute of it.
    Returns: a Function.
    Raises: TypeError for an input_signature that is not a sequence of TensorSpecs.

    >>> @hr.function
    ... def scaled(x, factor=2.0):
    ...     return x * factor
    >>> scaled(hr.constant([1.0, 2.0])).op.type
    'PartitionedCall'
    """
    options: dict[str, Any] = {
        "input_signature": input_signature,
        "relax_shapes": experimental_relax_shapes,
        "implements": experimental_implements,
    }
    if func is None:
        return lambda inner: Function(inner, **options)
    return Function(func, **options)


class Function:
    """A Python function that is called through functions of the graph; see hr.function."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Sequence[Any] | None = None,
        relax_shapes: bool = False,
        implements: str | None = None,
    ) -> None:
        if not callable(python_function):
            raise TypeError(f"python_function is not callable: {python_function!r}")
        if input_signature is not None:
            input_signature = _checked_signature(input_signature)
        self._python_function = python_function
        self._input_signature = input_signature
        self._relax_shapes = relax_shapes
        self._implements = implements
        self._parameters = inspect.signature(python_function)
        self._lock = threading.RLock()
        renew_in_child(self)
        self._created_variables = False
        functools.update_wrapper(self, python_function)

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._python_function

    @property
    def input_signature(self) -> Any:
        """The signature that all calls share, or None."""
        return self._input_signature

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Returns the function for an instance of the class that it is a method of."""
        if instance is None:
            return self
        kept = getattr(instance, "__dict__", {})
        key = f"_hr_function_{id(self)}"
        found = kept.get(key)
        if found is None:
            bound = self._python_function.__get__(instance, owner)
            found = Function(bound, self._input_signature, self._relax_shapes, self._implements)
            kept[key] = found
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call.

        Returns: the results, in the structure that the Python function returned; the Operation if
          there is none.
        Raises: TypeError for arguments that the Python function does not take; ValueError for
          arguments that do not match the input_signature, or a Python function that creates
          variables when it is not called for the first time.
        """
        concrete, values = self._concrete(args, kwargs)
        return concrete.call_flat(values)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the function of the graph for some arguments: tensors, TensorSpecs, or values.

        Raises: as a call.
        """
        if self._input_signature is not None and not args and not kwargs:
            args = tuple(self._input_signature)
        return self._concrete(args, kwargs)[0]

    # -- arguments -----------------------------------------------------------------------------

    def _concrete(self, args: Any, kwargs: Any) -> tuple[ConcreteFunction, list[Any]]:
        bound = self._parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        structure = (bound.args, bound.kwargs)
        if self._input_signature is not None:
            structure = self._by_signature(bound)
        leaves = [_as_value(leaf) for leaf in nest.flatten(structure)]
        values = [part for leaf in leaves if _is_tensor(leaf) for part in _parts(leaf)]
        graph = get_default_graph()
        with self._lock:
            made = graph._concrete_functions.setdefault(self, {})
            key = (_structure_key(structure), *[self._key(leaf) for leaf in leaves])
            found = made.get(key)
            if found is None and made and self._relax_shapes:
                found = self._relaxed(graph, structure, leaves, made)
            elif found is None:
                found = self._trace(graph, structure, leaves)
            made[key] = found
        return found, values

    def _relaxed(self, graph: Graph, structure: Any, leaves: list[Any], made: Any) -> Any:
        """Returns the function for the shapes that calls with arguments of these ranks share."""
        key = ("ranks", _structure_key(structure), *[self._key(leaf, True) for leaf in leaves])
        shapes = _shapes(leaves)
        found, known = made.get(key, (None, shapes))
        common = [_common(one, other) for one, other in zip(known, shapes, strict=True)]
        if found is None or common != known:
            found = self._trace(graph, structure, leaves, common)
            made[key] = (found, common)
        return found

    def _by_signature(self, bound: inspect.BoundArguments) -> Any:
        """Returns the arguments as tensors of the input_signature."""
        signature = self._input_signature
        assert signature is not None
        args = (*bound.args, *bound.kwargs.values())
        if len(args) > len(signature):
            args = args[: len(signature)]
        problem = (
            f"Structure of Python function inputs does not match input_signature. Inputs "
            f"({args}), input_signature({tuple(signature)})."
        )
        if len(args) < len(signature):
            raise ValueError(problem)
        try:
            specs = nest.flatten_up_to(list(signature), list(args))
        except (TypeError, ValueError) as error:
            raise ValueError(problem) from error
        tensors = []
        for spec, value in zip(nest.flatten(list(signature)), specs, strict=True):
            if isinstance(value, TensorSpec):
                tensors.append(spec)
                continue
            tensor = convert_to_tensor(value, preferred_dtype=spec.dtype)
            if not spec.is_compatible_with(tensor):
                raise ValueError(
                    "Python inputs incompatible with input_signature: inputs "
                    f"({args}), input_signature ({tuple(signature)})."
                )
            tensors.append(_WithSpec(tensor, spec))
        return (tuple(nest.pack_sequence_as(list(signature), tensors)), {})

    def _key(self, leaf: Any, rank_only: bool = False) -> Any:
        """Returns what distinguishes an argument."""
        if isinstance(leaf, _WithSpec):
            return ("spec",)
        if _is_tensor(leaf):
            return tuple([(t.dtype, _rank(t) if rank_only else _dims(t)) for t in _parts(leaf)])
        try:
            hash(leaf)
        except TypeError:
            return ("object", id(leaf), leaf.__class__)
        return ("value", type(leaf), leaf)

    # -- tracing -------------------------------------------------------------------------------

    def _trace(
        self, outer: Graph, structure: Any, leaves: list[Any], shapes: list[Any] | None = None
    ) -> ConcreteFunction:
        """Runs the Python function; shapes replaces those of the tensors among the leaves."""
        name = getattr(self._python_function, "__name__", type(self._python_function).__name__)
        name = "lambda" if name == "<lambda>" else name
        graph = FuncGraph(name)
        graph.seed = outer.seed
        arg_names = _argument_names(self._parameters, structure)
        remaining = iter(_shapes(leaves) if shapes is None else shapes)
        created: list[Any] = []

        def create(following: Callable[..., Any], **kwargs: Any) -> Any:
            if kwargs.get("use_resource") is None:
                kwargs["use_resource"] = True
            variable = following(**kwargs)
            created.append(variable)
            return variable

        with graph.as_default(), variable_creator_scope(create):
            inner: list[Any] = []
            names: list[str] = []
            for leaf, leaf_name in zip(leaves, arg_names, strict=True):
                inner.append(_placeholders(graph, leaf, leaf_name, remaining, names))
            args, kwargs = nest.pack_sequence_as(structure, inner)
            results = self._python_function(*args, **kwargs)
            results = nest.map_structure(lambda leaf: _as_result(graph, leaf), results)
            graph.outputs = [
                graph.capture(part)
                for leaf in nest.flatten([results])
                if leaf is not None
                for part in parts_of(leaf)
            ]
        if created and self._created_variables:
            raise ValueError(
                "tf.function-decorated function tried to create variables on non-first call."
            )
        self._created_variables |= bool(created)
        return self._made_of(graph, name, results, structure, leaves, names)

    def _made_of(
        self,
        graph: FuncGraph,
        name: str,
        results: Any,
        structure: Any,
        leaves: list[Any],
        names: list[str],
    ) -> ConcreteFunction:
        operations = graph.get_operations()
        controls = add_control_dependencies(operations)
        attrs = {}
        if self._implements is not None:
            from headrace.formats.proto.op_pb2 import AttrValue

            attrs["_implements"] = AttrValue(s=self._implements.encode())
        body = FunctionBody(graph, list(graph.inputs), graph.outputs, operations, controls)
        made = make_function(body, f"__inference_{name}", attrs=attrs)
        signature = nest.pack_sequence_as(structure, [_spec_of(leaf) for leaf in leaves])
        return ConcreteFunction(made, graph, results, signature, names)


class _WithSpec:
    """An argument whose function is made for the input_signature, not for its own shape."""

    def __init__(self, tensor: Tensor, spec: TensorSpec) -> None:
        self.tensor = tensor
        self.spec = spec


def _checked_signature(signature: Any) -> tuple[Any, ...]:
    if not isinstance(signature, (list, tuple)):
        raise TypeError(
            f"input_signature must be either a tuple or a list, received {type(signature)}"
        )
    if not all(isinstance(spec, TensorSpec) for spec in nest.flatten(list(signature))):
        raise TypeError(
            "Invalid input_signature; input_signature must be a possibly nested sequence of "
            "TensorSpec objects."
        )
    return tuple(signature)


def _as_value(leaf: Any) -> Any:
    """Returns an argument: arrays become tensors, other values stay."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return convert_to_tensor(leaf)
    return leaf


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, (Tensor, SparseTensor, IndexedSlices, TensorSpec, _WithSpec))


def _parts(leaf: Any) -> list[Any]:
    if isinstance(leaf, _WithSpec):
        return [leaf.tensor]
    return [leaf] if isinstance(leaf, TensorSpec) else parts_of(leaf)


def _dims(value: Any) -> Any:
    return value.shape._dims


def _rank(value: Any) -> int | None:
    dims = _dims(value)
    return None if dims is None else len(dims)


def _shapes(leaves: list[Any]) -> list[Any]:
    """Returns the shapes of the tensors among the arguments, of the parts of sparse ones."""
    return [
        _dims(leaf.spec if isinstance(leaf, _WithSpec) else part)
        for leaf in leaves
        if _is_tensor(leaf)
        for part in _parts(leaf)
    ]


def _common(one: Any, other: Any) -> Any:
    """Returns the shape that two shapes of one rank share; None for a size that differs."""
    if one is None or other is None:
        return None
    return tuple([m if m == n else None for m, n in zip(one, other, strict=True)])


def _structure_key(structure: Any) -> str:
    """Returns a text that is equal for equal structures."""
    return repr(nest.map_structure(lambda _: 0, structure))


def _argument_names(parameters: inspect.Signature, structure: Any) -> list[str]:
    """Returns a name for each leaf of the arguments."""
    args, kwargs = structure
    names: list[str] = []
    positional = [
        p.name
        for p in parameters.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for number, value in enumerate(args):
        base = positional[number] if number < len(positional) else f"args_{number}"
        leaves = nest.flatten([value])
        names += [base] if len(leaves) == 1 else [f"{base}_{i}" for i in range(len(leaves))]
    for key in sorted(kwargs):
        leaves = nest.flatten([kwargs[key]])
        names += [key] if len(leaves) == 1 else [f"{key}_{i}" for i in range(len(leaves))]
    return names


def _placeholders(
    graph: FuncGraph, leaf: Any, name: str, shapes: Iterator[Any], names: list[str]
) -> Any:
    """Adds placeholders for a tensor among the arguments; returns other values unchanged."""
    if not _is_tensor(leaf):
        return leaf
    source = leaf.spec if isinstance(leaf, _WithSpec) else leaf
    if isinstance(source, TensorSpec) and source.name:
        name = source.name
    if isinstance(source, (Tensor, TensorSpec)):
        names.append(name)
        tensor = graph.add_input(source.dtype, next(shapes), name)
        if isinstance(leaf, Tensor):
            graph._keep_handle_data(tensor, leaf)
        return tensor
    parts = []
    for number, part in enumerate(parts_of(source)):
        names.append(f"{name}_{number}")
        parts.append(graph.add_input(part.dtype, next(shapes), names[-1]))
    if isinstance(source, SparseTensor):
        return SparseTensor(*parts)
    return IndexedSlices(*parts)


def _as_result(graph: FuncGraph, leaf: Any) -> Any:
    """Returns a result of the Python function as tensors of its graph; None stays None."""
    if leaf is None or hasattr(leaf, "_with_flow"):
        return leaf
    if isinstance(leaf, Operation):  # a result that only says that it ran
        return None
    if isinstance(leaf, (SparseTensor, IndexedSlices)):
        return leaf
    return graph.capture(convert_to_tensor(leaf))


def _spec_of(leaf: Any) -> Any:
    if isinstance(leaf, _WithSpec):
        return leaf.spec
    return TensorSpec(leaf.shape, leaf.dtype, leaf.op.name) if isinstance(leaf, Tensor) else leaf
