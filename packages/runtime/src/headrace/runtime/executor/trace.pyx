# cython: language_level=3
# distutils: language = c++
"""Records of the nodes that a traced step ran (white paper §9.2), and their RunMetadata.

The same plan runs as without a trace, with clock reads around each kernel.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from headrace.formats.proto import run_pb2
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_tensor
from headrace.runtime.graph.node_text cimport label_of, text_of
from headrace.runtime.passes.program cimport Program
from headrace.runtime.plan.executable cimport EntryPlan, Executable, RunBuffers, release_entry


cdef bint trace_entries(vector[TraceRecord]& records, Executable* executable, RunBuffers* buffers,
                        int64_t* clock_ns, int32_t thread) noexcept nogil:
    cdef TraceRecord record
    cdef EntryPlan* plan
    cdef size_t i
    cdef int32_t j
    for i in range(executable.entries.size()):
        plan = &executable.entries[i]
        if plan.node == NULL or clock_ns[2 * i + 1] == 0 or \
                <void*>plan.compute == <void*>release_entry:
            continue
        record.node = plan.node
        record.device = executable.device
        record.thread = thread
        record.start_ns = clock_ns[2 * i]
        record.end_ns = clock_ns[2 * i + 1]
        record.outputs.clear()
        for j in range(plan.n_outputs):
            if not add_output(record, j,
                              buffers.tensors[executable.arguments[plan.first_output + j]]):
                return False
        if not keep_record(records, record):
            return False
    return True


cdef bint trace_device_entries(DeviceTrace* trace, int32_t first, Executable* executable,
                               RunBuffers* buffers) noexcept nogil:
    cdef TraceRecord* record
    cdef EntryPlan* plan
    cdef size_t i
    cdef int32_t j
    for i in range(executable.entries.size()):
        plan = &executable.entries[i]
        record = &trace.entry(first + <int32_t>i)
        record.node = plan.node
        record.device = executable.device
        record.thread = 0
        for j in range(plan.n_outputs):
            if not add_output(record[0], j,
                              buffers.tensors[executable.arguments[plan.first_output + j]]):
                return False
    return True


cdef bytes metadata_of(vector[TraceRecord]& records, Program program):
    cdef int64_t offset_ns = wall_clock_offset_ns()
    cdef int64_t start_ns, took_ns
    cdef size_t i, j
    cdef GraphNode* node
    cdef TracedOutput* output
    metadata = run_pb2.RunMetadata()
    devices = {}
    for i in range(records.size()):
        node = <GraphNode*>records[i].node
        # As in TensorFlow, the work of a device has a device of its own in the trace: its stream.
        key = (records[i].device, records[i].on_stream)
        stats = devices.get(key)
        if stats is None:
            stats = devices[key] = metadata.step_stats.dev_stats.add(
                device=program.devices[records[i].device]
                + ("/stream:all" if records[i].on_stream else ""))
        start_ns = records[i].start_ns + offset_ns
        took_ns = records[i].end_ns - records[i].start_ns
        name = text_of(node.name)
        label = label_of(node)
        if records[i].on_stream:
            name = f"{name}:{text_of(node.op)}"
            label = (<bytes>records[i].what).decode(errors="replace")
        node_stats = stats.node_stats.add(
            node_name=name,
            timeline_label=label,
            thread_id=records[i].thread,
            scheduled_micros=start_ns // 1000,
            scheduled_nanos=start_ns,
            all_start_micros=start_ns // 1000,
            op_start_rel_micros=0,
            op_end_rel_micros=took_ns // 1000,
            all_end_rel_micros=took_ns // 1000,
            all_start_nanos=start_ns,
            op_start_rel_nanos=0,
            op_end_rel_nanos=took_ns,
            all_end_rel_nanos=took_ns,
        )
        for j in range(records[i].outputs.size()):
            output = &records[i].outputs[j]
            description = node_stats.output.add(slot=output.slot).tensor_description
            description.dtype = output.shape.dtype
            for k in range(output.shape.rank):
                description.shape.dim.add(size=output.shape.dims[k])
            description.allocation_description.requested_bytes = output.shape.bytes
            description.allocation_description.allocator_name = (
                "device" if records[i].on_stream else "cpu")
    return metadata.SerializeToString()
