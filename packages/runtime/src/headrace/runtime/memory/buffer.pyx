# cython: language_level=3
"""Counted memory from a caching allocator.

Fresh pages dominate the cost of large tensors (40 MB: 18 ms new, 1 ms reused), so freed blocks go
to free lists by size class, four classes per power of two, and are reused from there. The free
lists are bounded; blocks beyond the bound go back to the C library.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from headrace.runtime.memory.kernel_abi cimport (
    HR_OK, HR_INVALID_ARGUMENT, HR_REF, HR_RESOURCE, HR_RESOURCE_EXHAUSTED, HR_STRING, HR_VARIANT,
    hr_buffer, hr_code, hr_device, hr_dtype, hr_dtype_size, hr_resource, hr_string, hr_tensor, hr_variant,
)


cdef extern from *:
    """
    #include <cstdlib>
    #include <new>
    #include "memory/buffer.hpp"
    namespace {
    const int64_t kHeader = 64;  // the header, so that data stays 64-byte aligned
    static_assert(sizeof(hr_buffer) <= kHeader, "the header outgrew its place");
    hr_buffer* place_header(void* memory) {
      hr_buffer* b = new (memory) hr_buffer();
      b->data = static_cast<char*>(memory) + kHeader;
      return b;
    }
    hr_buffer* block_from_system(int64_t bytes) {
      void* memory = nullptr;
      if (posix_memalign(&memory, 64, static_cast<size_t>(bytes + kHeader))) return nullptr;
      return place_header(memory);
    }
    void reset(hr_buffer* b, int64_t bytes, hr_dtype elements, void (*destroy)(hr_buffer*)) {
      b->references.store(1, std::memory_order_relaxed);
      b->elements = elements;
      b->bytes = bytes;
      b->destroy = destroy;
      b->device = nullptr;
    }
    std::atomic<int64_t> from_system{0};
    int64_t count_from_system(int64_t by) { return from_system += by; }
    }
    """
    hr_buffer* block_from_system(int64_t bytes) nogil
    void reset(hr_buffer* b, int64_t bytes, hr_dtype elements,
               void (*destroy)(hr_buffer*) noexcept nogil) nogil
    int64_t count_from_system(int64_t by) nogil


cdef extern from "memory/buffer.hpp" nogil:
    cdef cppclass buffer_fields "hr_buffer":
        hr_dtype elements
        int32_t size_class
        int64_t bytes
        void* data
        hr_buffer* next

cdef inline buffer_fields* fields(hr_buffer* b) noexcept nogil:
    return <buffer_fields*>b


# Classes 0.. are 64 B, 80, 96, 112, 128, 160, ...: four steps to each doubling, up to 2^44 B.
cdef enum:
    CLASSES = 160
cdef int64_t CACHED_BYTES_LIMIT = 2 << 30

cdef hr_buffer* free_lists[CLASSES]
cdef SpinLock free_locks[CLASSES]
cdef SpinLock cached_lock
cdef int64_t cached_bytes = 0


cdef inline int size_class(int64_t bytes, int64_t* rounded) noexcept nogil:
    cdef int doubling = 0
    cdef int64_t base = 64
    if bytes <= 64:
        rounded[0] = 64
        return 0
    doubling = 57 - __builtin_clzll(<unsigned long long>(bytes - 1))  # floor(log2(bytes - 1)) - 6
    base = (<int64_t>64) << doubling
    cdef int64_t step = base >> 2
    cdef int64_t steps = (bytes - base + step - 1) // step
    rounded[0] = base + steps * step
    return doubling * 4 + <int>steps


cdef extern from *:
    int __builtin_clzll(unsigned long long) nogil


cdef hr_buffer* buffer_new(int64_t bytes, hr_dtype elements) noexcept nogil:
    global cached_bytes
    cdef int64_t rounded
    if bytes < 0 or bytes > (<int64_t>1 << 44):
        return NULL
    cdef int number = size_class(bytes, &rounded)
    free_locks[number].lock()
    cdef hr_buffer* b = free_lists[number]
    if b != NULL:
        free_lists[number] = fields(b).next
    free_locks[number].unlock()
    if b != NULL:
        if rounded >= 65536:
            cached_lock.lock()
            cached_bytes -= rounded
            cached_lock.unlock()
    else:
        b = block_from_system(rounded)
        if b == NULL:
            return NULL
        count_from_system(1)
        fields(b).size_class = number
    reset(b, bytes, elements, give_back)
    if not is_plain(elements):
        memset(fields(b).data, 0, bytes)
    return b


cdef void destroy_elements(buffer_fields* b) noexcept nogil:
    cdef int64_t i
    cdef hr_string* strings
    cdef hr_resource* resources
    cdef hr_variant* variants
    if b.elements == HR_STRING:
        strings = <hr_string*>b.data
        for i in range(b.bytes // <int64_t>sizeof(hr_string)):
            buffer_release(strings[i].owner)
    elif b.elements == HR_RESOURCE:
        resources = <hr_resource*>b.data
        for i in range(b.bytes // <int64_t>sizeof(hr_resource)):
            object_release(resources[i].object)
    elif b.elements == HR_VARIANT:
        variants = <hr_variant*>b.data
        for i in range(b.bytes // <int64_t>sizeof(hr_variant)):
            if variants[i].type != NULL:
                variants[i].type.destroy(variants[i].value)


cdef void give_back(hr_buffer* b) noexcept nogil:
    """Ends a buffer without references: destroys its elements and keeps its memory for reuse."""
    global cached_bytes
    cdef buffer_fields* f = fields(b)
    if not is_plain(f.elements):
        destroy_elements(f)
    cdef int64_t rounded
    cdef int number = size_class(f.bytes, &rounded)
    cdef bint keep = True
    if rounded >= 65536:
        cached_lock.lock()
        keep = cached_bytes + rounded <= CACHED_BYTES_LIMIT
        if keep:
            cached_bytes += rounded
        cached_lock.unlock()
    if not keep:
        free(b)
        return
    free_locks[number].lock()
    f.next = free_lists[number]
    free_lists[number] = b
    free_locks[number].unlock()


# A fork waits until no thread holds one of the locks: in the child, no thread would release it.
cdef extern from "<pthread.h>" nogil:
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil)


cdef void take_locks() noexcept nogil:
    cdef int i
    for i in range(CLASSES):
        free_locks[i].lock()
    cached_lock.lock()


cdef void give_locks() noexcept nogil:
    cdef int i
    cached_lock.unlock()
    for i in range(CLASSES):
        free_locks[i].unlock()


pthread_atfork(take_locks, give_locks, give_locks)


cdef int64_t buffers_from_system() noexcept nogil:
    return count_from_system(0)


def blocks_taken_from_system() -> int:
    """The number of blocks that the allocator ever took from the C library."""
    return buffers_from_system()


def set_cached_bytes_limit(int64_t limit) -> None:
    """Bounds the blocks from 64 KiB on that the allocator keeps for later tensors.

    Args:
      limit: bytes; blocks freed beyond it go back to the C library.
    """
    global CACHED_BYTES_LIMIT
    cached_lock.lock()
    CACHED_BYTES_LIMIT = limit
    cached_lock.unlock()


cdef bint is_plain(hr_dtype dtype) noexcept nogil:
    return dtype != HR_STRING and dtype != HR_RESOURCE and dtype != HR_VARIANT


cdef int set_bytes(hr_tensor* t) noexcept nogil:
    cdef int64_t total = 1 if t.dtype >= HR_REF else hr_dtype_size(t.dtype)
    cdef int i
    for i in range(t.rank):
        if t.dims[i] < 0:
            return -1
        if t.dims[i] != 0 and total > (<int64_t>1 << 44) // t.dims[i]:
            return -1
        total *= t.dims[i]
    t.bytes = total
    return 0


cdef hr_code allocate_tensor(hr_tensor* t) noexcept nogil:
    if set_bytes(t) < 0:
        return HR_INVALID_ARGUMENT
    cdef hr_buffer* b = buffer_new(t.bytes, t.dtype)
    if b == NULL:
        return HR_RESOURCE_EXHAUSTED
    t.owner = b
    t.data = fields(b).data
    t.layout = 0
    return HR_OK


cdef void copy_elements(const hr_tensor* src, hr_tensor* dst) noexcept nogil:
    cdef int64_t i, n
    cdef hr_string* strings
    cdef hr_resource* resources
    cdef hr_variant* variants
    cdef buffer_fields old
    if src.data == dst.data or src.bytes == 0:
        return
    if not is_plain(dst.dtype):
        # New elements are counted first: src may share owners with the old elements of dst.
        n = src.bytes // hr_dtype_size(src.dtype)
        if src.dtype == HR_STRING:
            strings = <hr_string*>src.data
            for i in range(n):
                buffer_retain(strings[i].owner)
        elif src.dtype == HR_RESOURCE:
            resources = <hr_resource*>src.data
            for i in range(n):
                if resources[i].object != NULL:
                    object_retain(resources[i].object)
        old.elements = dst.dtype
        old.bytes = dst.bytes
        old.data = dst.data
        destroy_elements(&old)
        if src.dtype == HR_VARIANT:
            variants = <hr_variant*>src.data
            for i in range(n):
                (<hr_variant*>dst.data)[i].type = variants[i].type
                if variants[i].type != NULL:
                    (<hr_variant*>dst.data)[i].value = variants[i].type.copy(variants[i].value)
            return
    memcpy(dst.data, src.data, src.bytes)


cdef hr_code copy_tensor(const hr_tensor* src, hr_tensor* dst) noexcept nogil:
    cdef hr_device* device = memory_of(src.owner)
    cdef const void* data = src.data
    cdef hr_code code
    dst[0] = src[0]
    dst.owner = NULL
    dst.layout = 0
    if device != NULL:
        code = allocate_on(device, dst, "a copy")
        if code == HR_OK and dst.bytes > 0:
            code = device.copy_within(device, dst.data, data, dst.bytes, NULL)
            if code != HR_OK:
                buffer_release(dst.owner)
                dst.owner = NULL
        return code
    code = allocate_tensor(dst)
    if code == HR_OK:
        copy_elements(src, dst)
    return code


cdef hr_code move_tensor(OwnedTensor* value, hr_device* to) noexcept nogil:
    cdef hr_device* device = memory_of(value.get().owner)
    cdef OwnedTensor moved
    cdef hr_code code
    if device == to:
        return HR_OK
    if device != NULL and to != NULL:
        code = move_tensor(value, NULL)
        return code if code != HR_OK else move_tensor(value, to)
    moved.get()[0] = value.get()[0]
    moved.get().owner = NULL
    if to == NULL:
        code = allocate_tensor(moved.get())
        if code == HR_OK:
            code = read_device(device, moved.get().data, value.get().data, moved.get().bytes)
    else:
        code = allocate_on(to, moved.get(), "a value")
        if code == HR_OK and moved.get().bytes > 0:
            code = to.copy_in(to, moved.get().data, value.get().data, moved.get().bytes, NULL, NULL,
                              NULL)
    if code == HR_OK:
        value.swap(moved)
    return code
