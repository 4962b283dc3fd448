"""An exception on its way from a thread or a callback to who raises it (raised_error.hpp)."""

from cpython.ref cimport PyObject


cdef extern from "state/raised_error.hpp" namespace "headrace":
    cdef cppclass RaisedError:
        RaisedError()
        void keep(object error)
        PyObject* get() nogil
