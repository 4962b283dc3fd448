"""The default graph: the graph around functions, collections, the random seed."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from headrace.graph.framework.graph import get_default_graph


def outermost_graph() -> Any:
    """Returns the default graph, or the graph around it that is not the graph of a function."""
    graph: Any = get_default_graph()
    while graph.building_function:
        graph = graph.outer_graph
    return graph


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


def count_nodes(more: int) -> None:
    """Counts nodes that TensorFlow 1.15 adds here and this graph does not need.

    The seed of a random op without one is the number of nodes before it, so that a program gets
    TensorFlow's numbers only if the numbers of nodes agree.
    """
    get_default_graph()._uncounted += more


@contextlib.contextmanager
def counted_as(nodes: int) -> Iterator[None]:
    """Counts what the block adds as the number of nodes that TensorFlow 1.15 adds."""
    graph = get_default_graph()
    start = graph._last_id
    yield
    graph._uncounted += start + nodes - graph._last_id


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Derives the two seeds of a random op from the seeds of the graph and of the op.

    Returns: (graph seed, op seed), or (None, None) for nondeterministic seeds at run time.
    """
    graph = get_default_graph()
    graph_seed = graph.seed
    if graph_seed is not None:
        if op_seed is None:
            op_seed = graph._last_id  # the next node's number, as in TF 1.x
            graph._seed_used = True
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
