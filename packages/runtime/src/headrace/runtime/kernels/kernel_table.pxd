"""The kernels of all installed libraries, found by op, device type and attributes."""

from libc.stdint cimport int32_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    hr_device, hr_fusible_op, hr_kernel, hr_kernel_table,
)

# Further flags, of the kernels that the runtime itself registers.
cdef enum:
    OWN_MEMORY = 1 << 29        # compute sets data and owner of its outputs, as counted buffers
    SESSION_CONSTANT = 1 << 30  # the same value while the session lives: variables, handles
    NOTHING = 1 << 28           # does nothing: NoOp
    READS_SLOT = 1 << 27        # output 0 is the value of the variable that input 0 refers to
    ASSIGNS_SLOT = 1 << 26      # the variable gets the value and the shape of input 1
    # On a device: values whose dtype is_kept_on_host are in host memory.
    KEEPS_SMALL_ON_HOST = 1 << 25

# The kernel for a node on a device type ("CPU"); null: there is none. allow_reference: kernels of
# Python libraries count. Thread-safe once the libraries are loaded.
cdef const hr_kernel* find_kernel(GraphNode* node, const char* device_type,
                                  bint allow_reference) noexcept nogil
cdef bint is_python_kernel(const hr_kernel* kernel) noexcept nogil
cdef const char* library_of(const hr_kernel* kernel) noexcept nogil
# How a library's fused kernel takes in an op in a role (HR_FUSE_...); null: no library lists it.
cdef const hr_fusible_op* find_fusible(const char* fused_op, const string& op,
                                       int32_t role) noexcept nogil
# Adds kernels of the runtime itself (variables, queues, ...), which live as long as the process.
cdef void add_own_kernels(const hr_kernel_table* table) noexcept
# Adds kernels of the runtime that run on any device with memory of its own.
cdef void add_for_every_device(const hr_kernel* kernels, int32_t n) noexcept
# Whether devices of a type ("GPU") have memory of their own.
cdef bint is_accelerator_type(const string& type) noexcept nogil
# These devices.
cdef vector[hr_device*] found_devices() except *
# For errors: the kernels that exist for an op, or which package to install.
cdef object describe_kernels(bytes op)
