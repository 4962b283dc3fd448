# cython: language_level=3
"""The kernels of all installed libraries, found by op, device type and attributes.

Libraries come through the entry-point group `headrace.kernels`: a callable that returns either a
PyCapsule with a kernel table (kernel.h) or, for kernels written in Python, a `PythonKernels`;
kernel_libraries.py loads them.
"""

from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_GetPointer
from libc.stdint cimport int32_t
from libcpp cimport bool as cbool
from libcpp.set cimport set as ordered_set
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats import errors, services
from headrace.runtime.kernels.python_kernels import make_table
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_KERNEL_ABI, HR_KERNEL_TABLE_CAPSULE, hr_device, hr_fusible_op, hr_kernel, hr_kernel_table,
)


cdef extern from "kernels/kernel_registry.hpp" namespace "headrace" nogil:
    cdef cppclass KernelRegistration:
        const hr_kernel* kernel
        string library
        cbool python

    cdef cppclass KernelOwner:
        string library
        cbool python

    ctypedef hr_device* const* (*ListDevices)(int32_t*) noexcept nogil

    cdef cppclass KernelRegistry:
        KernelRegistry() except +
        void add(const hr_kernel_table* table, cbool python)
        const KernelRegistration* find(const GraphNode* node, const char* device_type,
                                       cbool allow_python)
        const vector[KernelRegistration]* registrations(const string& op)
        ordered_set[string] device_types()
        cbool is_accelerator_type(const string& type)
        const vector[ListDevices]& device_lists()
        vector[string] reasons_for_no_devices() except +
        cbool claim(const string& type, ListDevices devices)
        void add_for_every_device(const hr_kernel* kernels, int32_t n) except +
        const KernelOwner* owner_of(const hr_kernel* kernel)
        const hr_fusible_op* find_fusible(const char* fused_op, const string& op, int32_t role)


cdef KernelRegistry* registry = new KernelRegistry()  # never freed: threads outlive destructors
_kept = []  # capsules and adapters that own the memory of registrations


def add_library(offer):
    """Adds a kernel library: a table capsule, or a PythonKernels."""
    cdef const hr_kernel_table* table
    if PyCapsule_CheckExact(offer):
        table = <const hr_kernel_table*>PyCapsule_GetPointer(offer, HR_KERNEL_TABLE_CAPSULE)
        if table.abi != HR_KERNEL_ABI:
            raise errors.FailedPreconditionError(
                None, None,
                f"kernel library '{table.library.decode()}' has kernel ABI {table.abi}, this "
                f"runtime has {HR_KERNEL_ABI}: install versions of both that match")
        registry.add(table, False)
    else:
        capsule = make_table(offer)
        _kept.append(capsule)
        table = <const hr_kernel_table*>PyCapsule_GetPointer(capsule, HR_KERNEL_TABLE_CAPSULE)
        registry.add(table, True)
    _kept.append(offer)


cdef void add_own_kernels(const hr_kernel_table* table) noexcept:
    registry.add(table, False)


cdef void add_for_every_device(const hr_kernel* kernels, int32_t n) noexcept:
    registry.add_for_every_device(kernels, n)


cdef bint is_accelerator_type(const string& type) noexcept nogil:
    return registry.is_accelerator_type(type)


cdef vector[hr_device*] found_devices() except *:
    """The devices with memory of their own, in the order of the libraries; the first call looks for
    them. Those of one type are of one library, the first one that has some."""
    cdef vector[hr_device*] found
    cdef hr_device* const* listed
    cdef int32_t n, i
    cdef size_t k
    for k in range(registry.device_lists().size()):
        with nogil:
            n = 0
            listed = registry.device_lists()[k](&n)
        for i in range(n):
            if registry.claim(<string>listed[i].type, registry.device_lists()[k]):
                found.push_back(listed[i])
    return found


def reasons_for_no_devices() -> str:
    """What hinders this process from having devices with memory of their own: " (...)", or ""."""
    cdef vector[string] texts = registry.reasons_for_no_devices()
    return f" ({'; '.join([text.decode(errors='replace') for text in texts])})" if texts.size() else ""


cdef const hr_kernel* find_kernel(GraphNode* node, const char* device_type,
                                  bint allow_reference) noexcept nogil:
    cdef const KernelRegistration* found = registry.find(node, device_type, allow_reference)
    return found.kernel if found != NULL else NULL


cdef const hr_fusible_op* find_fusible(const char* fused_op, const string& op,
                                       int32_t role) noexcept nogil:
    return registry.find_fusible(fused_op, op, role)


cdef bint is_python_kernel(const hr_kernel* kernel) noexcept nogil:
    cdef const KernelOwner* owner = registry.owner_of(kernel)
    return owner != NULL and owner.python


cdef const char* library_of(const hr_kernel* kernel) noexcept nogil:
    cdef const KernelOwner* owner = registry.owner_of(kernel)
    if owner == NULL:
        return NULL
    return owner.library.c_str()


cdef object describe_kernels(bytes op):
    cdef string name = op
    cdef const vector[KernelRegistration]* found = registry.registrations(name)
    cdef const KernelRegistration* registration
    cdef size_t i
    if found == NULL or found.size() == 0:
        return missing_kernel_text()
    texts = []
    for i in range(found.size()):
        registration = &found.at(i)
        constraint = registration.kernel.constraint
        dtypes = constraint.decode() if constraint != NULL else "any dtypes"
        texts.append(f"{registration.library.decode()} on "
                     f"{registration.kernel.device_type.decode()} for {dtypes}")
    return "there is: " + "; ".join(texts)


def missing_kernel_text() -> str:
    """Why no library has a kernel for an op, and what to do about it."""
    installed = services.service_names(services.KERNELS)
    if not installed:
        return f"no kernel library is installed: {services.remedy(services.KERNELS, 'cpu')}"
    return f"none of the installed kernel libraries ({', '.join(installed)}) has one"


def device_types() -> set[str]:
    """The types of the devices for which a library that is loaded has kernels."""
    return {name.decode() for name in registry.device_types()}


def has_kernel(str op) -> bool:
    """Whether a library that is loaded has a kernel for an op, for any device and dtypes."""
    cdef string name = op.encode()
    cdef const vector[KernelRegistration]* found = registry.registrations(name)
    return found != NULL and found.size() > 0
