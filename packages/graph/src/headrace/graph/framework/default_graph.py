"""Functions that act on the default graph: its collections and its random seed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from headrace.graph.framework.graph import get_default_graph


def add_to_collection(name: Hashable, value: object) -> None:
    """Appends a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Hashable | Iterable[Hashable], value: object) -> None:
    """Appends a value to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """The values of a collection of the default graph, in a new list."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """A collection of the default graph itself, to be changed in place."""
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys() -> list[Any]:
    """The names of the default graph's collections."""
    return get_default_graph().get_all_collection_keys()


def set_random_seed(seed: int | None) -> None:
    """Sets the default graph's random seed."""
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of a random op, from the graph's and the op's own.

    Returns: (None, None) where neither is set: the op then takes a fresh one at run.
    """
    graph = get_default_graph()
    graph_seed = graph.seed
    if graph_seed is not None:
        if op_seed is None:
            op_seed = graph.version  # the next node's number, as in TF 1.x
        seeds: tuple[int | None, int | None] = (_in_int32(graph_seed), _in_int32(op_seed))
    elif op_seed is not None:
        seeds = (DEFAULT_GRAPH_SEED, _in_int32(op_seed))
    else:
        return None, None
    # (0, 0) would ask for a fresh seed at run.
    return (0, 2**31 - 1) if seeds == (0, 0) else seeds


DEFAULT_GRAPH_SEED = 87654321


def _in_int32(seed: Any) -> int:
    return int(seed) % (2**31 - 1)
