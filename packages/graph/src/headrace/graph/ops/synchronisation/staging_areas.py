"""Staging areas: buffers between the steps that prepare tensors and those that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import identity, no_op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with, name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.typing.aliases import TensorLike


class BaseStagingArea:
    """Base class of staging areas.

    Args:
      dtypes: dtypes of the tensors of a tuple.
      shapes: their shapes; None for any.
      names: their names; tuples are then dicts.
      shared_name: name under which sessions share the area.
      capacity: maximum number of tuples; 0 for no limit.
      memory_limit: maximum number of bytes; 0 for no limit.
    Raises: ValueError for another number of shapes or names, or a shared_name that is no string.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if shared_name is None:
            self._name = get_default_graph().unique_name(type(self).__name__)
        elif isinstance(shared_name, str):
            self._name = shared_name
        else:
            raise ValueError(f"shared_name must be a string, got {shared_name}")
        self._dtypes = [as_dtype(d) for d in dtypes]
        if shapes is not None and len(shapes) != len(self._dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._shapes = [TensorShape(s) for s in (shapes or [None] * len(self._dtypes))]
        self._names = names
        self._capacity = capacity
        self._memory_limit = memory_limit
        with name_scope(f"{self._name}_root"):
            self._coloc_op = no_op()

    name = property(lambda self: self._name, doc="Name of the area.")
    dtypes = property(lambda self: self._dtypes, doc="Dtypes of the tensors of a tuple.")
    shapes = property(lambda self: self._shapes, doc="Shapes of the tensors of a tuple.")
    names = property(lambda self: self._names, doc="Names of the tensors of a tuple, or None.")
    capacity = property(lambda self: self._capacity, doc="Maximum number of tuples; 0: no limit.")
    memory_limit = property(lambda self: self._memory_limit, doc="Maximum of bytes; 0: no limit.")

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of tuples, [] int32."""
        return self._on_all("Size", name, "size")

    def clear(self, name: str | None = None) -> Operation:
        """Creates an operation that removes all tuples."""
        return self._on_all("Clear", name, "clear")

    def _prefix(self) -> str:
        raise NotImplementedError

    def _on_all(self, what: str, name: str | None, suffix: str) -> Any:
        return self._node(
            what, name=f"{self._name}_{suffix}" if name is None else name, dtypes=self._dtypes
        )

    def _node(self, what: str, *inputs: Any, **attrs: Any) -> Any:
        return op(
            f"{self._prefix()}{what}",
            *inputs,
            shared_name=self._name,
            capacity=self._capacity,
            memory_limit=self._memory_limit,
            **attrs,
        )

    def _checked(self, vals: Any, indices: Any) -> tuple[list[Tensor], list[int]]:
        """Returns the tensors to put, and which tensors of a tuple they are."""
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. "
                    f"Dictionary: {sorted(vals)}, names: {sorted(self._names)}"
                )
            indices = [i for i, name in enumerate(self._names) if name in vals]
            vals = [vals[self._names[i]] for i in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if not isinstance(vals, (list, tuple)):
                vals, indices = [vals], [0]
            if len(indices) != len(vals):
                raise ValueError(
                    f"Number of indices {len(indices)} doesn't match number of values {len(vals)}"
                )
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(vals)} vs {len(self._dtypes)}")
        return [self._component(value, i) for value, i in zip(vals, indices)], list(indices)

    def _component(self, value: Any, i: int) -> Tensor:
        dtype = self._dtypes[i]
        tensor = convert_to_tensor(value, None if hasattr(value, "dtype") else dtype)
        if tensor.dtype.base_dtype != dtype:
            raise ValueError(
                f"Datatypes do not match. Received val.dtype {tensor.dtype} and dtype {dtype}"
            )
        tensor.get_shape().assert_is_compatible_with(self._shapes[i])
        return tensor

    def _returned(self, tensors: Any, indices: list[int]) -> Any:
        tensors = self._on_this_device(tensors)
        for tensor, i in zip(tensors, indices):
            tensor.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: tensor for tensor, i in zip(tensors, indices)}
        return tensors

    def _on_this_device(self, tensors: Any) -> list[Tensor]:
        tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        if no_op().device != self._coloc_op.device:
            return [identity(t) for t in tensors]
        return tensors


class StagingArea(BaseStagingArea):
    """A staging area that returns tuples in the order in which they were put.

    Args: as for BaseStagingArea.
    """

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Creates an operation that adds a tuple; it waits while the area is full.

        Args:
          values: a tensor, a list of tensors, or a dict if the area has names.
        Raises: ValueError for other dtypes, names or numbers of tensors.
        """
        with name_scope(name, f"{self._name}_put", _listed(values)) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            tensors, _ = self._checked(values, list(range(len(values))))
            with colocate_with(self._coloc_op):
                return op(
                    "Stage",
                    tensors,
                    shared_name=self._name,
                    capacity=self._capacity,
                    memory_limit=self._memory_limit,
                    name=scope,
                )

    def get(self, name: str | None = None) -> Any:
        """Removes the oldest tuple; waits while there is none. Returns: a list, or a dict."""
        with colocate_with(self._coloc_op):
            tensors = op(
                "Unstage",
                dtypes=self._dtypes,
                shared_name=self._name,
                capacity=self._capacity,
                memory_limit=self._memory_limit,
                name=f"{self._name}_get" if name is None else name,
            )
        return self._returned(tensors, list(range(len(self._dtypes))))

    def peek(self, index: TensorLike, name: str | None = None) -> Any:
        """Returns the tuple at an index, and leaves it there; waits until there is one."""
        name = f"{self._name}_peek" if name is None else name
        with colocate_with(self._coloc_op):
            tensors = self._node("Peek", index, dtypes=self._dtypes, name=name)
        return self._returned(tensors, list(range(len(self._dtypes))))

    def _prefix(self) -> str:
        return "Stage"


class MapStagingArea(BaseStagingArea):
    """A staging area of tuples with keys; the tensors of a tuple may be put and taken in parts.

    Args: as for BaseStagingArea, and
      ordered: `get` without a key returns the least key first.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ordered = ordered

    def put(
        self,
        key: TensorLike,
        vals: Any,
        indices: Sequence[int] | None = None,
        name: str | None = None,
    ) -> Operation:
        """Creates an operation that adds tensors of a key; it waits while the area is full.

        Args:
          key: [] int64.
          vals: a list of tensors, or a dict if the area has names.
          indices: which tensors of the tuple they are; required for a list.
        Raises: ValueError for other dtypes, names or numbers of tensors.
        """
        with name_scope(name, f"{self._name}_put", _listed(vals)) as scope:
            tensors, indices = self._checked(vals, indices)
            with colocate_with(self._coloc_op):
                return self._node("Stage", key, indices, tensors, dtypes=self._dtypes, name=scope)

    def peek(
        self, key: TensorLike, indices: Sequence[Any] | None = None, name: str | None = None
    ) -> Any:
        """Returns tensors of a key, and leaves them there; waits until the tuple is complete."""
        name = f"{self._name}_pop" if name is None else name
        return self._taken("Peek", [key], indices, name)

    def get(
        self,
        key: TensorLike | None = None,
        indices: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> Any:
        """Removes tensors of a key, or of any complete tuple.

        Args:
          key: [] int64; None for any key.
          indices: indices or names of the tensors; by default all.
        Returns: (key, tensors).
        """
        if key is not None:
            name = f"{self._name}_get" if name is None else name
            return key, self._taken("Unstage", [key], indices, name)
        chosen = self._chosen(indices)
        with colocate_with(self._coloc_op):
            taken_key, tensors = self._node(
                "UnstageNoKey",
                chosen,
                dtypes=[self._dtypes[i] for i in chosen],
                name=f"{self._name}_get_nokey" if name is None else name,
            )
        return self._on_this_device(taken_key)[0], self._returned(tensors, chosen)

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Returns the number of incomplete tuples, [] int32."""
        return self._on_all("IncompleteSize", name, "incomplete_size")

    def _taken(self, what: str, inputs: list[Any], indices: Any, name: str) -> Any:
        chosen = self._chosen(indices)
        with colocate_with(self._coloc_op):
            tensors = self._node(
                what, *inputs, chosen, dtypes=[self._dtypes[i] for i in chosen], name=name
            )
        return self._returned(tensors, chosen)

    def _chosen(self, indices: Any) -> list[int]:
        """Returns the indices of tensors that are given by index or by name."""
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, int) for i in indices):
            return list(indices)
        if not all(isinstance(i, str) for i in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        if self._names is None:
            raise ValueError(
                f"String indices provided {indices}, but this Staging Area was not created with "
                "names."
            )
        names = list(self._names)
        if not set(indices) <= set(names):
            raise ValueError(f"Named index not in Staging Area names {names}")
        return [names.index(i) for i in indices]

    def _prefix(self) -> str:
        return "OrderedMap" if self._ordered else "Map"


def _listed(values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        return list(values.values())
    return list(values) if isinstance(values, (list, tuple)) else [values]


for _op_type in ("Stage", "StageClear", "StageSize", "StagePeek", "Unstage"):
    no_gradient(_op_type, "values pass through a staging area between steps, not within one")
for _kind in ("", "Ordered"):
    for _what in ("Stage", "Clear", "Size", "IncompleteSize", "Peek", "Unstage", "UnstageNoKey"):
        no_gradient(
            f"{_kind}Map{_what}",
            "values pass through a staging area between steps, not within one",
        )
