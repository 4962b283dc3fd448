"""Which values must be known before kernels can be prepared."""

from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from headrace.runtime.passes.program cimport Program, ProgramNode

# The positions of the inputs that belong to these arguments (bits).
cdef void input_positions(ProgramNode* node, uint64_t arguments,
                          vector[int32_t]& positions) noexcept nogil
# Marks the values that must be known before these nodes (topological order) can be prepared.
# constant_args: per node of the program, the arguments whose values `prepare` needs.
cdef void mark_constants(Program program, const int32_t* nodes, int32_t n_nodes,
                      const vector[uint64_t]& constant_args, vector[int32_t]& marks,
                      int32_t mark) noexcept nogil

# Whether a node reads or gives lists and the like. Such values are data: they are never folded, since
# they may be of any size, and are no part of a plan's key.
cdef bint handles_variants(Program program, ProgramNode* node) noexcept nogil
