"""A Python exception from another thread or a callback, to be raised by the caller
(raised_error.hpp)."""

from cpython.ref cimport PyObject


cdef extern from "state/raised_error.hpp" namespace "headrace":
    cdef cppclass RaisedError:
        RaisedError()
        void keep(object error)
        PyObject* get() nogil
