"""NumPy arrays as tensors, and back."""

from headrace.runtime.memory.kernel_abi cimport hr_dtype, hr_tensor

# A new array (a NumPy scalar where rank is 0 and scalar is asked) with a copy of the elements,
# or, where `share` and the tensor is large and counted by this reference alone, over its memory.
cdef object array_from_tensor(const hr_tensor* t)
cdef object fetched(hr_tensor* t)
# Imports what arrays of that dtype need, if it is not imported yet.
cdef int import_dtype(hr_dtype dtype) except -1
# Describes an array as a tensor. counted: a copy on counted memory; else borrowed, except that
# strings, and arrays of another dtype or order, are always copied: then t.owner is set, or `keep`
# must be held by the caller. Returns the object to keep alive.
cdef object tensor_from_array(object array, hr_dtype dtype, hr_tensor* t, bint counted)
