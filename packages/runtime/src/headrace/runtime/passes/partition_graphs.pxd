"""The graph of each device, for RunMetadata."""

from headrace.runtime.passes.program cimport Program

# A RunMetadata message with a GraphDef for each device that has a node.
cdef bytes partition_metadata(Program program)
