# cython: language_level=3
"""A dynamic program as the executor runs it: units, ports, targets, frames.

A unit is a segment, a native loop, or one boundary node. A frame here is static: it says which loop
a unit belongs to. executor.pyx makes an instance each time that a loop is entered (white paper
§4.4).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.graph.attributes cimport (
    AttrScalar, find_scalar, kString, needs_value, text_attribute,
)
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport HR_OK, hr_node
from headrace.runtime.graph.node_text cimport blame, text, text_of
from headrace.runtime.executor.executor_state cimport name_number
from headrace.runtime.executor.loop_lowering cimport native_loop_of
from headrace.runtime.executor.native_loop cimport NativeLoop
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.graph.node_kind cimport ENTER, EXIT, FEED, MERGE, NEXT_ITERATION, RECV, SEND, SWITCH
from headrace.runtime.threads.pools cimport HEAVY, LIGHT
from headrace.runtime.memory.relaxed cimport Relaxed
from headrace.runtime.passes.program cimport Program, ProgramNode, source_of

from headrace.runtime.passes.device_table import parse_device


cdef extern from "headrace/kernel.h" nogil:
    int64_t hr_attr_int(const hr_node* node, const char* key, int64_t otherwise)
    int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise)


cdef ExecutorPlan plan_executor(Program program, Segments segments, bint native_loops):
    cdef ExecutorPlan plan = ExecutorPlan()
    cdef vector[int32_t] unit_of     # per node
    cdef vector[int32_t] frame_of    # per node
    plan.program = program
    plan.segments = segments
    plan.runners = []
    plan.loops = []
    assign_frames(plan, frame_of)
    if native_loops:
        find_loops(plan, frame_of)
    make_units(plan, unit_of, frame_of)
    connect(plan, unit_of)
    return plan


cdef int find_loops(ExecutorPlan plan, vector[int32_t]& frame_of) except -1:
    """Finds the loops that have a native form, inner loops included, and their nodes."""
    cdef int32_t frame
    cdef NativeLoop loop
    cdef dict found = {}     # frame -> NativeLoop
    plan.loop_of.assign(plan.program.nodes.size(), -1)
    for frame in range(<int32_t>plan.frames.size() - 1, 0, -1):
        loop = native_loop_of(plan.program, plan.segments, frame, plan.frames[frame].parent,
                              frame_of, plan.entered, found)
        if loop is not None:
            for inner in [f for f, other in found.items() if other in loop.inner]:
                del found[inner]
            found[frame] = loop
    for _, loop in sorted(found.items()):
        for node in loop.nodes:
            plan.loop_of[<size_t>node] = <int32_t>len(plan.loops)
        plan.loops.append(loop)
        plan.loop_pointers.push_back(<void*>loop)
    return 0


cdef int make_units(ExecutorPlan plan, vector[int32_t]& unit_of,
                    vector[int32_t]& frame_of) except -1:
    """Makes a unit for each native loop, each other segment and each other node."""
    cdef size_t i
    cdef int32_t s
    cdef Unit unit
    cdef ProgramNode* node
    cdef vector[int32_t] segment_units
    cdef vector[int32_t] loop_units
    unit_of.assign(plan.program.nodes.size(), -1)
    segment_units.assign(plan.segments.segments.size(), -1)
    loop_units.assign(len(plan.loops), -1)
    for i in range(plan.program.nodes.size()):
        node = &plan.program.nodes[i]
        memset(&unit, 0, sizeof(Unit))
        unit.number = <int32_t>i
        unit.device = node.device
        unit.frame = frame_of[i]
        s = plan.segments.segment_of[i]
        if plan.loop_of.size() and plan.loop_of[i] >= 0:
            s = plan.loop_of[i]
            if loop_units[s] < 0:
                loop_units[s] = <int32_t>plan.units.size()
                unit.kind = RUN_LOOP
                unit.number = s
                unit.frame = (<NativeLoop>plan.loops[s]).parent_frame
                unit.node = node.source
                plan.units.push_back(unit)
            unit_of[i] = loop_units[s]
        elif s >= 0:
            if segment_units[s] < 0:
                segment_units[s] = <int32_t>plan.units.size()
                unit.kind = RUN_SEGMENT
                unit.number = s
                plan.units.push_back(unit)
            unit_of[i] = segment_units[s]
        else:
            set_kind(&unit, node, plan.entered[i])
            unit_of[i] = <int32_t>plan.units.size()
            plan.units.push_back(unit)
    for i in range(plan.units.size()):
        plan.units[i].local = plan.frames[plan.units[i].frame].n_units
        plan.frames[plan.units[i].frame].n_units += 1
    return 0


cdef int set_kind(Unit* unit, ProgramNode* node, int32_t entered) except -1:
    """Sets the kind of a unit of one node. entered: the frame that an Enter enters."""
    unit.node = node.source
    unit.kernel = node.kernel
    unit.needs_value = needs_value(node.source)
    if node.kind == FEED:
        unit.kind = RUN_FEED
    elif node.kind == SWITCH:
        unit.kind = RUN_SWITCH
    elif node.kind == MERGE:
        unit.kind = RUN_MERGE
    elif node.kind == ENTER:
        unit.kind = RUN_ENTER
        unit.constant = hr_attr_bool(&node.source.abi_node, "is_constant", 0) != 0
        unit.child = entered
    elif node.kind == EXIT:
        unit.kind = RUN_EXIT
    elif node.kind == NEXT_ITERATION:
        unit.kind = RUN_NEXT
    elif node.kind == SEND or node.kind == RECV:
        _check_rendezvous_key(node.source)
        unit.edge = _edge_number(node.source)
        unit.kind = RUN_SEND if node.kind == SEND else RUN_RECV
    else:
        unit.kind = RUN_ASYNC
    return 0


cdef int _check_rendezvous_key(GraphNode* node) except -1:
    # The fields of a key are separated by semicolons.
    name = _string_attr(node, b"tensor_name")
    if not name or ";" in name:
        raise blame(node, f"Invalid rendezvous key: tensor_name '{name}' is empty or has a ';'")
    for side in (b"send_device", b"recv_device"):
        device = _string_attr(node, side)
        try:
            parse_device(device)
        except ValueError:
            raise blame(
                node, f"Invalid rendezvous key: {side.decode()} '{device}' is not a device") from None
    return 0


cdef int64_t _edge_number(GraphNode* node):
    """The number that a plan over tasks gave the edge; other edges have one of their name."""
    cdef int64_t number = hr_attr_int(&node.abi_node, "_edge", -1)
    if number >= 0:
        return number
    name = _string_attr(node, b"tensor_name").encode()
    return <int64_t>(name_number(<const char*>name, len(name)) | (<uint64_t>1 << 63))


cdef str _string_attr(GraphNode* node, bytes key):
    cdef AttrScalar value
    cdef string name = key
    if find_scalar(node, string_view(name), kString, value) != HR_OK:
        return ""
    return text(value.bytes)


cdef int assign_frames(ExecutorPlan plan, vector[int32_t]& frame_of) except -1:
    """Propagates frames along edges. Nodes are in topological order except for back edges of loops."""
    cdef size_t i
    cdef int32_t j, source, own, numbered
    cdef ProgramNode* node
    cdef FrameInfo info
    cdef vector[int32_t] inside     # per node: the frame that its outputs are in
    names = {}
    plan.frame_names = [""]
    memset(&info, 0, sizeof(FrameInfo))
    info.parent = -1
    plan.frames.push_back(info)
    inside.assign(plan.program.nodes.size(), 0)
    frame_of.assign(plan.program.nodes.size(), 0)
    plan.entered.assign(plan.program.nodes.size(), -1)
    for i in range(plan.program.nodes.size()):
        node = &plan.program.nodes[i]
        own = 0
        for j in range(node.n_inputs + node.n_controls):
            source = source_of(plan.program, node, j)
            if source >= <int32_t>i:
                continue    # a back edge
            if own == 0 or is_inside(plan, inside[source], own):
                own = inside[source]
        frame_of[i] = own
        inside[i] = own
        if node.kind == ENTER:
            name = (<bytes>text_attribute(&node.source.abi_node, "frame_name")).decode(
                errors="backslashreplace")
            if (own, name) not in names:
                names[own, name] = plan.frames.size()
                info.parent = own
                info.parallel_iterations = <int32_t>max(
                    1, hr_attr_int(&node.source.abi_node, "parallel_iterations", 10))
                encoded = name.encode(errors="backslashreplace")
                info.name = name_number(<const char*>encoded, len(encoded))
                plan.frames.push_back(info)
                plan.frame_names.append(name)
            numbered = names[own, name]
            plan.entered[i] = numbered
            plan.frames[numbered].n_enters += 1
            inside[i] = numbered
        elif node.kind == EXIT:
            inside[i] = max(plan.frames[own].parent, 0)
    return check_frames(plan, frame_of, inside)


cdef int check_frames(ExecutorPlan plan, vector[int32_t]& frame_of,
                      vector[int32_t]& inside) except -1:
    """Rejects edges into a frame that do not start at an Enter: their values belong to no
    iteration."""
    cdef size_t i
    cdef int32_t j, source
    cdef ProgramNode* node
    for i in range(plan.program.nodes.size()):
        node = &plan.program.nodes[i]
        if frame_of[i] == 0 and (node.kind == EXIT or node.kind == NEXT_ITERATION):
            raise blame(node.source, "it is in no loop: only a loop has what it leads out of, or on")
        if node.kind == EXIT:
            # From any other input, each iteration would leave the loop, not only the last.
            j = plan.program.inputs[node.first_input]
            source = plan.program.values[j].node
            if plan.program.nodes[source].kind != SWITCH or plan.program.values[j].port != 0:
                raise blame(
                    node.source, "its input "
                    f"'{text_of(plan.program.nodes[source].source.name)}' is not what a Switch "
                    "gives where its predicate is false")
        for j in range(node.n_inputs + node.n_controls):
            source = source_of(plan.program, node, j)
            if inside[source] != frame_of[i]:
                raise blame(
                    node.source, f"it is in {frame_text(plan, frame_of[i])}, its input "
                    f"'{text_of(plan.program.nodes[source].source.name)}' in "
                    f"{frame_text(plan, inside[source])}: only Enter leads into a loop, and only "
                    "Exit out of it")
    return 0


cdef str frame_text(ExecutorPlan plan, int32_t frame):
    return f"the loop '{plan.frame_names[frame]}'" if frame else "no loop"


cdef bint is_inside(ExecutorPlan plan, int32_t inner, int32_t outer):
    """Whether frame `inner` is nested (at any depth) in `outer`."""
    while inner > 0:
        if inner == outer:
            return True
        inner = plan.frames[inner].parent
    return outer == 0


cdef int connect(ExecutorPlan plan, vector[int32_t]& unit_of) except -1:
    """Connects the outputs of units with the inputs, control edges and fetches that wait for them."""
    cdef size_t i
    cdef int32_t source
    cdef vector[vector[Target]] value_targets      # per value of the program
    cdef vector[vector[Target]] control_targets    # per unit
    cdef vector[vector[int32_t]] value_fetches     # per value of the program
    value_targets.resize(plan.program.values.size())
    value_fetches.resize(plan.program.values.size())
    control_targets.resize(plan.units.size())
    for i in range(plan.units.size()):
        connect_inputs(plan, unit_of, <int32_t>i, value_targets, control_targets)
    set_starts(plan)
    for i in range(plan.program.fetches.size()):
        value_fetches[plan.program.fetches[i]].push_back(<int32_t>i)
    plan.feed_units.assign(plan.program.feeds.size(), -1)
    for i in range(plan.program.feeds.size()):
        if plan.program.feeds[i] >= 0:
            source = plan.program.values[plan.program.feeds[i]].node
            plan.feed_units[i] = unit_of[source]
    for i in range(plan.units.size()):
        connect_outputs(plan, &plan.units[i], value_targets, value_fetches)
        plan.units[i].first_control = <int32_t>plan.targets.size()
        plan.units[i].n_controls = <int32_t>control_targets[i].size()
        plan.targets.insert(plan.targets.end(), control_targets[i].begin(),
                            control_targets[i].end())
    return 0


cdef int connect_inputs(ExecutorPlan plan, vector[int32_t]& unit_of, int32_t number,
                        vector[vector[Target]]& value_targets,
                        vector[vector[Target]]& control_targets) except -1:
    """Enters a unit as a target of the values and units that it waits for."""
    cdef Unit* unit = &plan.units[number]
    cdef vector[int32_t] values
    cdef int32_t j
    cdef ProgramNode* node
    cdef Segment* segment
    cdef NativeLoop loop
    cdef Target target
    controls = set()
    if unit.kind == RUN_SEGMENT:
        segment = &plan.segments.segments[unit.number]
        for j in range(segment.n_inputs):
            values.push_back(plan.segments.inputs[segment.first_input + j])
        for j in range(segment.n_waits):
            controls.add(unit_of[plan.segments.waits[segment.first_wait + j]])
    elif unit.kind == RUN_LOOP:
        loop = plan.loops[unit.number]
        values = loop.inputs
        for j in range(<int32_t>loop.waits.size()):
            controls.add(unit_of[loop.waits[j]])
    else:
        node = &plan.program.nodes[unit.number]
        for j in range(node.n_inputs):
            values.push_back(plan.program.inputs[node.first_input + j])
        for j in range(node.n_controls):
            controls.add(unit_of[plan.program.controls[node.first_control + j]])
    target.unit = number
    for j in range(<int32_t>values.size()):
        target.slot = j
        value_targets[values[j]].push_back(target)
        if unit.kind == RUN_MERGE and \
                plan.program.nodes[plan.program.values[values[j]].node].kind == NEXT_ITERATION:
            unit.loop_head = True
    controls.discard(number)
    target.slot = -1
    for other in sorted(controls):
        control_targets[<size_t>other].push_back(target)
    unit.n_inputs = <int32_t>values.size()
    unit.first_slot = plan.frames[unit.frame].n_slots
    plan.frames[unit.frame].n_slots += unit.n_inputs
    unit.pending = (1 if unit.kind == RUN_MERGE else unit.n_inputs) + <int32_t>len(controls)
    if unit.pending == 0 and unit.frame == 0 and unit.kind != RUN_FEED:
        plan.roots.push_back(number)
    return 0


cdef int set_starts(ExecutorPlan plan) except -1:
    """Sets the state in which each iteration of a frame starts."""
    cdef UnitState start
    cdef size_t i
    plan.starts.resize(plan.frames.size())
    for i in range(plan.units.size()):
        start.pending = plan.units[i].pending
        start.dead = 0
        start.merged = 0
        plan.starts[plan.units[i].frame].push_back(start)
        # The length of a native loop is unknown: another thread runs it, if there is one.
        plan.weights.push_back(Relaxed[uint8_t](
            <uint8_t>(HEAVY if plan.units[i].kind == RUN_LOOP else LIGHT)))
    return 0


cdef int connect_outputs(ExecutorPlan plan, Unit* unit, vector[vector[Target]]& value_targets,
                         vector[vector[int32_t]]& value_fetches) except -1:
    """Adds a port for each output of a unit."""
    cdef vector[int32_t] values
    cdef int32_t j, value
    cdef Segment* segment
    cdef ProgramNode* node
    cdef Port port
    if unit.kind == RUN_SEGMENT:
        segment = &plan.segments.segments[unit.number]
        for j in range(segment.n_outputs):
            values.push_back(plan.segments.outputs[segment.first_output + j])
    elif unit.kind == RUN_LOOP:
        values = (<NativeLoop>plan.loops[unit.number]).outputs
    else:
        node = &plan.program.nodes[unit.number]
        for j in range(node.n_outputs):
            values.push_back(node.first_output + j)
    unit.first_port = <int32_t>plan.ports.size()
    unit.n_ports = <int32_t>values.size()
    for value in values:
        port.first_target = <int32_t>plan.targets.size()
        port.n_targets = <int32_t>value_targets[value].size()
        plan.targets.insert(plan.targets.end(), value_targets[value].begin(),
                            value_targets[value].end())
        port.first_fetch = <int32_t>plan.fetches.size()
        port.n_fetches = <int32_t>value_fetches[value].size()
        plan.fetches.insert(plan.fetches.end(), value_fetches[value].begin(),
                            value_fetches[value].end())
        plan.ports.push_back(port)
    return 0
