# cython: language_level=3
"""The kernels of all installed libraries, found by op, device type and attributes.

Libraries come through the entry-point group `headrace.kernels`: a callable that returns either a
PyCapsule with a kernel table (kernel.h) or, for kernels written in Python, a `PythonKernels`;
kernel_libraries.py loads them.
"""

from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_GetPointer
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.kernels.python_kernels import make_table
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_KERNEL_ABI, HR_KERNEL_TABLE_CAPSULE, hr_kernel, hr_kernel_table,
)


cdef extern from "kernels/kernel_rows.hpp" namespace "headrace" nogil:
    cdef cppclass KernelRow:
        const hr_kernel* kernel
        string library
        cbool python

    cdef cppclass KernelOwner:
        string library
        cbool python

    cdef cppclass KernelRows:
        KernelRows() except +
        void add(const hr_kernel_table* table, cbool python)
        const KernelRow* find(const GraphNode* node, const char* device_type, cbool allow_python)
        const vector[KernelRow]* rows(const string& op)
        const KernelOwner* owner_of(const hr_kernel* kernel)


cdef KernelRows* table = new KernelRows()  # never freed: threads outlive static destructors
_kept = []  # capsules and adapters whose memory the rows point into


def add_library(offer):
    """Adds a kernel library: a table capsule, or a PythonKernels."""
    cdef const hr_kernel_table* rows
    if PyCapsule_CheckExact(offer):
        rows = <const hr_kernel_table*>PyCapsule_GetPointer(offer, HR_KERNEL_TABLE_CAPSULE)
        if rows.abi != HR_KERNEL_ABI:
            raise errors.FailedPreconditionError(
                None, None,
                f"kernel library '{rows.library.decode()}' speaks ABI {rows.abi}, this runtime "
                f"{HR_KERNEL_ABI}: install matching versions")
        table.add(rows, False)
    else:
        capsule = make_table(offer)
        _kept.append(capsule)
        table.add(<const hr_kernel_table*>PyCapsule_GetPointer(capsule, HR_KERNEL_TABLE_CAPSULE),
                  True)
    _kept.append(offer)


cdef void add_own_kernels(const hr_kernel_table* rows) noexcept:
    table.add(rows, False)


cdef const hr_kernel* find_kernel(GraphNode* node, const char* device_type,
                                  bint allow_reference) noexcept nogil:
    cdef const KernelRow* row = table.find(node, device_type, allow_reference)
    return row.kernel if row != NULL else NULL


cdef bint is_python_kernel(const hr_kernel* kernel) noexcept nogil:
    cdef const KernelOwner* owner = table.owner_of(kernel)
    return owner != NULL and owner.python


cdef const char* library_of(const hr_kernel* kernel) noexcept nogil:
    cdef const KernelOwner* owner = table.owner_of(kernel)
    if owner == NULL:
        return NULL
    return owner.library.c_str()


cdef object describe_kernels(bytes op):
    cdef string name = op
    cdef const vector[KernelRow]* rows = table.rows(name)
    if rows == NULL or rows.size() == 0:
        return "no installed library has any"
    cdef size_t i
    found = []
    for i in range(rows.size()):
        kernel = rows.at(i).kernel
        constraint = kernel.constraint.decode() if kernel.constraint != NULL else "any dtypes"
        found.append(f"{rows.at(i).library.decode()} on {kernel.device_type.decode()} "
                     f"for {constraint}")
    return "there is: " + "; ".join(found)


def has_rows(str op) -> bool:
    """Whether a library that is loaded has a kernel for an op, whatever the device and the types."""
    cdef string name = op.encode()
    cdef const vector[KernelRow]* rows = table.rows(name)
    return rows != NULL and rows.size() > 0
