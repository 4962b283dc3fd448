"""Values that threads share without ordering any other memory (relaxed.hpp)."""

from libc.stdint cimport int32_t


cdef extern from "memory/relaxed.hpp" namespace "headrace" nogil:
    cdef cppclass Relaxed[T]:
        Relaxed()
        Relaxed(T value)
        T get()
        void set(T value)

    cdef cppclass Flag:
        int32_t get()
        void set(int32_t value)
        const int32_t* address()
