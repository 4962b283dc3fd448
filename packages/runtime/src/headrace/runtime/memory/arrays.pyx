# cython: language_level=3
"""NumPy arrays as tensors, and back."""

cimport numpy as cnp
import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from headrace.formats import errors
from headrace.formats.interrupts import interrupts_held
from headrace.runtime.memory.buffer cimport (
    OwnedTensor, allocate_tensor, buffer_references, copy_tensor, set_bytes,
)
from headrace.runtime.memory.kernel_abi cimport (
    HR_BFLOAT16, HR_FLOAT8_E4M3FN, HR_FLOAT8_E5M2, HR_MAX_RANK, HR_OK, HR_RESOURCE, HR_STRING,
    HR_VARIANT, hr_dtype, hr_string, hr_tensor,
)

cnp.import_array()


cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype descr, object base)
    object PyArray_NewCopy(cnp.ndarray, cnp.NPY_ORDER)


# NumPy's type number by DataType; those of ml_dtypes are looked up at first use.
cdef int type_numbers[32]
cdef list descriptors = [None] * 32
EXTENDED_DTYPES = (HR_BFLOAT16, HR_FLOAT8_E5M2, HR_FLOAT8_E4M3FN)  # types of ml_dtypes
for _number in range(32):
    type_numbers[_number] = -1

for _number, _dtype in {
    1: np.float32, 2: np.float64, 3: np.int32, 4: np.uint8, 5: np.int16, 6: np.int8, 7: np.object_,
    8: np.complex64, 9: np.int64, 10: np.bool_, 11: np.int8, 12: np.uint8, 13: np.int32,
    15: np.int16, 16: np.uint16, 17: np.uint16, 18: np.complex128, 19: np.float16, 22: np.uint32,
    23: np.uint64,
}.items():
    descriptors[_number] = np.dtype(_dtype)
    type_numbers[_number] = np.dtype(_dtype).num


cdef cnp.dtype descriptor(hr_dtype dtype):
    if dtype < 1 or dtype >= 32:
        raise errors.InvalidArgumentError(None, None, f"DataType {dtype} has no NumPy form")
    found = descriptors[dtype]
    if found is None:
        if dtype not in EXTENDED_DTYPES:
            raise errors.InvalidArgumentError(
                None, None, "a resource or variant tensor has no NumPy form: fetch what is in it")
        with interrupts_held():  # 10 ms that few programs need
            import ml_dtypes
        found = np.dtype({HR_BFLOAT16: ml_dtypes.bfloat16, HR_FLOAT8_E5M2: ml_dtypes.float8_e5m2,
                          HR_FLOAT8_E4M3FN: ml_dtypes.float8_e4m3fn}[dtype])
        descriptors[dtype] = found
        type_numbers[dtype] = found.num
    return found


cdef int import_dtype(hr_dtype dtype) except -1:
    if dtype in EXTENDED_DTYPES:
        descriptor(dtype)
    return 0


cdef class BufferHolder:
    """Keeps the counted memory of an array alive."""
    cdef OwnedTensor tensor


cdef object strings_from(const hr_tensor* t):
    cdef int64_t i, n = t.bytes // <int64_t>sizeof(hr_string)
    cdef hr_string* s = <hr_string*>t.data
    cdef tuple shape = tuple([t.dims[i] for i in range(t.rank)])
    out = np.empty(n, dtype=object)
    for i in range(n):
        out[i] = PyBytes_FromStringAndSize(s[i].data, <Py_ssize_t>s[i].size)
    try:
        return out.reshape(shape)
    except ValueError as error:
        raise no_array(t, error) from error


cdef object no_array(const hr_tensor* t, error):
    """The error of a tensor whose sizes, zeros excluded, have a product beyond NumPy's limit."""
    dims = [t.dims[i] for i in range(t.rank)]
    return errors.ResourceExhaustedError(None, None, f"NumPy has no array of shape {dims}: {error}")


cdef object array_from_tensor(const hr_tensor* t):
    if t.dtype == HR_STRING:
        return strings_from(t)
    cdef cnp.dtype descr = descriptor(t.dtype)
    cdef cnp.ndarray out
    try:
        out = cnp.PyArray_EMPTY(t.rank, <cnp.npy_intp*>t.dims, type_numbers[t.dtype], 0)
    except ValueError as error:
        raise no_array(t, error) from error
    memcpy(cnp.PyArray_DATA(out), t.data, t.bytes)
    return out


cdef object fetched(hr_tensor* t):
    """An array that the caller owns: the memory of a large counted tensor moves with its reference."""
    cdef BufferHolder holder
    cdef cnp.ndarray out
    if t.dtype == HR_STRING:
        found = strings_from(t)
        return found if t.rank else found[()]
    if t.rank == 0:
        return PyArray_Scalar(t.data, descriptor(t.dtype), None)
    if t.owner == NULL or t.bytes < 16384 or buffer_references(t.owner) != 1:
        return array_from_tensor(t)
    descriptor(t.dtype)
    holder = BufferHolder()
    out = cnp.PyArray_SimpleNewFromData(t.rank, <cnp.npy_intp*>t.dims, type_numbers[t.dtype],
                                        t.data)
    holder.tensor.own(t[0])
    t.owner = NULL
    cnp.set_array_base(out, holder)
    return out


cdef object strings_to(cnp.ndarray array, hr_tensor* t):
    cdef OwnedTensor result
    result.get()[0] = t[0]
    result.get().owner = NULL
    if allocate_tensor(result.get()) != HR_OK:
        raise _no_memory(t)
    fill_strings(array, <hr_string*>result.get().data)
    t[0] = result.take()
    return None


cdef object _no_memory(hr_tensor* t):
    dims = [t.dims[i] for i in range(t.rank)]
    return errors.ResourceExhaustedError(None, None, f"no memory for a tensor of shape {dims}")


cdef int fill_strings(cnp.ndarray array, hr_string* s) except -1:
    cdef int64_t i
    cdef hr_tensor text
    for i, item in enumerate(array.ravel()):
        if isinstance(item, str):
            item = (<str>item).encode()
        if not isinstance(item, bytes):
            raise errors.InvalidArgumentError(
                None, None, f"a string tensor takes bytes or str, got {type(item).__name__}")
        if PyBytes_GET_SIZE(item) == 0:
            continue
        text.dtype = 4  # bytes
        text.rank = 1
        text.dims[0] = PyBytes_GET_SIZE(item)
        if allocate_tensor(&text) != HR_OK:
            raise _no_memory(&text)
        memcpy(text.data, PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item))
        s[i].data = <const char*>text.data
        s[i].size = PyBytes_GET_SIZE(item)
        s[i].owner = text.owner
    return 0


cdef object tensor_from_array(object value, hr_dtype dtype, hr_tensor* t, bint counted):
    cdef cnp.ndarray array
    cdef int i
    cdef hr_tensor borrowed
    t.owner = NULL
    t.layout = 0
    t.dtype = dtype
    if not isinstance(value, np.ndarray):
        value = np.asarray(value, dtype=None if dtype == HR_STRING else descriptor(dtype))
    array = value
    if not 0 <= dtype < 32 or type_numbers[dtype] < 0:
        descriptor(dtype)  # looks up its type number; raises if there is none
    if dtype != HR_STRING and (cnp.PyArray_TYPE(array) != type_numbers[dtype] or
                               not cnp.PyArray_ISCARRAY_RO(array)):
        requested = descriptor(dtype)
        if array.dtype != requested and not np.can_cast(array.dtype, requested, "same_kind"):
            raise errors.InvalidArgumentError(
                None, None, f"expected {requested} values, got {array.dtype}")
        array = np.require(array.astype(requested, copy=False), requirements=("C", "A"))
    if array.ndim > HR_MAX_RANK:
        raise errors.UnimplementedError(
            None, None, f"tensors have at most {HR_MAX_RANK} dimensions, got {array.ndim}")
    t.rank = array.ndim
    for i in range(t.rank):
        t.dims[i] = cnp.PyArray_DIM(array, i)
    if dtype == HR_STRING:
        return strings_to(array, t)
    t.data = cnp.PyArray_DATA(array)
    set_bytes(t)
    if counted:
        borrowed = t[0]
        if copy_tensor(&borrowed, t) != HR_OK:
            raise _no_memory(t)
        return None
    return array
