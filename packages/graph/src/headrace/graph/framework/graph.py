"""The graph: operations by name and in order of creation, scopes, collections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from headrace.formats.fork_lock import ForkLock, renew_in_child
from headrace.graph.framework import attributes
from headrace.graph.framework.device_spec import DeviceSpec, canonical, merged
from headrace.graph.framework.element_names import element_by_name
from headrace.graph.framework.function_library import FunctionLibrary
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scope import (
    AsDefault,
    Controller,
    DeferredScope,
    Scope,
    ThreadScope,
    check_scope_name,
    graph_stack,
)
from headrace.graph.typing.aliases import Device, DTypeLike, Proto


class Graph(FunctionLibrary):
    """A dataflow graph: operations, the tensors between them, and collections."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        renew_in_child(self)
        self._local = ThreadScope()
        self._ops: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False
        # Set by the first loop: checks the inputs of nodes outside of loops and branches.
        self._check_outer_node: Callable[[Operation], None] | None = None
        self._seed: int | None = None
        self._seed_used = False  # whether an op without a seed took one from the graph's
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._consumers: dict[Tensor, list[Operation]] = {}
        self._consumers_upto = 0
        self._changed: list[Operation] = []  # in order; see Operation._change
        self._producer: int | None = None
        self._uncounted = 0  # nodes that TensorFlow has and this graph has not
        self._keep_alive: list[Any] = []  # objects that nodes refer to by token

    # -- operations and tensors ------------------------------------------------------------

    def get_operations(self) -> list[Operation]:
        """Returns all operations in order of creation."""
        return list(self._ops)

    @property
    def version(self) -> int:
        """Number of nodes added so far."""
        return len(self._ops)

    @property
    def _last_id(self) -> int:
        """Number of nodes that TensorFlow 1.15 would have; the seed of an op without one."""
        return len(self._ops) + self._uncounted

    @property
    def graph_def_versions(self) -> Any:
        """The VersionDef of the graph's GraphDef."""
        from headrace.graph.framework.graph_codec import version_def

        return version_def(self)

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns an operation by name.

        Raises: TypeError if the name is not a string; ValueError for a tensor's name; KeyError for
          an unknown name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name)}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns a tensor by name ("op:0").

        Raises: as get_operation_by_name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name)}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(
        self, obj: object, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Converts an object to a tensor or operation of this graph.

        Args:
          obj: a Tensor, an Operation, a name, or an object with `_as_graph_element()`.
          allow_tensor: accept tensors.
          allow_operation: accept operations.
        Raises: TypeError for other objects or a kind that is not allowed; ValueError for an
          element of another graph; KeyError for an unknown name.
        """
        if allow_tensor and allow_operation:
            requested = "Tensor or Operation"
        elif allow_tensor:
            requested = "Tensor"
        elif allow_operation:
            requested = "Operation"
        else:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            converted = convert()
            if converted is not None:
                obj = converted
        if isinstance(obj, Tensor) and allow_tensor:
            if obj.graph is not self:
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        if isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"Operation {obj.name!r} is not an element of this graph.")
            return obj
        if isinstance(obj, (str, bytes)):
            name = obj.decode() if isinstance(obj, bytes) else obj
            return element_by_name(self._by_name, name, allow_tensor, allow_operation)
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {requested}.")

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[DTypeLike] | None = None,
        input_types: Sequence[DTypeLike] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Proto | None = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Creates a node from tensors and AttrValue messages, as in TF 1.x.

        Args:
          op_type: name of an op in the catalogue.
          inputs: input tensors, with lists flattened.
          attrs: AttrValue messages by name.
        Raises: ValueError or TypeError for inputs or attributes that do not match the op's
          signature.
        """
        from headrace.graph.framework.node_messages import create_from_messages

        return create_from_messages(self, op_type, inputs, name, attrs or {}, dtypes)

    def _consumers_of(self, tensor: Tensor) -> list[Operation]:
        with self._lock:
            for op in self._ops[self._consumers_upto :]:
                for t in op.inputs:
                    readers = self._consumers.setdefault(t, [])
                    if not readers or readers[-1] is not op:
                        readers.append(op)
            self._consumers_upto = len(self._ops)
            return list(self._consumers.get(tensor, ()))

    # -- feeding and fetching --------------------------------------------------------------

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Marks a tensor as not feedable."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Returns whether a tensor may be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Marks an operation and its outputs as not fetchable."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Returns whether a tensor or operation may be fetched."""
        if not self._unfetchable:
            return True
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable and tensor_or_op not in self._unfetchable

    # -- names -------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns a unique name in the current scope; letter case is ignored."""
        prefix = self._local.scope.name
        if prefix:
            name = f"{prefix}/{name}"
        with self._lock:
            return self._unique(name, mark_as_used)

    def _unique(self, name: str, mark_as_used: bool = True) -> str:
        used = self._names_in_use
        key = name.lower()
        count = used.get(key, 0)
        if mark_as_used:
            used[key] = count + 1
        if not count:
            return name
        base = key
        while True:
            key = f"{base}_{count}"
            if key not in used:
                break
            count += 1
        if mark_as_used:
            used[key] = 1
            used[base] = count + 1  # start of the next search
        return f"{name}_{count}"

    def name_scope(self, name: str | None) -> Any:
        """Returns a context manager that prefixes the names of new nodes; see scopes.name_scope."""

        def make(outer: Scope) -> tuple[Scope, str]:
            if not name:
                return outer.named(""), ""
            if not isinstance(name, str):
                raise TypeError(f"name for name_scope must be a string, not {name!r}")
            if name[-1] == "/":
                return outer.named(name[:-1]), name
            check_scope_name(name, not outer.name)
            full = self.unique_name(name)
            return outer.named(full), full + "/"

        return DeferredScope(self, make)

    def get_name_scope(self) -> str:
        """Returns the current name scope, without a trailing slash."""
        return self._local.scope.name

    # -- other scopes ---------------------------------------------------------------------

    def as_default(self) -> Any:
        """Returns a context manager that makes this the default graph."""
        return AsDefault(self)

    def device(self, device_name_or_function: Device) -> Any:
        """Returns a context manager that sets the device of new nodes.

        Args:
          device_name_or_function: a full or partial device name (inner scopes take precedence over
            outer ones); a DeviceSpec; a function from an Operation to a device name; or None to
            ignore the outer scopes.
        """
        spec = device_name_or_function
        if isinstance(spec, DeviceSpec):
            spec = spec.to_string()

        def make(outer: Scope) -> tuple[Scope, None]:
            if spec is None:
                return outer.changed(device="", devices=()), None
            if callable(spec) or outer.devices:
                base = outer.devices or ((outer.device,) if outer.device else ())
                return outer.changed(devices=(*base, spec)), None
            return outer.changed(device=merged(outer.device, canonical(spec))), None

        return DeferredScope(self, make)

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Returns a context manager: new nodes run after the given operations.

        Args:
          control_inputs: operations, tensors and variables; None clears all outer control
            dependencies and leaves control-flow contexts.
        Raises: TypeError if control_inputs is not a list.
        """
        if control_inputs is None:

            def leave(outer: Scope) -> tuple[Scope, None]:
                return outer.changed(controllers=(), context=None), None

            return DeferredScope(self, leave)
        if isinstance(control_inputs, (Tensor, Operation)):
            raise TypeError(
                f"control_inputs must be a list of operations or tensors, not {control_inputs!r}"
            )
        operations: list[Operation] = []
        for item in control_inputs:
            if type(item) is not Tensor and hasattr(item, "indices") and hasattr(item, "values"):
                item = item.op
            element = self.as_graph_element(item)
            op = element.op if isinstance(element, Tensor) else element
            if op not in operations:
                operations.append(op)

        def make(outer: Scope) -> tuple[Scope, Controller]:
            controller = Controller(tuple(operations))
            return outer.changed(controllers=(*outer.controllers, controller)), controller

        return DeferredScope(self, make)

    def colocate_with(self, op: object, ignore_existing: bool = False) -> Any:
        """Returns a context manager that places new nodes on the device of another.

        Args:
          op: an Operation, Tensor or variable; None, with ignore_existing, clears all outer
            colocation.
          ignore_existing: ignore outer colocation and device scopes.
        Raises: ValueError if op is None and ignore_existing is False.
        """
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        operation: Operation | None = None
        if op is not None:
            element = self.as_graph_element(_op_of(op))
            operation = element.op if isinstance(element, Tensor) else element

        def make(outer: Scope) -> tuple[Scope, None]:
            # The colocated device overrides outer device scopes.
            kept = () if ignore_existing else outer.colocation
            if operation is not None and operation not in kept:
                kept = (*kept, operation)
            return outer.changed(colocation=kept, device="", devices=()), None

        return DeferredScope(self, make)

    def container(self, container_name: str) -> Any:
        """Returns a context manager that sets the container of new resources."""
        return DeferredScope(
            self, lambda outer: (outer.changed(container=container_name), container_name)
        )

    @property
    def _container(self) -> str:
        return self._local.scope.container

    def gradient_override_map(self, op_type_map: dict[str, str]) -> Any:
        """Returns a context manager in which nodes of an op use another registered gradient.

        Args:
          op_type_map: maps op types to names given to RegisterGradient.
        Raises: TypeError if it does not map strings to strings.
        """
        strings = isinstance(op_type_map, dict) and all(
            isinstance(text, str) for pair in op_type_map.items() for text in pair
        )
        if not strings:
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        return DeferredScope(
            self,
            lambda outer: (outer.changed(overrides={**outer.overrides, **op_type_map}), None),
        )

    def _attr_scope(self, attrs: dict[str, Any]) -> Any:
        """Returns a context manager that adds attributes (plain values, AttrValues) to nodes."""
        attrs = {name: attributes.plain_or_raw(value) for name, value in attrs.items()}
        return DeferredScope(
            self, lambda outer: (outer.changed(attrs={**outer.attrs, **attrs}), None)
        )

    def _get_control_flow_context(self) -> Any:
        return self._local.scope.context

    def _in_context(self, context: Any) -> Any:
        """Returns a context manager that enters a control-flow context (None leaves all)."""
        return DeferredScope(self, lambda outer: (outer.changed(context=context), context))

    # -- collections ----------------------------------------------------------------------

    def add_to_collection(self, name: Hashable, value: object) -> None:
        """Appends a value to a collection."""
        self._check_not_finalized()
        with self._lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: object) -> None:
        """Appends a value to several collections; repeated names count once."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Returns a new list of the values of a collection.

        Args:
          name: name of the collection.
          scope: regular expression that the start of a value's name must match.
        """
        with self._lock:
            values = list(self._collections.get(name, ()))
        if scope is None:
            return values
        import re

        begins = re.compile(scope).match
        return [v for v in values if hasattr(v, "name") and begins(v.name)]

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Returns the collection as a list that may be modified in place."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[Any]:
        """Returns the names of the public collections."""
        with self._lock:
            return [k for k in self._collections if isinstance(k, str)]

    @property
    def collections(self) -> list[Any]:
        """The names of the collections."""
        return list(self._collections)

    def clear_collection(self, name: Hashable) -> None:
        """Removes a collection."""
        self._check_not_finalized()
        with self._lock:
            self._collections.pop(name, None)

    # -- the whole graph ------------------------------------------------------------------

    @property
    def seed(self) -> int | None:
        """The graph-level random seed."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        """Whether the graph is finalized: no node can be added."""
        return self._finalized

    def finalize(self) -> None:
        """Makes the graph read-only: later additions raise RuntimeError."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def switch_to_thread_local(self) -> None:
        """Does nothing: the scopes of a graph belong to the thread that entered them."""

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Returns the GraphDef message.

        Args:
          from_version: include only nodes added after this version of the graph.
          add_shapes: add the output shapes as `_output_shapes` attributes.
        """
        from headrace.graph.framework.graph_codec import as_graph_def

        return as_graph_def(self, from_version or 0, add_shapes)


_process_graph: Graph | None = None
_process_lock = ForkLock()


def get_default_graph() -> Graph:
    """Returns the default graph: that of the innermost `as_default`, or the process's graph."""
    graph = graph_stack.graph
    if graph is not None:
        return graph
    global _process_graph
    if _process_graph is None:
        with _process_lock.current:
            if _process_graph is None:
                _process_graph = Graph()
    return _process_graph


def graph_of_result(tensor: Any) -> Graph:
    """Returns the graph that gets an operation on a tensor: a function's captures the tensor."""
    graph = get_default_graph()
    return graph if graph.building_function else tensor.graph


def reset_default_graph() -> None:
    """Replaces the default graph of the process by a new one.

    Raises: AssertionError inside an `as_default` scope.
    """
    if graph_stack.graph is not None:
        raise AssertionError(
            "Do not use reset_default_graph() to clear nested graphs: leave the as_default scope, "
            "or make a new Graph"
        )
    global _process_graph
    _process_graph = Graph()


def _op_of(value: Any) -> Any:
    op = getattr(value, "op", None)
    return op if isinstance(op, Operation) else value
