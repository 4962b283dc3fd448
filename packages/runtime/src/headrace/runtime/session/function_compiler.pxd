"""Bodies of functions as programs, for kernels that call them."""

from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.passes.program cimport ProgramConfig
from headrace.runtime.state.session_owner cimport SessionOwner


cdef class FunctionCompiler:
    cdef SessionGraph graph        # of the session
    cdef SessionOwner owner
    cdef ProgramConfig config
    cdef bint dynamic
    cdef object bodies             # the SessionGraphs of bodies in use, weakly
    cdef object lock

    # Lets kernels of the session's runs call functions.
    cdef int attach(self) except -1
    # Ends what calls functions, and drops their bodies. Iterators of a shared state stay, for the
    # other sessions of the state, and with them the bodies until the last of them ends.
    cdef int close(self, str why, bint shared) except -1
    cdef int drop_bodies(self) except -1
    # After a reset: kernels of the bodies look their resources up again.
    cdef int forget_kernels(self) except -1
    cdef object compile(self, bytes key)
