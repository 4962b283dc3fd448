# cython: language_level=3
# distutils: language = c++
"""NumPy arrays as tensors, and back."""

cimport numpy as cnp
import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from headrace.distributed.native.memory cimport (
    HR_MAX_RANK, HR_OK, HR_STRING, Memory, Value, hr_dtype, hr_string, hr_tensor, is_sendable,
)

from headrace.formats import errors
from headrace.formats.dtypes import as_dtype

cnp.import_array()

cdef int64_t MOVED_FROM = 16384    # bytes; smaller results are copied

cdef dict dtypes = {}              # DataType -> numpy.dtype


cdef cnp.dtype numpy_dtype(hr_dtype number):
    found = dtypes.get(number)
    if found is None:
        found = dtypes[number] = np.dtype(as_dtype(number).as_numpy_dtype)
    return found


cdef bint has_dtype(object array, object expected) except -1:
    found = array.dtype
    # A quantized dtype is a struct of one integer; the integers themselves will do.
    return found == expected or (expected.names is not None and found == expected[0])


cdef class _Held:
    """The memory of an array."""
    cdef Value value


cdef int value_from_array(object given, hr_dtype dtype, const Memory* memory,
                          Value* value) except -1:
    """Copies an array into a tensor of a DataType."""
    cdef cnp.ndarray array
    cdef hr_tensor like
    cdef int i
    cdef bint filled
    if not is_sendable(dtype):
        raise errors.InvalidArgumentError(
            None, None, f"a tensor of DataType {dtype} cannot be sent to another task")
    array = as_array(given, dtype)
    if array.ndim > HR_MAX_RANK:
        raise errors.UnimplementedError(
            None, None, f"a tensor of rank {array.ndim}: at most {HR_MAX_RANK} is supported")
    if dtype != HR_STRING and not has_dtype(array, numpy_dtype(dtype)):
        raise errors.InvalidArgumentError(
            None, None, f"an array of {array.dtype}, where {as_dtype(dtype).name} is expected")
    memset(&like, 0, sizeof(like))
    like.dtype = dtype
    like.rank = array.ndim
    for i in range(array.ndim):
        like.dims[i] = array.shape[i]
    with nogil:
        filled = value.allocate(like, memory)
        if filled and dtype != HR_STRING:
            memcpy(value.tensor.data, cnp.PyArray_DATA(array), value.tensor.bytes)
    if not filled:
        raise errors.ResourceExhaustedError(
            None, None, f"no memory for a tensor of shape {list(np.shape(array))}")
    if dtype == HR_STRING:
        fill_strings(array, value)
    return 0


cdef object as_array(object given, hr_dtype dtype):
    if dtype == HR_STRING:
        return np.asarray(given, dtype=object)  # an array of bytes would lose NULs at their ends
    return np.ascontiguousarray(given) if np.ndim(given) else np.asarray(given)


cdef int fill_strings(cnp.ndarray array, Value* value) except -1:
    cdef hr_string* strings = <hr_string*>value.tensor.data
    cdef int64_t i
    for i, item in enumerate(array.ravel()):
        if isinstance(item, str):
            item = item.encode()
        if not isinstance(item, bytes):
            raise errors.InvalidArgumentError(
                None, None, f"{item!r:.100} in a string tensor is neither bytes nor str")
        if value.memory.set_string(&strings[i], PyBytes_AS_STRING(item),
                                   <size_t>PyBytes_GET_SIZE(item)) != HR_OK:
            raise errors.ResourceExhaustedError(None, None, "no memory for a string tensor")
    return 0


cdef object array_from_value(Value* value):
    """An array that the caller owns, or a NumPy scalar; a large tensor of which there is no other
    reference moves."""
    cdef hr_tensor* t = &value.tensor
    cdef cnp.ndarray out
    cdef int64_t i, n
    cdef hr_string* strings
    cdef tuple shape = tuple([t.dims[i] for i in range(t.rank)])
    if t.dtype == HR_STRING:
        strings = <hr_string*>t.data
        n = 1
        for i in range(t.rank):
            n *= t.dims[i]
        flat = np.empty(n, dtype=object)
        for i in range(n):
            flat[i] = PyBytes_FromStringAndSize(strings[i].data, <Py_ssize_t>strings[i].size)
        return flat.reshape(shape) if t.rank else flat[0]
    if value.exclusive and t.bytes >= MOVED_FROM:
        return _over(value, _Held(), numpy_dtype(t.dtype), shape)
    out = np.empty(shape, numpy_dtype(t.dtype))
    if t.bytes:
        memcpy(cnp.PyArray_DATA(out), t.data, t.bytes)
    return out if t.rank else out[()]


cdef object _over(Value* value, _Held held, object dtype, tuple shape):
    cdef cnp.npy_intp n = value.tensor.bytes
    cdef cnp.ndarray raw = cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_UINT8, value.tensor.data)
    held.value.take(value[0])
    cnp.set_array_base(raw, held)
    return raw.view(dtype).reshape(shape)
