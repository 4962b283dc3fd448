# cython: language_level=3
"""Bodies of functions as programs, for kernels that call them (hr_function_api of kernel.h).

A function is compiled when a kernel first finds it: its parameters are the feeds and its results
the fetches of a graph that holds one call of it. The session drops the bodies when it is closed;
handles of kernels stay valid, and calls through them fail. The iterators of a shared state go on
without the session that made them, so its bodies live until the last of these iterators ends.

A function with seeded random ops has a body for each scope that calls it (`body_of_scope`), since
the state of its kernels is where the next random numbers come from.
"""

import threading
import weakref

from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.executor.function_calls cimport (
    CompiledFunction, body_pointer, close_session_functions, drop_bodies_of_scopes,
    end_session_scopes, leave_session_functions, new_function,
)
from headrace.runtime.graph.session_graph cimport SessionGraph, add_functions
from headrace.runtime.memory.kernel_abi cimport (
    HR_CANCELLED, HR_INTERNAL, HR_OK, HR_RESOURCE_EXHAUSTED, hr_code,
)
from headrace.runtime.passes.program cimport Program, ProgramConfig, build_program
from headrace.runtime.passes.segments cimport Segments, cut_segments
from headrace.runtime.state.session_owner cimport (
    SessionFunctions, SessionOwner, function_release, function_retain, hr_function,
)

from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.op_pb2 import NameAttrList

# Compilers of closed sessions whose functions iterators of a shared state still call.
left = set()


cdef class FunctionCompiler:
    def __init__(self, SessionGraph graph, SessionOwner owner, ProgramConfig config, bint dynamic):
        self.graph = graph
        self.owner = owner
        self.config = config
        self.dynamic = dynamic
        self.bodies = weakref.WeakSet()
        self.lock = threading.Lock()

    cdef int attach(self) except -1:
        cdef SessionFunctions* functions = self.owner.functions.get()
        functions.compile = compile_function
        functions.recompile = recompile_function
        functions.unused = drop_unused
        Py_INCREF(self)
        functions.compiler = <PyObject*>self
        return 0

    cdef int close(self, str why, bint shared) except -1:
        cdef SessionFunctions* functions = self.owner.functions.get()
        cdef bint stays = False
        encoded = why.encode()
        cdef const char* text = encoded
        if functions.forked():
            return 0
        if shared:
            left.add(self)    # before: the last iterator may end at once
            with nogil:
                stays = leave_session_functions(functions, text)
            if stays:
                return 0
            left.discard(self)
        with nogil:
            close_session_functions(functions, text, not shared)
        return self.drop_bodies()

    cdef int drop_bodies(self) except -1:
        cdef SessionFunctions* functions = self.owner.functions.get()
        cdef vector[hr_function*] made
        cdef hr_function* function
        cdef PyObject* held = functions.compiler
        functions.compiler = NULL
        with nogil:
            functions.lock.lock()
            for item in functions.by_key:
                function_retain(item.second)
                made.push_back(item.second)
            functions.lock.unlock()
        for function in made:
            function.drop_body()
            function_release(function)
        with nogil:
            drop_bodies_of_scopes(functions)
        self.bodies.clear()
        Py_XDECREF(held)
        return 0

    cdef int forget_kernels(self) except -1:
        with self.lock:
            for body in self.bodies:
                body.forget_kernels()
        return 0

    cdef object compile(self, bytes key):
        """Returns: the compiled function, its name, the dtypes of its parameters and results, and
        whether it draws seeded random numbers."""
        cdef SessionGraph body = SessionGraph()
        cdef Program program
        cdef Segments segments
        function = NameAttrList.FromString(key)
        with self.graph.lock:
            inputs, outputs = self.graph.library.types(function)
            body.library = self.graph.library
            called = self.graph.library.reachable(function.name)
            add_functions(body, called)
        graph_def = GraphDef()
        graph_def.versions.producer = 1000   # shapes of scalars are known
        feeds = []
        for i, dtype in enumerate(inputs):
            feeds.append(f"_argument{i}")
            node = graph_def.node.add(name=feeds[i], op="Placeholder")
            node.attr["dtype"].type = dtype
            node.attr["shape"].shape.unknown_rank = True
        call = graph_def.node.add(name=function.name, op="StatefulPartitionedCall", input=feeds)
        call.attr["Tin"].list.type.extend(inputs)
        call.attr["Tout"].list.type.extend(outputs)
        call.attr["f"].func.CopyFrom(function)
        body.extend(graph_def.SerializeToString())
        with self.graph.lock:
            program = build_program(
                body, feeds, [f"{function.name}:{i}" for i in range(len(outputs))],
                [function.name], self.config)
        segments = cut_segments(program, False)
        compiled = CompiledFunction(self.owner, program, segments, self.dynamic)
        self.bodies.add(body)
        return compiled, function.name, inputs, outputs, has_seeds(called)


def has_seeds(definitions):
    """Whether some op has a seed: with equal seeds its kernels give the same numbers."""
    return any(
        name in node.attr and node.attr[name].i
        for definition in definitions
        for node in definition.node_def
        for name in ("seed", "seed2"))


def close_left():
    """Ends the iterators that closed sessions have left to others, before the process ends."""
    cdef FunctionCompiler compiler
    compilers = list(left)
    for compiler in compilers:    # all of them first: threads of one may serve another's iterator
        end_session_scopes(compiler.owner.functions.get(), b"the process ends")
    for compiler in compilers:
        compiler.close("the process ends", False)
    left.clear()


cdef void drop_unused(SessionFunctions* functions) noexcept nogil:
    with gil:
        compiler = <FunctionCompiler>functions.compiler
        left.discard(compiler)
        compiler.drop_bodies()


cdef hr_code compile_function(SessionFunctions* functions, const string& key, hr_function** made,
                              string* error) noexcept nogil:
    with gil:
        try:
            return compile_once(functions, key, made)
        except BaseException as failure:
            return told(failure, error)


cdef hr_code recompile_function(SessionFunctions* functions, const string& key,
                                shared_ptr[void]* body, string* error) noexcept nogil:
    with gil:
        try:
            compiler = open_compiler(functions)
            with compiler.lock:
                body[0] = body_pointer(compiler.compile(key)[0])
            return HR_OK
        except BaseException as failure:
            return told(failure, error)


cdef hr_code told(failure, string* error) noexcept:
    """Returns the code of an exception, and its text in `error`."""
    if isinstance(failure, MemoryError):
        error.assign(b"no memory for a function")
        return HR_RESOURCE_EXHAUSTED
    if isinstance(failure, errors.OpError):
        error[0] = str(failure.message).encode("utf-8", "backslashreplace")
        return failure.code
    error[0] = f"{type(failure).__name__}: {failure}".encode("utf-8", "backslashreplace")
    return HR_INTERNAL


cdef FunctionCompiler open_compiler(SessionFunctions* functions):
    if functions.compiler == NULL:
        raise errors.CancelledError(None, None, "the session was closed")
    return <FunctionCompiler>functions.compiler


cdef hr_code compile_once(SessionFunctions* functions, const string& key,
                          hr_function** made) except? HR_CANCELLED:
    cdef FunctionCompiler compiler = open_compiler(functions)
    cdef hr_function* function
    with compiler.lock:
        known = functions.by_key.find(key)
        if known == functions.by_key.end():
            compiled, name, inputs, outputs, draws = compiler.compile(key)
            function = new_function(compiled, key, name.encode(), inputs, outputs, draws)
            functions.lock.lock()
            functions.by_key[key] = function
            functions.lock.unlock()
        else:
            functions.lock.lock()
            function = functions.by_key[key]
            functions.lock.unlock()
        function_retain(function)
        made[0] = function
        if functions.compiler == NULL:    # closed meanwhile
            function.drop_body()
    return HR_OK
