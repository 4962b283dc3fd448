import gc
import weakref

import pytest

from headrace.formats import callables, errors


def test_find_returns_the_function_of_a_token():
    kept = callables.register(len)
    assert callables.find(kept.token) is len
    assert callables.find(kept.token.encode()) is len
    assert callables.register(len).token != kept.token


def test_function_is_freed_with_its_graph_despite_a_reference_cycle():
    class Graph:
        def __init__(self):
            self.functions = [callables.register(lambda: self)]

    graph = Graph()
    token = graph.functions[0].token
    assert callables.find(token)() is graph
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
    with pytest.raises(
        errors.FailedPreconditionError, match=f"py_func {token!r}: no such function"
    ):
        callables.find(token)
