"""Functions for the collections and the random seed of the default graph."""

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
    """Returns a new list of the values of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """Returns a collection of the default graph as a list that may be modified in place."""
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys() -> list[Any]:
    """Returns the names of the default graph's collections."""
    return get_default_graph().get_all_collection_keys()


def set_random_seed(seed: int | None) -> None:
    """Sets the default graph's random seed."""
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Derives the two seeds of a random op from the seeds of the graph and of the op.

    Returns: (graph seed, op seed), or (None, None) for nondeterministic seeds at run time.
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
    # (0, 0) means nondeterministic seeds.
    return (0, 2**31 - 1) if seeds == (0, 0) else seeds


DEFAULT_GRAPH_SEED = 87654321


def _in_int32(seed: Any) -> int:
    return int(seed) % (2**31 - 1)
