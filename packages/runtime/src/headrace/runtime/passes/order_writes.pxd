from headrace.runtime.passes.graph_ir cimport GraphIR

# Lets writers of a variable wait for the reads of it that nothing orders.
cdef int order_writes(GraphIR ir) except -1
