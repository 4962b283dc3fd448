from headrace.runtime.passes.graph_ir cimport GraphIR

# Inserts a Send and a Recv into every edge between devices.
cdef int partition(GraphIR ir) except -1
