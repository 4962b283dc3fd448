"""The kernels of all installed libraries, found by op, device type and attributes."""

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport hr_kernel, hr_kernel_table

# A row of the runtime's own may also carry these flags, beside kernel.h's.
cdef enum:
    OWN_MEMORY = 1 << 29        # compute sets its outputs' data and owner itself, counted
    SESSION_CONSTANT = 1 << 30  # the same value for the session's whole life: variables, handles
    NOTHING = 1 << 28           # has no work: NoOp
    READS_SLOT = 1 << 27        # output 0 is the value of the variable that input 0 points at
    ASSIGNS_SLOT = 1 << 26      # the variable gets input 1's value, with its shape

# The row for a node on a device type ("CPU"), or null. allow_reference: rows made from Python
# libraries may be answered too. Thread-safe once the libraries are loaded.
cdef const hr_kernel* find_kernel(GraphNode* node, const char* device_type,
                                  bint allow_reference) noexcept nogil
cdef bint is_python_kernel(const hr_kernel* kernel) noexcept nogil
cdef const char* library_of(const hr_kernel* kernel) noexcept nogil
# Adds the runtime's own rows (variables, queues, ...); kept for the process's life.
cdef void add_own_kernels(const hr_kernel_table* table) noexcept
# A sentence for errors: what exists for this op.
cdef object describe_kernels(bytes op)
