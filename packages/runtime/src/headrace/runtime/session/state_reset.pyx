# cython: language_level=3
# distutils: language = c++
"""Clears the resources of a state, for all sessions that share it."""

from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.executor.function_calls cimport end_scopes_of_objects
from headrace.runtime.graph.session_graph cimport SessionGraph
from headrace.runtime.memory.kernel_abi cimport hr_object
from headrace.runtime.session.function_compiler cimport FunctionCompiler
from headrace.runtime.state.context cimport clear_containers
from headrace.runtime.state.session_owner cimport SessionFunctions, SessionOwner

from headrace.runtime.session.function_compiler import left


cdef int reset_state(SessionOwner owner, containers, list graphs, list compilers) except -1:
    cdef vector[string] names
    cdef vector[SessionFunctions*] using
    cdef FunctionCompiler compiler
    cdef SessionGraph graph
    for name in containers:
        names.push_back(name.encode())
    compilers = [compiler for compiler in list(left)
                 if compiler.owner.state == owner.state] + compilers
    for compiler in compilers:
        using.push_back(compiler.owner.functions.get())
    with nogil:
        clear_containers(owner.state, names, end_scopes, &using)
    # Kernels keep the resources that they looked up: all sessions of the state look them up again,
    # also in existing steps.
    for graph in graphs:
        graph.forget_kernels()
    for compiler in compilers:
        compiler.forget_kernels()
    owner.state.resets.store(owner.state.resets.load() + 1)
    return 0


cdef void end_scopes(void* argument, const vector[hr_object*]& removed) noexcept nogil:
    """Ends what calls functions for objects that a reset has removed."""
    cdef vector[SessionFunctions*]* sessions = <vector[SessionFunctions*]*>argument
    cdef size_t i
    for i in range(sessions.size()):
        end_scopes_of_objects(sessions.at(i), removed, "the session's resources were reset")
