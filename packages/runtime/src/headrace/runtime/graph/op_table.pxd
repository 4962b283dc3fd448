"""The planner's facts about ops, by name."""

from libcpp.string_view cimport string_view

from headrace.runtime.graph.attributes cimport OpEntry

# The entry of an op of the catalogue; it is never freed. Raises NotFoundError with similar names.
cdef OpEntry* op_entry(string_view name) except NULL
# A new entry for a signature object of headrace.formats; the caller deletes it.
cdef OpEntry* new_entry(signature) except NULL
