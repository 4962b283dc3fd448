# cython: language_level=3
"""Kernels written in Python, registered like compiled ones.

The thread that reaches the node takes the GIL and calls the kernel. A kernel that calls `run`
starts a nested run on the same thread and needs no other one, so nested runs cannot deadlock.
"""

import numpy as np

from cpython.exc cimport PyErr_SetInterrupt
from cpython.mem cimport PyMem_Malloc
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset, strdup
from libcpp.string cimport string

from headrace.formats import errors, op_catalogue
from headrace.runtime.kernels.reference_log import log_once
from headrace.runtime.memory.arrays cimport array_from_tensor, import_dtype, tensor_from_array
from headrace.runtime.graph.attribute_values cimport attribute_values
from headrace.runtime.memory.buffer cimport copy_tensor
from headrace.runtime.state.context cimport Run, run_fail_text, run_forget_cancel, run_on_cancel
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_CANCELLED, HR_INTERNAL, HR_INVALID_ARGUMENT, HR_KERNEL_ABI, HR_KERNEL_DATA_SHAPE,
    HR_KERNEL_TABLE_CAPSULE, HR_OK, HR_RESOURCE_EXHAUSTED, HR_UNAUTHENTICATED, HR_UNKNOWN, hr_code,
    hr_ctx, hr_kernel, hr_kernel_table, hr_node, hr_request, hr_tensor,
)
from headrace.runtime.threads.pools cimport begin_python_kernel, end_python_kernel

_libraries = {}  # address of a registration -> PythonKernels: `create` finds its library by it


cdef extern from "kernels/shape_check.hpp" namespace "headrace" nogil:
    ctypedef hr_code (*hr_shape_fn)(hr_request*)
    hr_shape_fn hr_shape_rule_by_name(const char*)
    hr_code check_shapes(hr_shape_fn rule, hr_request* request) noexcept


cdef extern from *:
    """
    // A call of a Python kernel, which is interrupted if its run ends.
    struct InterruptibleCall {
      unsigned long thread;
      std::atomic<bool> sent{false};
    };
    """
    cdef cppclass InterruptibleCall:
        unsigned long thread
        Sent sent
    cdef cppclass Sent "std::atomic<bool>":
        bint load() nogil
        void store(bint) nogil


cdef extern from "Python.h" nogil:
    unsigned long PyThread_get_thread_ident()
    int PyThreadState_SetAsyncExc(unsigned long thread, PyObject* error) with gil
    int Py_IsInitialized()


class RunEnded(BaseException):
    """Raised inside a Python kernel whose run was cancelled, closed or reset, or has timed out."""


cdef class NodeKernel:
    """The kernel of one node, and the dtypes and shapes that its results must have."""
    cdef object call
    cdef GraphNode* node
    cdef hr_shape_fn rule  # null: the catalogue has none


cdef bytes error_text(error):
    """The text of an exception, also where `str` fails."""
    try:
        text = str(error.message if isinstance(error, errors.OpError) else error)
    except BaseException:
        text = "(an error whose text cannot be had)"
    return text.encode("utf-8", "backslashreplace")


cdef hr_code error_code(error, hr_code otherwise):
    if not isinstance(error, errors.OpError):
        return otherwise
    code = getattr(error, "code", None)
    return code if isinstance(code, int) and HR_OK < code <= HR_UNAUTHENTICATED else otherwise


cdef hr_code create(hr_node* abi_node, void** state) noexcept nogil:
    # An unforeseen path returns the value set here, which is never HR_OK.
    cdef hr_code code = HR_INTERNAL
    with gil:
        create_in_python(<GraphNode*>abi_node, state, &code)
    return code


cdef void create_in_python(GraphNode* node, void** state, hr_code* code) noexcept:
    cdef int32_t i
    cdef NodeKernel kernel
    try:
        kernel = NodeKernel()
        kernel.node = node
        # Unlike in the kernel's call, the end of a run does not interrupt imports here.
        for i in range(node.abi_node.n_inputs):
            import_dtype(node.abi_node.input_dtypes[i])
        for i in range(node.abi_node.n_outputs):
            import_dtype(node.abi_node.output_dtypes[i])
        op = (<bytes>node.op).decode()
        library = _libraries[<size_t>node.creating]
        kernel.call = library.create(op, attribute_values(node))
        kernel.rule = hr_shape_rule_by_name(op_catalogue.signature(op).shape_rule.encode())
        log_once(op, (<bytes>node.name).decode(errors="replace"), library.library)
        Py_INCREF(kernel)
        state[0] = <void*>kernel
        code[0] = HR_OK
    except KeyboardInterrupt:
        # Not an error of the kernel: it is raised where the step is prepared.
        PyErr_SetInterrupt()
        node.error.assign(b"interrupted")
        code[0] = HR_CANCELLED
    except BaseException as error:
        node.error.assign(<string>error_text(error))
        code[0] = error_code(error, HR_INVALID_ARGUMENT)


cdef void destroy(void* state) noexcept nogil:
    with gil:
        Py_DECREF(<object>state)


cdef hr_code prepare(void* state, hr_request* request) noexcept nogil:
    # Without the GIL: a fork that waits for the end of `prepare` calls holds it.
    cdef hr_code code = check_shapes((<NodeKernel>state).rule, request)
    request.shape_depends_on_data = 1
    return code


cdef hr_code compute(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void* workspace) noexcept nogil:
    cdef uint64_t mode = begin_python_kernel()
    cdef hr_code code = HR_INTERNAL
    cdef InterruptibleCall call
    cdef uint64_t token
    call.thread = PyThread_get_thread_ident()
    token = run_on_cancel(ctx, interrupt, &call)
    with gil:
        compute_in_python(<Run*>ctx, <NodeKernel>state, inputs, outputs, &code)
    if token:
        run_forget_cancel(ctx, token)  # without the GIL, for which `interrupt` may be waiting
    if call.sent.load():
        # The exception came too late for the kernel: it must not reach the code that runs next on
        # this thread.
        with gil:
            PyThreadState_SetAsyncExc(call.thread, NULL)
    if code == HR_INTERNAL:  # an earlier text stays
        run_fail_text(<Run*>ctx, code, "the Python kernel failed, and so did the report of it")
    end_python_kernel(mode)
    return code


cdef void interrupt(void* argument) noexcept nogil:
    """Raises RunEnded in the thread of a call, at its next line of Python."""
    cdef InterruptibleCall* call = <InterruptibleCall*>argument
    if not Py_IsInitialized():
        return
    with gil:
        call.sent.store(True)
        PyThreadState_SetAsyncExc(call.thread, <PyObject*>RunEnded)


cdef void compute_in_python(Run* run, NodeKernel kernel, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, hr_code* code) noexcept:
    cdef int32_t i
    try:
        # A cancellation before Python knew this thread could not interrupt it.
        if run.cancelled.get():
            raise RunEnded
        arrays = [array_from_tensor(inputs[i]) for i in range(kernel.node.abi_node.n_inputs)]
        results = kernel.call(*arrays)
        if kernel.node.abi_node.n_outputs == 1 and not isinstance(results, (list, tuple)):
            results = (results,)
        elif kernel.node.abi_node.n_outputs == 0:
            results = ()
        if len(results) != kernel.node.abi_node.n_outputs:
            raise errors.InternalError(
                None, None, f"the Python kernel returned {len(results)} results, "
                f"{kernel.node.abi_node.n_outputs} were expected")
        for i in range(kernel.node.abi_node.n_outputs):
            tensor_from_array(results[i], kernel.node.abi_node.output_dtypes[i], outputs[i], True)
        code[0] = HR_OK
    except KeyboardInterrupt:
        # Not an error of the kernel: the step raises it when it is over.
        PyErr_SetInterrupt()
        code[0] = run_fail_text(run, HR_CANCELLED, "interrupted")
    except RunEnded:
        code[0] = run_fail_text(run, HR_CANCELLED, b"the step was cancelled")
    except errors.OpError as error:
        code[0] = run_fail_text(run, error_code(error, HR_UNKNOWN), error_text(error))
    except MemoryError as error:
        code[0] = run_fail_text(run, HR_RESOURCE_EXHAUSTED, b"MemoryError: " + error_text(error))
    except BaseException as error:
        code[0] = run_fail_text(
            run, HR_UNKNOWN, type(error).__name__.encode("utf-8", "backslashreplace") + b": "
            + error_text(error))


def make_table(library):
    """A kernel table for a PythonKernels; it lives as long as the process."""
    ops = sorted(library.ops())
    cdef hr_kernel_table* table = <hr_kernel_table*>PyMem_Malloc(sizeof(hr_kernel_table))
    cdef hr_kernel* rows = <hr_kernel*>PyMem_Malloc(sizeof(hr_kernel) * (len(ops) + 1))
    memset(rows, 0, sizeof(hr_kernel) * (len(ops) + 1))
    cdef int n = 0
    for op in ops:
        _libraries[<size_t>&rows[n]] = library
        rows[n].op = strdup(op.encode())
        rows[n].device_type = strdup(library.device_type.encode())
        rows[n].priority = library.priority
        rows[n].flags = HR_KERNEL_DATA_SHAPE
        rows[n].create = create
        rows[n].prepare = prepare
        rows[n].compute = compute
        rows[n].destroy = destroy
        n += 1
    memset(table, 0, sizeof(hr_kernel_table))
    table.size = sizeof(hr_kernel_table)
    table.abi = HR_KERNEL_ABI
    table.library = strdup(library.library.encode())
    table.version = strdup(library.version.encode())
    table.kernel_size = sizeof(hr_kernel)
    table.n_kernels = n
    table.kernels = rows
    return PyCapsule_New(table, HR_KERNEL_TABLE_CAPSULE, NULL)
