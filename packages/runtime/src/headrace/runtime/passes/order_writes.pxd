from headrace.runtime.passes.graph_ir cimport GraphIR

# Makes writers of a variable wait for its unordered reads.
cdef int order_writes(GraphIR ir) except -1
