from headrace.runtime.passes.graph_ir cimport GraphIR

# Merges stateless nodes that must give the same values.
cdef int merge_common(GraphIR ir) except -1
