# distutils: language = c++
"""The partitions of a signature over several tasks, as a PartitionPlan (white paper §3.2, §3.3)."""

from libc.stdint cimport int32_t, int64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport AttrEntry, attributes_of
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text, text_of
from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.place cimport Placer
from headrace.runtime.passes.placement_report cimport placement_report, report_receives
from headrace.runtime.passes.program cimport ProgramConfig, placed, pruned_graph
from headrace.runtime.passes.schedule_receives cimport ReceiveSchedule, schedule_receives
from headrace.runtime.passes.task_edges cimport TaskEdges

from headrace.formats.proto import graph_pb2, op_pb2, plan_pb2


cpdef bytes plan_tasks(SessionGraph graph, list feeds, list fetches, list targets,
                       ProgramConfig config):
    """Prunes and places a signature and cuts it at the borders between tasks.

    Args: as build_program; the devices of the config name tasks.
    Returns: a serialized PartitionPlan.
    Raises: as build_program.
    """
    cdef GraphIR ir
    cdef Placer placer
    cdef ReceiveSchedule schedule = None
    cdef TaskEdges edges
    cdef int64_t fetch
    cdef int32_t f
    report = None
    with graph.lock:
        ir = pruned_graph(graph, feeds, fetches, targets, config)
        ir.between_tasks = True
        placer = placed(ir, graph, config)
        if placer.simulation is not None:
            report = placement_report(ir, placer, config.placement)
        if config.schedule_receives and ir.n_devices > 1:
            schedule = schedule_receives(ir, config.placement)
        tasks = ir.table.tasks
        edges = TaskEdges(ir, ir.table.task_of, tasks, config.bfloat16_edges)
        edges.cut()
        plan = plan_pb2.PartitionPlan(placement=report)
        if report is not None:
            report_receives(plan.placement, schedule)
        for task, graph_def in _graph_defs(ir, edges, graph).items():
            plan.partition.add(task=tasks[task], graph_def=graph_def.SerializeToString())
    for f in range(<int32_t>edges.edges.size()):
        plan.edge.add(
            id=f, tensor=edges.tensors[f], dtype=edges.edges[f].dtype, feed=edges.edges[f].feed,
            send_task=tasks[edges.edges[f].send_task] if edges.edges[f].send_task >= 0 else "",
            recv_task=tasks[edges.edges[f].recv_task] if edges.edges[f].recv_task >= 0 else "")
    for fetch in edges.fetches:
        plan.fetch.append(fetch)
    return plan.SerializeToString()


cpdef bytes explain_tasks(SessionGraph graph, list feeds, list fetches, list targets,
                          ProgramConfig config):
    """Places a signature as plan_tasks does, and says why it is placed so.

    Returns: a serialized PlacementReport.
    """
    cdef GraphIR ir
    cdef Placer placer
    with graph.lock:
        ir = pruned_graph(graph, feeds, fetches, targets, config)
        ir.between_tasks = True
        placer = placed(ir, graph, config)
        report = placement_report(ir, placer, config.placement)
        if config.schedule_receives and ir.n_devices > 1:
            report_receives(report, schedule_receives(ir, config.placement))
    return report.SerializeToString()


cdef dict _graph_defs(GraphIR ir, TaskEdges edges, SessionGraph graph):
    """A GraphDef per task, in the order of the tasks."""
    cdef vector[int32_t] order
    cdef IRNode* node
    cdef Edge edge
    cdef int32_t i, k
    cdef const AttrEntry* entry
    cdef size_t a
    ir.order(order)
    names = _names(ir, order)
    graphs = {}
    for i in order:
        node = &ir.nodes[i]
        if node.kind == NodeKind.FEED:
            continue
        task = edges.task(i)
        result = graphs.get(task)
        if result is None:
            result = graphs[task] = graph_pb2.GraphDef()
            result.versions.producer = graph.producer
            result.library.function.extend(graph.library.values())
        made = result.node.add(
            name=names[i], op=text_of(node.source.op), device=ir.devices[node.device])
        for k in range(node.n_inputs):
            edge = ir.edges[node.first_input + k]
            made.input.append(f"{names[edge.node]}:{edge.port}" if edge.port else names[edge.node])
        for source in dict.fromkeys(
                [ir.controls[node.first_control + k] for k in range(node.n_controls)]):
            if ir.nodes[<int32_t>source].kind != NodeKind.FEED:
                made.input.append("^" + names[source])
        for a in range(attributes_of(node.source).entries.size()):
            entry = &attributes_of(node.source).entries[a]
            made.attr[text(entry.key)].MergeFromString(_bytes(entry.value))
    return {task: graphs[task] for task in sorted(graphs)}


cdef list _names(GraphIR ir, vector[int32_t]& order):
    """Names by node: nodes of the graph keep theirs, by which variables are found."""
    cdef int32_t i
    names = [None] * ir.nodes.size()
    taken = set()
    for i in order:
        if ir.nodes[i].entry != NULL:
            name = text_of(ir.nodes[i].source.name)
            if name not in taken:
                taken.add(name)
                names[i] = name
    numbers = {}    # by name, the first that may be free
    for i in order:
        if names[i] is None:
            name = text_of(ir.nodes[i].source.name)
            number = numbers.get(name, 0)
            while (unique := f"{name}_{number}" if number else name) in taken:
                number += 1
            numbers[name] = number + 1
            taken.add(unique)
            names[i] = unique
    return names


cdef bytes _bytes(string_view value):
    return value.data()[:value.size()]
