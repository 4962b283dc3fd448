"""NumPy arrays as tensors, and back."""

from headrace.runtime.memory.kernel_abi cimport hr_dtype, hr_tensor

# A new array, or a NumPy scalar if rank is 0 and `scalar` is set, with a copy of the elements. If
# `share` is set and this reference alone counts a large tensor, the array uses its memory.
cdef object array_from_tensor(const hr_tensor* t)
cdef object fetched(hr_tensor* t)
# Imports the module that arrays of that dtype need, unless it is imported already.
cdef int import_dtype(hr_dtype dtype) except -1
# Describes an array as a tensor. counted: a copy in counted memory; otherwise the memory is
# borrowed, except for strings and for arrays of another dtype or order, which are copied: then
# t.owner is set, or the caller must hold `keep`. Returns the object to keep alive.
cdef object tensor_from_array(object array, hr_dtype dtype, hr_tensor* t, bint counted)
