"""The functions of a graph: what a node of a function's name calls (white paper §10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.formats.errors import InvalidArgumentError
from headrace.formats.fork_lock import ForkLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.formats.op_signature import Signature


# Held while the body or the gradient of a function is built: several graphs share functions.
function_lock = ForkLock()


class InvalidFunctionError(InvalidArgumentError, ValueError):
    """A function that a graph cannot hold, or a call that does not match its signature."""


class LibraryFunction:
    """A function of a graph's library.

    Attributes:
      name: name of the function, which is also the op of a node that calls it.
      definition: the FunctionDef message.
      grad_func_name: name of the function that computes its gradient, or None.
      python_grad_func: `f(op, *grads)`, which builds the gradient of a call, or None.
      body: the graph of the function where this process built it; None for an imported one.
      gradients, call_shapes: caches of the gradients of calls, and of the shapes of their results.
    """

    def __init__(
        self,
        definition: Any,
        grad_func_name: str | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        body: Any = None,
    ) -> None:
        self.name: str = definition.signature.name
        self.definition = definition
        self.grad_func_name = grad_func_name
        self.python_grad_func = python_grad_func
        self.body = body
        self.gradients: dict[Any, Any] = {}
        self.call_shapes: dict[Any, Any] = {}
        self._signature: Signature | None = None

    @property
    def cached_definition(self) -> Any:
        """The FunctionDef message; TF 1.x's second name of `definition`."""
        return self.definition

    @property
    def signature(self) -> Signature:
        """The signature of a node that calls the function."""
        if self._signature is None:
            self._signature = signature_of(self.definition)
        return self._signature

    def add_to_graph(self, g: Any) -> None:
        """Adds the function, and those that it calls, to a graph's library."""
        if g._functions.get(self.name) is self:
            return
        g._add_function(self)
        if g._functions[self.name] is self and self.body is not None:
            owner = self.body.graph
            names = called_names(self.definition.node_def)
            if self.grad_func_name:
                names.add(self.grad_func_name)
            for name in sorted(names):
                function = owner._get_function(name)
                if function is not None:
                    function.add_to_graph(g)


def called_names(nodes: Any) -> set[str]:
    """Returns the names of all functions that NodeDefs may call: their ops and attributes."""
    names: set[str] = set()
    for node in nodes:
        names.add(node.op)
        for value in node.attr.values():
            held = value.WhichOneof("value")
            if held == "func":
                _add_names(value.func, names)
            elif held == "list":
                for function in value.list.func:
                    _add_names(function, names)
    return names


def _add_names(function: Any, names: set[str]) -> None:
    names.add(function.name)
    for value in function.attr.values():
        if value.WhichOneof("value") == "func":
            _add_names(value.func, names)


def needed_library(library: Any, nodes: Any) -> Any:
    """Returns the part of a FunctionDefLibrary that NodeDefs call, directly or indirectly."""
    by_name = {f.signature.name: f for f in library.function}
    gradient_of = {g.function_name: g.gradient_func for g in library.gradient}
    needed: set[str] = set()
    ahead = list(called_names(nodes))
    while ahead:
        name = ahead.pop()
        if name in needed or name not in by_name:
            continue
        needed.add(name)
        ahead.extend(called_names(by_name[name].node_def))
        if name in gradient_of:
            ahead.append(gradient_of[name])
    kept = type(library)(registered_gradients=library.registered_gradients)
    kept.function.extend([f for f in library.function if f.signature.name in needed])
    kept.gradient.extend([g for g in library.gradient if g.function_name in needed])
    return kept


def signature_of(definition: Any) -> Signature:
    """Returns the signature of a node that calls a function.

    Raises: InvalidFunctionError for a malformed OpDef.
    """
    from headrace.formats.op_def_signature import from_op_def

    try:
        return from_op_def(definition.signature)
    except (TypeError, ValueError) as error:
        raise InvalidFunctionError(
            None,
            None,
            f"Function '{definition.signature.name}': its signature is malformed: {error}",
        ) from error


class FunctionLibrary:
    """The part of a Graph that holds functions."""

    def __init__(self) -> None:
        self._functions: dict[str, Any] = {}
        self._declared: dict[str, Any] = {}  # signatures of functions that are defined later
        self._registered_gradients: list[bytes] = []  # RegisteredGradient messages, kept as read
        self._concrete_functions: dict[Any, Any] = {}  # those that hr.function made here
        self._handle_data: dict[Any, Any] = {}  # what placeholders of resources refer to
        self._library: bytes | None = None  # the FunctionDefLibrary; None after a change

    @property
    def building_function(self) -> bool:
        """Whether this is the graph of a function."""
        return False

    def _is_function(self, name: str) -> bool:
        return name in self._functions

    def _get_function(self, name: str | bytes) -> Any:
        """Returns the function of a name, or None."""
        return self._functions.get(name.decode() if isinstance(name, bytes) else name)

    def _add_function(self, function: Any) -> None:
        """Adds a function.

        Args:
          function: an object with name, definition, grad_func_name and python_grad_func.
        Raises: ValueError for two gradients; InvalidFunctionError if another function has the name.
        """
        if function.grad_func_name is not None and function.python_grad_func is not None:
            raise ValueError(f"Gradient defined twice for function {function.name}")
        known = self._functions.get(function.name)
        if known is not None:
            if known is not function and not _equal(known, function):
                raise InvalidFunctionError(
                    None,
                    None,
                    f"Cannot add function '{function.name}' because a different function with the "
                    "same name already exists.",
                )
            if known.grad_func_name or not function.grad_func_name:
                return
        self._functions[function.name] = function
        self._library = None

    def _add_library(self, library: Any) -> None:
        """Adds the functions of a FunctionDefLibrary message. Raises: as _add_function."""
        for function in library_functions(library):
            self._add_function(function)
        known = set(self._registered_gradients)
        for entry in library.registered_gradients:
            wire = entry.SerializeToString(deterministic=True)
            if wire not in known:
                self._registered_gradients.append(wire)
                self._library = None

    def _add_function_recursive(self, function: Any) -> None:
        """Adds a function and the functions that it calls."""
        function.add_to_graph(self)

    def _library_wire(self) -> bytes:
        """Returns the serialized FunctionDefLibrary: the same object until it changes."""
        if self._library is None:
            self._library = library_wire(self._functions.values(), self._registered_gradients)
        return self._library


def library_wire(functions: Any, registered_gradients: list[bytes] | None = None) -> bytes:
    """Serializes functions as a FunctionDefLibrary message."""
    from headrace.formats.proto.graph_pb2 import FunctionDefLibrary

    library = FunctionDefLibrary()
    for function in functions:
        library.function.append(function.definition)
        if function.grad_func_name:
            library.gradient.add(function_name=function.name, gradient_func=function.grad_func_name)
    for wire in registered_gradients or ():
        library.registered_gradients.add().MergeFromString(wire)
    return library.SerializeToString(deterministic=True)


def _equal(one: Any, other: Any) -> bool:
    return one.definition == other.definition


def library_functions(library: Any) -> list[LibraryFunction]:
    """Returns the functions of a FunctionDefLibrary message.

    Raises: InvalidFunctionError for a GradientDef that names a function that is not there.
    """
    names = {f.signature.name for f in library.function}
    gradient_of: dict[str, str] = {}
    for entry in library.gradient:
        for name in (entry.function_name, entry.gradient_func):
            if name not in names:
                raise InvalidFunctionError(
                    None, None, f"FunctionDefLibrary missing '{name}' FunctionDef"
                )
        gradient_of[entry.function_name] = entry.gradient_func
    copy = type(library)()
    copy.CopyFrom(library)  # the caller may change the message later
    return [LibraryFunction(f, gradient_of.get(f.signature.name)) for f in copy.function]
