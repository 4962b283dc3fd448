from headrace.runtime.passes.draft cimport Draft

# Puts a Send and a Recv on every edge between devices.
cdef int partition(Draft draft) except -1
