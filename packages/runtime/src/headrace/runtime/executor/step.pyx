# cython: language_level=3
"""The part of a step that does not depend on how it runs: RunOptions, metadata, errors."""

from cpython.exc cimport PyErr_SetInterrupt
from libcpp.string cimport string

from headrace.formats import errors
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.graph.node_text cimport node_label
from headrace.runtime.memory.kernel_abi cimport HR_INTERNAL, HR_RESOURCE_EXHAUSTED, hr_code
from headrace.runtime.passes.partition_graphs cimport partition_metadata
from headrace.runtime.state.context cimport run_blame, run_blamed, run_code, run_fail_text

from headrace.runtime.state.run_options import (
    inter_op_pool, timeout_s, wants_partition_graphs, wants_trace,
)


cdef class Step:
    """services.Step; StaticStep and DynamicStep differ in `execute`."""

    def __init__(self, SessionOwner owner, Program program):
        self.owner = owner
        self.program = program

    def __call__(self, values):
        return self.execute(values, self.owner.timeout_s, None, 0)

    def run(self, values, bytes options):
        trace = [] if wants_trace(options) else None
        results = self.execute(values, timeout_s(options) or self.owner.timeout_s, trace,
                               inter_op_pool(options))
        metadata = trace[0] if trace else b""
        if wants_partition_graphs(options):
            metadata += partition_metadata(self.program)   # concatenated messages are merged
        return results, metadata

    cdef list execute(self, values, double timeout, list trace, int pool):
        raise NotImplementedError

    cdef int check_count(self, values) except -1:
        if <size_t>len(values) != self.program.feeds.size():
            raise errors.InvalidArgumentError(
                None, None,
                f"the step takes {self.program.feeds.size()} values, got {len(values)}")
        return 0


cdef object run_error(Run* run):
    cdef hr_code code = run_code(run)
    cdef GraphNode* node = <GraphNode*>run_blamed(run)
    text = (<bytes>run.message).decode(errors="replace")
    if node == NULL:
        return errors.from_code(code, text)
    name = (<bytes>node.name).decode(errors="replace")
    return errors.from_code(code, f"{node_label(node)}: {text}", name)


cdef void keep_error(Run* run, void* exceptions, object error, Program program) noexcept:
    cdef GraphNode* node
    if exceptions != NULL:
        (<list>exceptions).append(error)
        return
    try:
        if isinstance(error, errors.OpError):
            node = node_named(program, error.node_name)
            text = str(error.message)
            if node != NULL:
                text = text.removeprefix(f"{node_label(node)}: ")
                run_blame(run, node)
            run_fail_text(run, error.code, text.encode("utf-8", "backslashreplace"))
            return
        if isinstance(error, KeyboardInterrupt):
            PyErr_SetInterrupt()    # for the thread that handles signals
        text = f"{type(error).__name__}: {error}"
        run_fail_text(run, HR_RESOURCE_EXHAUSTED if isinstance(error, MemoryError) else HR_INTERNAL,
                      text.encode("utf-8", "backslashreplace"))
    except BaseException:
        run_fail_text(run, HR_INTERNAL, "an error whose text cannot be had")


cdef GraphNode* node_named(Program program, name) except? NULL:
    """A node of a program; null: there is none of this name."""
    cdef string wanted
    cdef size_t i
    if program is None or not name:
        return NULL
    wanted = name.encode()
    for i in range(program.nodes.size()):
        if program.nodes[i].source != NULL and program.nodes[i].source.name == wanted:
            return program.nodes[i].source
    return NULL
