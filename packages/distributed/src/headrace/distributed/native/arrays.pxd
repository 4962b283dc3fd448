# cython: language_level=3
from headrace.distributed.native.memory cimport Memory, Value, hr_dtype

cdef int value_from_array(object given, hr_dtype dtype, const Memory* memory,
                          Value* value) except -1
cdef object array_from_value(Value* value)
