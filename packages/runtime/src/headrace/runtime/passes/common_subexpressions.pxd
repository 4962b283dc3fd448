from headrace.runtime.passes.draft cimport Draft

# Merges stateless nodes that must give the same values.
cdef int merge_common(Draft draft) except -1
