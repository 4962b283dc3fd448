"""headrace/kernel.h and headrace/device.h for Cython."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef extern from "headrace/kernel.h" nogil:
    const char* HR_KERNEL_TABLE_CAPSULE
    const int HR_KERNEL_ABI
    const int HR_MAX_RANK
    ctypedef int32_t hr_dtype
    ctypedef int32_t hr_code
    enum:
        HR_INVALID, HR_FLOAT, HR_DOUBLE, HR_INT32, HR_UINT8, HR_INT16, HR_INT8, HR_STRING
        HR_COMPLEX64, HR_INT64, HR_BOOL, HR_QINT8, HR_QUINT8, HR_QINT32, HR_BFLOAT16
        HR_QINT16, HR_QUINT16, HR_UINT16, HR_COMPLEX128, HR_HALF, HR_RESOURCE, HR_VARIANT
        HR_UINT32, HR_UINT64, HR_FLOAT8_E5M2, HR_FLOAT8_E4M3FN, HR_REF
    enum:
        HR_OK, HR_CANCELLED, HR_UNKNOWN, HR_INVALID_ARGUMENT, HR_DEADLINE_EXCEEDED
        HR_NOT_FOUND, HR_ALREADY_EXISTS, HR_PERMISSION_DENIED, HR_RESOURCE_EXHAUSTED
        HR_FAILED_PRECONDITION, HR_ABORTED, HR_OUT_OF_RANGE, HR_UNIMPLEMENTED, HR_INTERNAL
        HR_UNAVAILABLE, HR_DATA_LOSS, HR_UNAUTHENTICATED

    ctypedef struct hr_buffer:
        pass

    ctypedef struct hr_profile:
        uint32_t size
        int32_t entry
        void (*add)(hr_profile*, int32_t, const char*, int64_t, int64_t, int64_t) noexcept nogil

    ctypedef struct hr_device_memory:
        int64_t in_use
        int64_t peak
        int64_t reserved
        int64_t limit
        int64_t live
        int64_t allocated

    enum:
        HR_DEVICE_IS_HOST

    ctypedef void (*hr_device_done)(void*, int32_t, const char*) noexcept nogil

    ctypedef struct hr_device:
        uint32_t size
        uint32_t flags
        const char* type
        const char* description
        int64_t memory_bytes
        void* (*allocate)(hr_device*, int64_t, const char*) noexcept nogil
        void (*release)(hr_device*, void*) noexcept nogil
        void (*describe_memory)(hr_device*, char*, size_t) noexcept nogil
        void (*memory)(hr_device*, hr_device_memory*) noexcept nogil
        void (*reset_peak)(hr_device*) noexcept nogil
        void (*set_limit)(hr_device*, int64_t) noexcept nogil
        int32_t (*copy_in)(hr_device*, void*, const void*, int64_t, hr_profile*, hr_device_done,
                           void*) noexcept nogil
        int32_t (*copy_out)(hr_device*, void*, const void*, int64_t, hr_profile*, hr_device_done,
                            void*) noexcept nogil
        int32_t (*copy_within)(hr_device*, void*, const void*, int64_t, hr_profile*) noexcept nogil
        void (*flush)(hr_device*) noexcept nogil
        void (*notify)(hr_device*, hr_device_done, void*) noexcept nogil

    ctypedef struct hr_tensor:
        void* data
        int64_t bytes
        hr_dtype dtype
        int32_t rank
        int64_t dims[8]
        int64_t layout
        hr_buffer* owner

    ctypedef struct hr_string:
        const char* data
        size_t size
        hr_buffer* owner

    ctypedef struct hr_object:
        uint32_t size
        int32_t references
        const char* kind
        void (*destroy)(hr_object*) noexcept nogil

    ctypedef struct hr_resource:
        hr_object* object

    ctypedef struct hr_variant_type:
        uint32_t size
        const char* name
        void* (*copy)(const void*) noexcept nogil
        void (*destroy)(void*) noexcept nogil

    ctypedef struct hr_variant:
        const hr_variant_type* type
        void* value

    int64_t hr_elements(const hr_tensor*)
    int64_t hr_dtype_size(hr_dtype)

    ctypedef struct hr_node_api:
        uint32_t size

    ctypedef struct hr_node:
        uint32_t size
        const hr_node_api* api
        const char* name
        const char* op
        const char* device
        int32_t n_inputs
        int32_t n_outputs
        const hr_dtype* input_dtypes
        const hr_dtype* output_dtypes

    ctypedef struct hr_ctx
    ctypedef hr_code (*hr_compute)(hr_ctx*, void*, void*, const hr_tensor* const*,
                                   hr_tensor* const*, void*) noexcept nogil
    ctypedef void (*hr_done)(void*, hr_code) noexcept nogil

    ctypedef struct hr_ctx_api:
        uint32_t size

    ctypedef struct hr_ctx:
        uint32_t size
        int32_t threads
        const hr_ctx_api* api
        const int32_t* cancelled
        int64_t step
        hr_device* device
        hr_profile* profile

    int32_t hr_cancelled(const hr_ctx*)

    ctypedef struct hr_request:
        uint32_t size
        hr_node* node
        const hr_tensor* const* inputs
        int32_t threads
        uint64_t private_layout
        hr_tensor* const* outputs
        void* plan
        void (*destroy_plan)(void*) noexcept nogil
        hr_compute compute
        size_t workspace
        double flops
        double bytes_moved
        int32_t shape_depends_on_data
        hr_device* device

    enum:
        HR_KERNEL_VIEW, HR_KERNEL_DATA_SHAPE, HR_KERNEL_PRIVATE_IN, HR_KERNEL_SERIAL

    ctypedef struct hr_kernel:
        const char* op
        const char* device_type
        const char* constraint
        int32_t priority
        uint32_t flags
        uint64_t constant_inputs
        uint64_t reuse_inputs
        hr_code (*create)(hr_node*, void**) noexcept nogil
        hr_code (*prepare)(void*, hr_request*) noexcept nogil
        hr_compute compute
        void (*compute_async)(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*,
                              void*, hr_done, void*) noexcept nogil
        void (*destroy)(void*) noexcept nogil
        uint64_t value_inputs
        uint64_t (*shape_inputs)(const hr_node*, const hr_tensor* const*) noexcept nogil
        uint64_t host_inputs
        uint64_t host_outputs

    enum:
        HR_FUSE_INSTRUCTION, HR_FUSE_REDUCTION, HR_FUSE_BIAS, HR_FUSE_NORMALIZATION
        HR_FUSE_ACTIVATION

    ctypedef struct hr_fusible_op:
        const char* fused_op
        const char* op
        int32_t role
        const char* name
        const char* attribute
        const char* fused_attribute

    ctypedef struct hr_kernel_table:
        uint32_t size
        uint32_t abi
        const char* library
        const char* version
        uint32_t kernel_size
        int32_t n_kernels
        const hr_kernel* kernels
        uint32_t fusible_op_size
        int32_t n_fusible_ops
        const hr_fusible_op* fusible_ops
        hr_device* const* (*devices)(int32_t*) noexcept nogil
        const char* (*why_no_devices)() noexcept nogil
