from headrace.runtime.passes.graph_ir cimport GraphIR

# Puts a Send and a Recv on every edge between devices.
cdef int partition(GraphIR ir) except -1
