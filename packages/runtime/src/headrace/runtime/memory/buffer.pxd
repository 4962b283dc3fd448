"""Counted memory from a caching allocator, and tensors on it."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from headrace.runtime.memory.kernel_abi cimport (
    HR_BOOL, HR_INT32, HR_INT64, HR_REF, hr_buffer, hr_code, hr_device, hr_dtype, hr_object,
    hr_tensor,
)


cdef extern from "memory/device_memory.hpp" namespace "headrace" nogil:
    # The device whose memory a buffer is; null: the host's, also for no buffer.
    hr_device* memory_of(const hr_buffer* b)
    # Gives a tensor, whose bytes are set, a counted buffer on a device.
    hr_code allocate_on(hr_device* device, hr_tensor* t, const char* holder)
    hr_code read_device(hr_device* device, void* to, const void* source, int64_t bytes)

cdef extern from "memory/buffer.hpp" namespace "headrace" nogil:
    void buffer_retain(hr_buffer* b)
    void buffer_release(hr_buffer* b)
    int32_t buffer_references(const hr_buffer* b)
    int32_t object_retain(hr_object* o)
    void object_release(hr_object* o)
    # A tensor that counts its memory.
    cdef cppclass OwnedTensor:
        OwnedTensor()
        OwnedTensor(const hr_tensor& counted)
        hr_tensor* get()
        void own(const hr_tensor& counted)
        void share(const hr_tensor& tensor)
        void share(const hr_tensor& tensor, hr_buffer* owner)
        void take_from(OwnedTensor& other)
        void reset()
        hr_tensor take()
        void swap(OwnedTensor& other)
    hr_tensor* tensors_of(OwnedTensor* first)
    cdef cppclass OwnedTensors:
        OwnedTensors()
        bint hold(size_t n)
        OwnedTensor* data()
    cdef cppclass SpinLock:
        void lock()
        void unlock()

# A buffer of at least `bytes`, 64-byte aligned, with one reference; uninitialised, or zeroed for
# strings, resources and variants. Null: out of memory.
cdef hr_buffer* buffer_new(int64_t bytes, hr_dtype elements) noexcept nogil
# The number of blocks ever taken from the C library; tests check that a second run takes none.
cdef int64_t buffers_from_system() noexcept nogil
# Sets t->bytes from its dims; -1 if the product overflows or a dimension is negative.
cdef int set_bytes(hr_tensor* t) noexcept nogil
# Gives a tensor with dtype and dims its own counted buffer.
cdef hr_code allocate_tensor(hr_tensor* t) noexcept nogil
# A counted copy of src (its elements copied or retained), whatever owns it. A tensor without an owner
# is in host memory; any other copy is in the memory of its buffer.
cdef hr_code copy_tensor(const hr_tensor* src, hr_tensor* dst) noexcept nogil
# A tensor with an owner that is not in the memory of `to` (null: the host) is replaced by a copy there;
# waits for what is copied to the host.
cdef hr_code move_tensor(OwnedTensor* value, hr_device* to) noexcept nogil
# Copies src's elements over dst's, which has memory of the same bytes and valid elements.
cdef void copy_elements(const hr_tensor* src, hr_tensor* dst) noexcept nogil
cdef bint is_plain(hr_dtype dtype) noexcept nogil


cdef inline bint is_kept_on_host(hr_dtype dtype) noexcept nogil:
    """Whether values of a dtype stay in host memory where nothing computes with them on a device:
    counters, indices, conditions, and what has no bytes that a device could read."""
    return dtype == HR_INT32 or dtype == HR_INT64 or dtype == HR_BOOL or not is_plain(dtype) or \
        dtype >= HR_REF
