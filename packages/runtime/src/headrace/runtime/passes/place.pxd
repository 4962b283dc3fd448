from headrace.runtime.passes.graph_ir cimport GraphIR

# Gives every node a device and, where its kind is KERNEL, a kernel.
cdef int place(GraphIR ir, bint allow_soft_placement, bint allow_reference) except -1
