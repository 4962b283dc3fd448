from headrace.runtime.passes.draft cimport Draft

# Lets writers of a variable wait for the reads of it that nothing orders.
cdef int order_writes(Draft draft) except -1
