# cython: language_level=3
"""One segment for one set of shapes: kernels prepared, constants folded, memory planned.

`specialise` runs the stages over the segment's nodes in this order: prepare_segment.pyx calls each
kernel's `prepare` for its output shapes and folds what is known (shape arithmetic disappears here);
window_index.pyx, fuse_epilogue.pyx and fuse_elementwise.pyx fuse nodes, so that fewer passes over
memory remain; storage_plan.pyx decides who owns each value's memory; schedule_writer.pyx writes the
kernel schedule.
"""

from libcpp.memory cimport shared_ptr

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.graph.node_text cimport label_of, text_of
from headrace.runtime.kernels.kernel_table cimport library_of
from headrace.runtime.memory.kernel_abi cimport hr_compute, hr_tensor
from headrace.runtime.passes.program cimport Program, is_accelerated
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.plan.executable cimport Executable, new_executable, release_entry
from headrace.runtime.plan.fuse_elementwise cimport fuse_elementwise
from headrace.runtime.plan.fuse_epilogue cimport fuse_epilogues
from headrace.runtime.plan.prepare_segment cimport add_inputs, prepare_segment, shape_text
from headrace.runtime.plan.schedule_writer cimport write_schedule
from headrace.runtime.plan.segment_builder cimport (
    PreparedNodes, SegmentBuilder, give_builder, take_builder,
)
from headrace.runtime.plan.storage_plan cimport drop_unused, plan_storage
from headrace.runtime.plan.window_index cimport keep_window_indices
from headrace.runtime.state.context cimport SessionState


cdef extern from "threads/thread_count.hpp" namespace "headrace" nogil:
    cdef cppclass OpenMPThreads:
        OpenMPThreads(int threads)


cdef shared_ptr[Executable] specialise(Program program, Segments segments, int number,
                                       const hr_tensor* inputs, int threads,
                                       SessionState* session, bint copy_small,
                                       PreparedNodes* cache) except *:
    cdef shared_ptr[Executable] executable = new_executable()
    cdef SegmentBuilder builder = take_builder()
    cdef Segment segment = segments.segments[number]
    cdef OpenMPThreads* omp_threads = new OpenMPThreads(threads)
    builder.program = program
    builder.executable = executable
    builder.out = executable.get()
    builder.threads = threads
    builder.session = session
    builder.cache = cache
    if is_accelerated(program):
        builder.memory = program.memories[
            program.nodes[segments.nodes[segment.first_node]].device]
    builder.out.memory = builder.memory
    try:
        add_inputs(builder, segments, segment, inputs)
        prepare_segment(builder, segments, segment)
        drop_unused(builder, segments, segment)
        if builder.memory == NULL:
            keep_window_indices(builder)
        fuse_epilogues(builder, segments, segment)
        fuse_elementwise(builder, segments, segment)
        plan_storage(builder, segments, segment, copy_small)
        write_schedule(builder)
        builder.out.guards.swap(builder.slots.guards)
    finally:
        del omp_threads
        give_builder(builder)
    executable.get().threads = threads
    executable.get().device = program.nodes[segments.nodes[segment.first_node]].device
    return executable


cdef dict describe(Executable* executable):
    """Figures for `explain`: input shapes, entries, arena, kernels by op and library."""
    cdef size_t i
    cdef GraphNode* node
    kernels = {}
    fused_nodes = []
    for i in range(executable.entries.size()):
        node = executable.entries[i].node
        if node == NULL or executable.entries[i].compute == <hr_compute>release_entry:
            continue     # no kernel: it passes a reference on or releases memory
        if label_of(node) != f"{text_of(node.name)} = {text_of(node.op)}":
            fused_nodes.append(label_of(node))
        library = library_of(executable.entries[i].kernel) if (
            executable.entries[i].kernel != NULL) else NULL
        name = (f"{(<bytes>node.op).decode()} "
                f"({library.decode() if library != NULL else 'runtime'})")
        kernels[name] = kernels.get(name, 0) + 1
    return {
        "inputs": ", ".join([shape_text(&executable.inputs[i]) for i in range(executable.inputs.size())]),
        "entries": sum(kernels.values()),
        "arena_bytes": executable.arena_bytes,
        "intermediate_bytes": executable.intermediate_bytes,
        "flops": executable.flops,
        "bytes_moved": executable.bytes_moved,
        "folded": executable.folded,
        "fused": executable.fused,
        "threads": executable.threads,
        "kernels": kernels,
        "fused_nodes": fused_nodes,
    }
