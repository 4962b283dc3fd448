"""Clears the resources of a state."""

from headrace.runtime.state.session_owner cimport SessionOwner

# Clears the named containers (all, if none is named) of an owner's state. graphs and compilers:
# the SessionGraphs and FunctionCompilers of all open sessions of that state.
cdef int reset_state(SessionOwner owner, containers, list graphs, list compilers) except -1
