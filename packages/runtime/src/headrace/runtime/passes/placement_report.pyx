# distutils: language = c++
"""Why nodes run where they do, and the expected against the measured times, as a PlacementReport."""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.passes.colocation cimport NO_BOND, REFERENCE
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.place cimport BY_KERNELS, KEPT, REQUESTED, SOFTENED, Placer
from headrace.runtime.passes.placement_config cimport PlacementConfig
from headrace.runtime.passes.schedule_receives cimport ReceiveSchedule
from headrace.runtime.passes.simulate_placement cimport (
    DeviceEstimate, SimulationRecord, simulate_as_placed,
)
from headrace.runtime.passes.step_units cimport StepUnits

from headrace.formats.proto import plan_pb2

_Reasons = plan_pb2.PlacementReport


cdef object placement_report(GraphIR ir, Placer placer, PlacementConfig config):
    cdef SimulationRecord record = placer.simulation
    cdef vector[int32_t] order
    cdef int32_t i, d
    cdef IRNode* node
    if record is None:
        record = simulate_as_placed(ir, config)
    report = plan_pb2.PlacementReport(simulated=record.adopted)
    report.first_devices_us = record.first_devices_ns / 1000
    report.step_us = (record.best_ns if record.adopted else record.first_devices_ns) / 1000
    for name in ir.devices:
        report.device.add(name=name)
    ir.order(order)
    for i in order:
        node = &ir.nodes[i]
        if node.kind == NodeKind.FEED:
            continue
        made = report.node.add(
            name=text_of(node.source.name), op=text_of(node.source.op),
            device=ir.devices[node.device], requested=text_of(node.source.device),
            start_us=record.start_ns[i] / 1000, expected_us=record.costs.expected_ns[i] / 1000,
            measured_us=-1.0, output_bytes=_output_bytes(node, record, i))
        device = report.device[node.device]
        device.nodes += 1
        device.expected_us += made.expected_us
        if record.costs.measured_ns[i] >= 0:
            made.measured_us = record.costs.measured_ns[i] / 1000
            device.measured_us += made.measured_us
        _give_reason(made, ir, placer, record, i)
    _add_transfers(report, ir, record, config)
    return report


cdef int64_t _output_bytes(IRNode* node, SimulationRecord record, int32_t i):
    cdef int64_t total = 0
    cdef int32_t k
    for k in range(node.n_outputs):
        total += record.costs.bytes[record.costs.first_value[i] + k]
    return total


cdef int _give_reason(made, GraphIR ir, Placer placer, SimulationRecord record,
                      int32_t i) except -1:
    cdef int32_t limits = placer.limits[i], partner = -1
    cdef DeviceEstimate estimate
    made.request_ignored = limits & SOFTENED != 0
    if placer.groups is not None:
        partner = placer.groups.partner[i]
    if limits & KEPT:
        made.reason = _Reasons.STATE
    elif limits & REQUESTED and not limits & SOFTENED and not (
            record.adopted and _has_choice(record, i)):
        made.reason = _Reasons.REQUESTED
    elif partner >= 0:
        made.reason = (_Reasons.REFERENCE if placer.groups.bond[i] == REFERENCE
                       else _Reasons.COLOCATED)
        setattr(made, "with", text_of(ir.nodes[partner].source.name))
    elif record.adopted and _has_choice(record, i):
        made.reason = _Reasons.SIMULATED
    elif limits & BY_KERNELS:
        made.reason = _Reasons.KERNELS
    elif placer.accelerated[placer.type_of[ir.nodes[i].device]]:
        made.reason = _Reasons.ACCELERATOR
    else:
        made.reason = _Reasons.FIRST
    found = record.estimates.find(i)
    if found != record.estimates.end():
        for estimate in record.estimates[i]:
            made.estimate.add(device=ir.devices[estimate.device], end_us=estimate.finish_ns / 1000)
    return 0


cdef bint _has_choice(SimulationRecord record, int32_t i) noexcept:
    return record.had_choice.size() != 0 and record.had_choice[i] != 0


cdef int _add_transfers(report, GraphIR ir, SimulationRecord record,
                        PlacementConfig config) except -1:
    """What passes between tasks: each tensor once for each task that needs it."""
    cdef int32_t i, k, value
    cdef IRNode* node
    cdef Edge edge
    seen = set()
    task_of = ir.table.task_of
    for i in range(<int32_t>ir.nodes.size()):
        node = &ir.nodes[i]
        for k in range(0 if node.removed else node.n_inputs):
            edge = ir.edges[node.first_input + k]
            if ir.nodes[edge.node].kind == NodeKind.FEED or \
                    task_of[ir.nodes[edge.node].device] == task_of[node.device]:
                continue
            value = record.costs.first_value[edge.node] + edge.port
            if (value, task_of[node.device]) in seen:
                continue
            seen.add((value, task_of[node.device]))
            size = record.costs.bytes[value]
            report.transfer.add(
                tensor=f"{text_of(ir.nodes[edge.node].source.name)}:{edge.port}",
                from_device=ir.devices[ir.nodes[edge.node].device],
                to_device=ir.devices[node.device], bytes=size,
                expected_us=(config.between_tasks_ns + size * config.ns_per_byte) / 1000)
    return 0


cdef int report_receives(object report, ReceiveSchedule schedule) except -1:
    cdef StepUnits before, after
    if schedule is None:
        return 0
    before, after = schedule.units, schedule.after
    report.receives.delayed = schedule.n_delayed
    if before is not None:     # there is something to delay
        after = before if after is None else after
        report.receives.peak_bytes_before = before.peak_bytes
        report.receives.step_us_before = before.length_ns / 1000
        report.receives.peak_bytes = after.peak_bytes
        report.receives.step_us = after.length_ns / 1000
    return 0
