# cython: language_level=3
"""Kernels of the copies between host and device memory that passes/memory_copies.pyx inserts."""

from libc.stdint cimport int32_t
from libc.string cimport memset

from headrace.runtime.kernels.kernel_table cimport add_for_every_device
from headrace.runtime.memory.buffer cimport memory_of
from headrace.runtime.memory.device_steps cimport fail_on_device
from headrace.runtime.memory.kernel_abi cimport (
    HR_OK, HR_RESOURCE_EXHAUSTED, hr_buffer, hr_code, hr_ctx, hr_device, hr_device_done, hr_done, hr_kernel, hr_request,
    hr_tensor,
)
from headrace.runtime.state.context cimport Run, run_fail_text


cdef extern from *:
    """
    #include <memory>
    #include <new>
    #include "memory/buffer.hpp"
    #include "state/run.hpp"
    namespace {
    void (*report_error)(hr_device* device, hr_code code, const char* message) = nullptr;
    // A copy to the host in progress.
    struct CopyOut {
      headrace::Run* run;
      hr_device* device;
      hr_done done;
      void* argument;
    };
    void copied_out(void* argument, int32_t code, const char* message) {
      std::unique_ptr<CopyOut> copy(static_cast<CopyOut*>(argument));
      if (code != HR_OK) {
        headrace::run_fail_text(copy->run, code, message);
        report_error(copy->device, code, message);
      }
      copy->done(copy->argument, code);
    }
    void* new_copy_out(hr_ctx* ctx, hr_device* device, hr_done done, void* argument) {
      auto* run = reinterpret_cast<headrace::Run*>(ctx);
      // The error is the step's: a traced copy has the context of its device.
      return new (std::nothrow) CopyOut{run->first ? run->first : run, device, done, argument};
    }
    void delete_copy_out(void* copy) { delete static_cast<CopyOut*>(copy); }
    // The source of a copy to a device, which reports the end of the copy, with its error, only here.
    struct CopyIn {
      hr_device* device;
      hr_buffer* source;
    };
    void copied_in(void* argument, int32_t code, const char* message) {
      std::unique_ptr<CopyIn> copy(static_cast<CopyIn*>(argument));
      if (code != HR_OK) report_error(copy->device, code, message);
      headrace::buffer_release(copy->source);
    }
    void* new_copy_in(hr_device* device, hr_buffer* source) {
      auto* made = new (std::nothrow) CopyIn{device, source};
      if (made) headrace::buffer_retain(source);
      return made;
    }
    void drop_copy_in(void* copy) {
      headrace::buffer_release(static_cast<CopyIn*>(copy)->source);
      delete static_cast<CopyIn*>(copy);
    }
    }
    """
    void copied_out(void* argument, int32_t code, const char* message) nogil
    void (*report_error)(hr_device*, hr_code, const char*) noexcept nogil
    void* new_copy_out(hr_ctx* ctx, hr_device* device, hr_done done, void* argument) nogil
    void delete_copy_out(void* copy) nogil
    void copied_in(void* argument, int32_t code, const char* message) nogil
    void* new_copy_in(hr_device* device, hr_buffer* source) nogil
    void drop_copy_in(void* copy) nogil


cdef hr_code prepare_same(void* state, hr_request* request) noexcept nogil:
    cdef int i
    request.outputs[0].rank = request.inputs[0].rank
    for i in range(request.inputs[0].rank):
        request.outputs[0].dims[i] = request.inputs[0].dims[i]
    request.bytes_moved = 1   # its cost is the device's
    return HR_OK


cdef hr_code fail_copy(hr_ctx* ctx, hr_code code, const char* text) noexcept nogil:
    return run_fail_text(<Run*>ctx, code, text)


cdef hr_code fail_copy_out(hr_ctx* ctx, hr_code code, const char* text) noexcept nogil:
    cdef Run* first = (<Run*>ctx).first
    return run_fail_text(first if first != NULL else <Run*>ctx, code, text)


cdef hr_code copy_in(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void* workspace) noexcept nogil:
    """Enqueues the copy. What has an owner is read later; anything else before this returns."""
    cdef hr_device* device = ctx.device
    cdef void* copy = NULL
    cdef hr_code code
    if inputs[0].bytes == 0:
        return HR_OK
    if inputs[0].owner != NULL:
        copy = new_copy_in(device, inputs[0].owner)
        if copy == NULL:
            return fail_copy(ctx, HR_RESOURCE_EXHAUSTED, "no memory for a copy")
    if copy == NULL:
        code = device.copy_in(device, outputs[0].data, inputs[0].data, inputs[0].bytes, ctx.profile,
                              NULL, NULL)
    else:
        code = device.copy_in(device, outputs[0].data, inputs[0].data, inputs[0].bytes, ctx.profile,
                              copied_in, copy)
        if code != HR_OK:
            drop_copy_in(copy)
    if code != HR_OK:
        return fail_copy(ctx, code, "the device took no copy of a value")
    return HR_OK


cdef void copy_out(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                   hr_tensor* const* outputs, void* workspace, hr_done done,
                   void* argument) noexcept nogil:
    cdef hr_device* device = memory_of(inputs[0].owner)
    cdef void* copy
    cdef hr_code code
    if inputs[0].bytes == 0:
        done(argument, HR_OK)
        return
    copy = new_copy_out(ctx, device, done, argument)
    if copy == NULL:
        done(argument, fail_copy_out(ctx, HR_RESOURCE_EXHAUSTED, "no memory for a copy"))
        return
    code = device.copy_out(device, outputs[0].data, inputs[0].data, inputs[0].bytes, ctx.profile,
                           copied_out, copy)
    if code != HR_OK:
        delete_copy_out(copy)
        done(argument, fail_copy_out(ctx, code, "the device gives no copy of a value"))


report_error = fail_on_device

cdef hr_kernel rows[2]
memset(rows, 0, sizeof(rows))
rows[0].op = "_CopyToDevice"
rows[0].prepare = prepare_same
rows[0].compute = copy_in
rows[0].host_inputs = 1
rows[1].op = "_CopyToHost"
rows[1].prepare = prepare_same
rows[1].compute_async = copy_out
rows[1].host_outputs = 1
add_for_every_device(rows, 2)
