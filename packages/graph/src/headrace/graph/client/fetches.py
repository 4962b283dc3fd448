"""Resolves the fetches of `Session.run`, and rebuilds their structure from the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.graph.builder.indexed_slices import (
    IndexedSlices,
    IndexedSlicesValue,
    SparseTensor,
    SparseTensorValue,
)
from headrace.graph.framework.operation import Operation, Tensor

# (type, fetch -> (elements, values -> result), feed function, feed function for partial runs)
_registered: list[tuple[type, Callable[..., Any], Any, Any]] = []


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[..., Any],
    feed_function: Callable[..., Any] | None = None,
    feed_function_for_partial_run: Callable[..., Any] | None = None,
) -> None:
    """Registers a type that `Session.run` can fetch and feed.

    Args:
      fetch_function: object -> (list of tensors, function from their values to the result).
      feed_function: (object, value) -> list of (tensor, value).
      feed_function_for_partial_run: object -> list of tensors.
    Raises: ValueError if the type is already registered.
    """
    if any(issubclass(tensor_type, entry[0]) for entry in _registered):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _registered.insert(
        0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    )


def registered_feed(key: Any) -> Any:
    """Returns the feed function registered for a type, or None."""
    for kind, _, feed, _ in _registered:
        if isinstance(key, kind):
            return feed
    return None


def structure_key(fetches: Any) -> Any:
    """Returns a hashable key of a structure of fetches: equal for equal structures of the same
    leaves
    only. None if there is nothing to fetch."""
    kind = type(fetches)
    if kind is Tensor or kind is Operation or kind is str:
        return fetches
    if isinstance(fetches, (list, tuple)):
        parts = [f if type(f) is Tensor else structure_key(f) for f in fetches]
        return None if None in parts else (kind, *parts)
    if isinstance(fetches, Mapping):
        parts = [structure_key(f) for f in fetches.values()]
        return None if None in parts else (kind, *fetches, *parts)
    if kind in (SparseTensor, IndexedSlices) or hasattr(kind, "_as_graph_element"):
        return fetches
    return None


class FetchPlan:
    """A structure of fetches, resolved to tensors and operations of a graph.

    Attributes:
      tensors: distinct Tensors to fetch.
      targets: distinct Operations to run.
      build: function from the values of `tensors` to the result in the caller's structure.
      flat: the result is the list of values.
      single: the result is the only value.
    """

    __slots__ = ("build", "flat", "single", "targets", "tensors")

    def __init__(self, graph: Any, fetches: Any) -> None:
        self.tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        positions: dict[Tensor, int] = {}
        self.build = self._plan(graph, fetches, positions)
        self.single = isinstance(fetches, Tensor)
        self.flat = (
            type(fetches) is list
            and len(self.tensors) == len(fetches)
            and all(type(f) is Tensor for f in fetches)
        )

    def _plan(self, graph: Any, fetch: Any, positions: dict[Tensor, int]) -> Callable[..., Any]:
        if fetch is None:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}")
        if isinstance(fetch, (list, tuple)):
            parts = [self._plan(graph, item, positions) for item in fetch]
            if hasattr(fetch, "_fields"):
                make = type(fetch)
                return lambda values: make(*[part(values) for part in parts])
            if isinstance(fetch, list):
                return lambda values: [part(values) for part in parts]
            return lambda values: tuple([part(values) for part in parts])
        if isinstance(fetch, Mapping):
            named = [(key, self._plan(graph, item, positions)) for key, item in fetch.items()]
            kind = type(fetch)
            return lambda values: _mapping(kind, [(key, part(values)) for key, part in named])
        if isinstance(fetch, SparseTensor):
            items = [fetch.indices, fetch.values, fetch.dense_shape]
            sparse = [self._leaf(graph, item, fetch, positions) for item in items]
            return lambda values: SparseTensorValue(*[part(values) for part in sparse])
        if isinstance(fetch, IndexedSlices):
            return self._indexed_slices(graph, fetch, positions)
        for kind, function, _, _ in _registered:
            if isinstance(fetch, kind):
                elements, contract = function(fetch)
                leaves = [self._leaf(graph, e, fetch, positions) for e in elements]
                return lambda values: contract([leaf(values) for leaf in leaves])
        return self._leaf(graph, fetch, fetch, positions)

    def _indexed_slices(
        self, graph: Any, fetch: IndexedSlices, positions: dict[Tensor, int]
    ) -> Callable[..., Any]:
        items = [fetch.values, fetch.indices]
        if fetch.dense_shape is not None:
            items.append(fetch.dense_shape)
        parts = [self._leaf(graph, item, fetch, positions) for item in items]

        def build(values: Any) -> IndexedSlicesValue:
            found = [part(values) for part in parts]
            return IndexedSlicesValue(*found, *([None] if len(found) == 2 else []))

        return build

    def _leaf(
        self, graph: Any, element: Any, fetch: Any, positions: dict[Tensor, int]
    ) -> Callable[..., Any]:
        try:
            found = graph.as_graph_element(element, allow_tensor=True, allow_operation=True)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}, must be a string or "
                f"Tensor. ({error})"
            ) from None
        except ValueError as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        except KeyError as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.args[0]})"
            ) from None
        if not graph.is_fetchable(found):
            raise ValueError(f"Operation {found!r} has been marked as not fetchable.")
        if isinstance(found, Operation):
            if found not in self.targets:
                self.targets.append(found)
            return lambda values: None
        position = positions.get(found)
        if position is None:
            position = positions[found] = len(self.tensors)
            self.tensors.append(found)
        return lambda values: values[position]


def _mapping(kind: type, items: list[tuple[Any, Any]]) -> Any:
    result = kind()
    result.update(items)
    return result
