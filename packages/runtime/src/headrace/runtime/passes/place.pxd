from headrace.runtime.passes.draft cimport Draft

# Gives every node a device and, where its kind is KERNEL, a kernel.
cdef int place(Draft draft, bint allow_soft_placement, bint allow_reference) except -1
