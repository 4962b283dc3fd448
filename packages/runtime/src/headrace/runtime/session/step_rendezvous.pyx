# cython: language_level=3
# distutils: language = c++
"""A rendezvous of one step for workers of this process, which Python can take part in."""

import threading

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from headrace.formats import errors
from headrace.formats.dtypes import as_dtype
from headrace.runtime.memory.arrays cimport array_from_tensor, tensor_from_array
from headrace.runtime.memory.buffer cimport OwnedTensor
from headrace.runtime.memory.kernel_abi cimport HR_CANCELLED, HR_OK, hr_code, hr_tensor
from headrace.runtime.memory.worker_abi cimport (
    HR_RENDEZVOUS_CAPSULE, HR_RUN_TRACED, HR_WORKER_CAPSULE, hr_edge_key, hr_rendezvous, hr_worker,
)

cdef extern from "state/rendezvous.hpp" namespace "headrace" nogil:
    cdef cppclass LocalRendezvous:
        LocalRendezvous() except +
        hr_rendezvous* abi()
        void abort(hr_code code, const char* message)


class _Waiting:
    """A value, or the end of a run, that a thread waits for."""

    def __init__(self):
        self.done = threading.Event()
        self.result = None
        self.error = None

    def wait(self, timeout_s):
        if not self.done.wait(timeout_s):
            raise errors.DeadlineExceededError(
                None, None, f"nothing came within {timeout_s} s")
        if self.error is not None:
            raise self.error
        return self.result


cdef class Rendezvous:
    """The tensors of one step that pass between workers of this process, and Python.

    `capsule` is a PyCapsule named HR_RENDEZVOUS_CAPSULE for `hr_worker.run`.
    """
    cdef LocalRendezvous* rendezvous
    cdef readonly object capsule

    def __cinit__(self):
        self.rendezvous = new LocalRendezvous()
        self.capsule = PyCapsule_New(self.rendezvous.abi(), HR_RENDEZVOUS_CAPSULE, NULL)

    def __dealloc__(self):
        del self.rendezvous

    def send(self, int64_t edge, array):
        """Sends a value, as a feed: an array of the edge's dtype."""
        cdef hr_edge_key key
        cdef hr_tensor counted
        cdef OwnedTensor value
        cdef hr_code code
        key.edge = edge
        key.frame = 0
        key.iteration = 0
        array = np.asarray(array)
        tensor_from_array(array, int(as_dtype(array.dtype)), &counted, True)
        value.own(counted)
        with nogil:
            code = self.rendezvous.abi().send(self.rendezvous.abi(), &key, value.get(), 0)
        if code != HR_OK:
            raise errors.from_code(code, "the value could not be sent")

    def recv(self, int64_t edge, timeout_s=30.0):
        """Returns a value that is sent to this side, as a fetch; None: a dead one."""
        cdef hr_edge_key key
        key.edge = edge
        key.frame = 0
        key.iteration = 0
        waiting = _Waiting()
        Py_INCREF(waiting)
        with nogil:
            self.rendezvous.abi().recv(self.rendezvous.abi(), &key, received, <void*>waiting)
        return waiting.wait(timeout_s)

    def run(self, worker, int64_t partition, int64_t number=0, bint traced=False):
        """Starts a run of a partition on a worker.

        Returns: a function of a timeout in seconds, which waits for the end of the run and returns
          the RunMetadata of a traced one.
        """
        cdef hr_worker* on = <hr_worker*>PyCapsule_GetPointer(worker.capsule, HR_WORKER_CAPSULE)
        waiting = _Waiting()
        Py_INCREF(waiting)
        with nogil:
            on.run(on, partition, number, HR_RUN_TRACED if traced else 0, self.rendezvous.abi(),
                   ended, <void*>waiting)
        return waiting.wait

    def abort(self, str why):
        """Ends all receives of the step."""
        encoded = why.encode()
        cdef const char* text = encoded
        with nogil:
            self.rendezvous.abort(HR_CANCELLED, text)


cdef void received(void* argument, hr_code code, const char* message, hr_tensor* value,
                   int32_t dead) noexcept nogil:
    with gil:
        waiting = <object>argument
        Py_DECREF(waiting)
        try:
            if code != HR_OK:
                waiting.error = errors.from_code(code, message.decode(errors="replace"))
            elif not dead:
                result = array_from_tensor(value)
                waiting.result = result if value.rank else result[()]
        except BaseException as error:
            waiting.error = error
        waiting.done.set()


cdef void ended(void* argument, hr_code code, const char* node, const char* message,
                const char* metadata, size_t metadata_size) noexcept nogil:
    with gil:
        waiting = <object>argument
        Py_DECREF(waiting)
        try:
            waiting.result = metadata[:metadata_size]
            if code != HR_OK:
                name = node.decode(errors="replace") or None
                waiting.error = errors.from_code(code, message.decode(errors="replace"), name)
        except BaseException as error:
            waiting.error = error
        waiting.done.set()
