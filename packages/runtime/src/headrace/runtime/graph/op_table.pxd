"""What the planner knows about ops, by name."""

from libcpp.string_view cimport string_view

from headrace.runtime.graph.attributes cimport OpEntry

# The entry of an op of the catalogue; it is never freed. Raises NotFoundError naming near misses.
cdef OpEntry* op_entry(string_view name) except NULL
# An entry of its own for a signature object of headrace.formats; the caller deletes it.
cdef OpEntry* new_entry(signature) except NULL
