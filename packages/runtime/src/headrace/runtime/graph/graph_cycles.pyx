# distutils: language = c++
"""Rejects cycles in a graph: only NextIteration to Merge may close one."""

from libc.stdint cimport int32_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport op_entry_of
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text_of

from headrace.formats.errors import InvalidArgumentError


cdef inline bint _closes_loop(const GraphNode* producer, const GraphNode* consumer) noexcept nogil:
    return (op_entry_of(producer).kind == NodeKind.NEXT_ITERATION
            and op_entry_of(consumer).kind == NodeKind.MERGE)


cdef int reject_cycle(vector[GraphNode*]& nodes, int32_t before) except -1 nogil:
    """Checks for cycles among the new nodes: old ones never read new ones."""
    cdef int32_t total = <int32_t>nodes.size()
    cdef int32_t n = total - before
    cdef int32_t i, k, producer
    cdef cbool in_order = True
    cdef GraphNode* node
    cdef Edge edge
    cdef vector[int32_t] missing, first, consumers, at, ready
    missing.assign(n, 0)
    first.assign(n + 1, 0)
    for i in range(before, total):
        node = nodes[i]
        for edge in node.inputs:
            if edge.node >= before and not _closes_loop(nodes[edge.node], node):
                in_order = in_order and edge.node < i
                missing[i - before] += 1
                first[edge.node - before + 1] += 1
        for producer in node.controls:
            if producer >= before:
                in_order = in_order and producer < i
                missing[i - before] += 1
                first[producer - before + 1] += 1
    if in_order:
        return 0
    for i in range(n):
        first[i + 1] += first[i]
    consumers.resize(first[n])
    at.assign(first.begin(), first.end())
    for i in range(before, total):
        node = nodes[i]
        for edge in node.inputs:
            if edge.node >= before and not _closes_loop(nodes[edge.node], node):
                consumers[at[edge.node - before]] = i - before
                at[edge.node - before] += 1
        for producer in node.controls:
            if producer >= before:
                consumers[at[producer - before]] = i - before
                at[producer - before] += 1
    for i in range(n):
        if missing[i] == 0:
            ready.push_back(i)
    k = 0
    while k < <int32_t>ready.size():
        for i in range(first[ready[k]], first[ready[k] + 1]):
            missing[consumers[i]] -= 1
            if missing[consumers[i]] == 0:
                ready.push_back(consumers[i])
        k += 1
    if k == n:
        return 0
    with gil:
        raise _cycle_error(nodes, before, missing)


cdef object _cycle_error(vector[GraphNode*]& nodes, int32_t before, vector[int32_t]& missing):
    # Every remaining node waits for another one, so that going backwards meets a node twice.
    cdef int32_t at = 0
    cdef int32_t producer
    cdef Edge edge
    while missing[at] == 0:
        at += 1
    places = {}  # nodes of the path, in order
    while at not in places:
        places[at] = len(places)
        node = nodes[before + at]
        at = -1
        for edge in node.inputs:
            if edge.node >= before and missing[edge.node - before] and not _closes_loop(
                    nodes[edge.node], node):
                at = edge.node - before
                break
        if at < 0:
            for producer in node.controls:
                if producer >= before and missing[producer - before]:
                    at = producer - before
                    break
    cycle = [*places][places[at]:][::-1]
    names = [text_of(nodes[before + <int32_t>i].name) for i in cycle]
    shown = " -> ".join([*names[:8], "..."] if len(names) > 8 else [*names, names[0]])
    return InvalidArgumentError(
        None, None, f"the graph has a cycle: {shown}; only NextIteration to Merge may close one",
        node_name=names[0])
