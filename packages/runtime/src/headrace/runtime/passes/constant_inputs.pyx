# distutils: language = c++
"""Which values must be known before kernels can be prepared."""

from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport OpEntry, argument_range, op_entry_of
from headrace.runtime.memory.kernel_abi cimport HR_VARIANT
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.passes.program cimport Program, ProgramNode


cdef void input_positions(ProgramNode* node, uint64_t arguments,
                          vector[int32_t]& positions) noexcept nogil:
    cdef int32_t argument, first, count, k
    positions.clear()
    for argument in range(64):
        if not arguments >> argument:
            return
        if arguments >> argument & 1:
            argument_range(node.source, False, argument, &first, &count)
            for k in range(first, min(first + count, node.n_inputs)):
                positions.push_back(k)


cdef bint handles_variants(Program program, ProgramNode* node) noexcept nogil:
    cdef int32_t k
    for k in range(node.n_inputs):
        if program.values[program.inputs[node.first_input + k]].dtype == HR_VARIANT:
            return True
    for k in range(node.n_outputs):
        if program.values[node.first_output + k].dtype == HR_VARIANT:
            return True
    return False


cdef void mark_constants(Program program, const int32_t* nodes, int32_t n_nodes,
                      const vector[uint64_t]& constant_args, vector[int32_t]& marks,
                      int32_t mark) noexcept nogil:
    cdef int32_t i, k
    cdef ProgramNode* node
    cdef OpEntry* entry
    cdef bint marked
    cdef vector[int32_t] positions
    for i in range(n_nodes - 1, -1, -1):
        node = &program.nodes[nodes[i]]
        if node.kind != NodeKind.KERNEL:
            continue
        entry = op_entry_of(node.source)
        marked = False
        for k in range(node.n_outputs):
            marked = marked or marks[node.first_output + k] == mark
        if marked and not (entry != NULL and entry.shape_only):
            for k in range(node.n_inputs):
                # What is on a device is no part of a key: the host does not see its elements.
                if program.values[program.inputs[node.first_input + k]].memory < 0:
                    marks[program.inputs[node.first_input + k]] = mark
            continue
        input_positions(node, constant_args[nodes[i]], positions)
        for k in positions:
            marks[program.inputs[node.first_input + k]] = mark
