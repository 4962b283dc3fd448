# distutils: language = c++
"""Chooses devices by simulating a step (white paper §3.2.1).

The simulation takes nodes in the order in which they become ready. For a group of nodes that may
run on several devices, it estimates when its first node would end on each of them: after its inputs
have arrived, including what passes between devices, and once the device is free. The device on
which it ends first is chosen for the whole group. The result is used only if the whole step is
expected to be a tenth faster than with each node on the first device that it may have: a graph of
small nodes stays together, since what passes between devices takes longer than they do.

Variables, and whatever else nodes refer to, have their devices before: they stay while the session
lives. The nodes of a loop that have a choice share a device, since its edges cannot wait for another
task in every iteration.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.memory.kernel_abi cimport HR_KERNEL_SERIAL
from headrace.runtime.passes.device_sets cimport DeviceSets
from headrace.runtime.passes.graph_ir cimport IRNode
from headrace.runtime.passes.step_costs cimport estimate_costs
from headrace.runtime.passes.task_frames cimport TaskFrames

import os

cdef extern from "threads/cost_model.hpp" namespace "headrace" nogil:
    const double kNsBetweenDevices
    const double kNsToSend
    const double kNsToSendToTask
    const double kPlacementGain
    const double kParallel


cdef class SimulationRecord:
    """What the simulation of a placement said."""


cdef Machine machine_of(GraphIR ir, PlacementConfig config):
    cdef Machine machine
    cdef size_t i
    for i in range(len(ir.devices)):
        machine.task_of.push_back(ir.table.task_of[i])
        machine.uses_cores.push_back(ir.table.types[i] == "CPU")
    machine.cores = config.intra_op_threads if config.intra_op_threads > 1 else os.cpu_count() or 1
    machine.between_devices_ns = kNsBetweenDevices
    machine.between_tasks_ns = config.between_tasks_ns
    machine.ns_per_byte = config.ns_per_byte
    machine.sending_ns = kNsToSend
    machine.sending_to_task_ns = kNsToSendToTask
    return machine


cdef int step_graph(GraphIR ir, const StepCosts& costs, PlacementConfig config,
                    StepGraph* graph) except -1:
    cdef size_t n = ir.nodes.size(), i
    cdef int32_t k
    cdef IRNode* node
    cdef Edge edge
    cdef StepInput input
    cdef double team = max(1, config.intra_op_threads), ns
    graph.ns.assign(n, 0)
    graph.wide.assign(n, 0)
    graph.presence.assign(n, ON_ITS_DEVICE)
    graph.rank.assign(n, 0)
    graph.first_input.assign(1, 0)
    graph.inputs.clear()
    graph.bytes.assign(costs.bytes.begin(), costs.bytes.end())
    for i in range(n):
        node = &ir.nodes[i]
        graph.rank[i] = node.rank
        if not node.removed and node.kind != NodeKind.FEED:
            if costs.measured_ns[i] >= 0:   # on as many threads as the node had
                ns = costs.measured_ns[i]
                graph.wide[i] = team > 1 and ns * team >= kParallel
            else:
                ns = costs.expected_ns[i]
                graph.wide[i] = team > 1 and ns >= kParallel and not (
                    node.kernel != NULL and node.kernel.flags & HR_KERNEL_SERIAL)
                if graph.wide[i]:
                    ns /= team
            graph.ns[i] = ns
            if costs.folded[i]:
                graph.presence[i] = FLOATS
        elif not node.removed:
            graph.presence[i] = ON_ITS_TASK
        for k in range(0 if node.removed else node.n_inputs):
            edge = ir.edges[node.first_input + k]
            if node.kind == NodeKind.MERGE and \
                    ir.nodes[edge.node].kind == NodeKind.NEXT_ITERATION:
                continue
            input.producer = edge.node
            input.value = costs.first_value[edge.node] + edge.port
            graph.inputs.push_back(input)
        for k in range(0 if node.removed else node.n_controls):
            input.producer = ir.controls[node.first_control + k]
            input.value = -1
            graph.inputs.push_back(input)
        graph.first_input.push_back(<int32_t>graph.inputs.size())
    return 0


cdef bint simulate_placement(GraphIR ir, PlacementConfig config, Colocation groups,
                             DeviceSets& sets, vector[GroupPlace]& places,
                             SimulationRecord record) except -1:
    cdef vector[int32_t] order, group
    cdef vector[GroupPlace] first, simulated
    cdef StepGraph graph
    cdef Machine machine
    cdef SimulatedStep* step
    cdef size_t i
    cdef double movable = 0, first_ns, best_ns
    cdef bint better
    ir.order(order)
    estimate_costs(ir, order, config.costs, &record.costs)
    _group_loops(ir, groups, sets, places, group)
    step_graph(ir, record.costs, config, &graph)
    machine = machine_of(ir, config)
    first = places
    record.had_choice.assign(ir.nodes.size(), 0)
    for i in range(ir.nodes.size()):
        if ir.nodes[i].removed:
            continue
        if places[group[i]].device < 0:
            movable += graph.ns[i]
            record.had_choice[i] = 1
            first[group[i]].device = sets.lowest(places[group[i]].allowed)
    step = new SimulatedStep(graph, machine)
    try:
        with nogil:
            step.run(group, first, sets, NULL)
        _keep(record, step)
        first_ns = best_ns = step.length
        simulated = first
        if movable > kNsBetweenDevices:
            simulated = places
            with nogil:
                step.run(group, simulated, sets, &record.estimates)
            best_ns = step.length
        better = best_ns < kPlacementGain * first_ns
        if better:
            _keep(record, step)
    finally:
        del step
    record.first_devices_ns = first_ns
    record.best_ns = best_ns
    record.adopted = better
    for i in range(ir.nodes.size()):
        if not ir.nodes[i].removed:
            places[groups.root(<int32_t>i)].device = (
                simulated[group[i]].device if better else first[group[i]].device)
    return better


cdef SimulationRecord simulate_as_placed(GraphIR ir, PlacementConfig config):
    cdef SimulationRecord record = SimulationRecord()
    cdef vector[int32_t] order, group
    cdef vector[GroupPlace] places
    cdef DeviceSets* sets = new DeviceSets(<int32_t>len(ir.devices))
    cdef StepGraph graph
    cdef Machine machine = machine_of(ir, config)
    cdef SimulatedStep* step = NULL
    cdef size_t i
    try:
        ir.order(order)
        estimate_costs(ir, order, config.costs, &record.costs)
        step_graph(ir, record.costs, config, &graph)
        places.resize(ir.nodes.size())
        for i in range(ir.nodes.size()):
            group.push_back(<int32_t>i)
            places[i].device = max(ir.nodes[i].device, 0)
        step = new SimulatedStep(graph, machine)
        step.run(group, places, sets[0], NULL)
        _keep(record, step)
        record.first_devices_ns = record.best_ns = step.length
    finally:
        del step
        del sets
    return record


cdef int _keep(SimulationRecord record, SimulatedStep* step) except -1:
    record.start_ns = step.start
    record.finish_ns = step.finish
    record.busy_ns = step.busy
    return 0


cdef int _group_loops(GraphIR ir, Colocation groups, DeviceSets& sets,
                      vector[GroupPlace]& places, vector[int32_t]& group) except -1:
    """The group of each node, where the groups of one loop that have a choice are one."""
    cdef TaskFrames frames
    cdef size_t i
    cdef int32_t root, frame, common
    cdef vector[int32_t] of_loop, stands_for
    cdef bint loops = False
    stands_for.resize(ir.nodes.size())
    for i in range(ir.nodes.size()):
        stands_for[i] = <int32_t>i
        loops = loops or not ir.nodes[i].removed and ir.nodes[i].kind == NodeKind.ENTER
    if loops:
        frames = TaskFrames()
        frames.find(ir)
        of_loop.assign(frames.parents.size(), -1)
        for i in range(ir.nodes.size()):
            frame = max(frames.frame_of[i], frames.inside[i])
            if ir.nodes[i].removed or frame == 0:
                continue
            while frames.parents[frame] > 0:
                frame = frames.parents[frame]
            root = groups.root(<int32_t>i)
            if places[root].device >= 0 or stands_for[root] != root:
                continue
            if of_loop[frame] < 0:
                of_loop[frame] = root
                continue
            if root == of_loop[frame]:
                continue
            common = sets.both(places[root].allowed, places[of_loop[frame]].allowed)
            if common == places[of_loop[frame]].allowed:
                stands_for[root] = of_loop[frame]
    group.resize(ir.nodes.size())
    for i in range(ir.nodes.size()):
        root = groups.root(<int32_t>i)
        group[i] = stands_for[root]
    return 0

