// Calls a kernel's functions so that no C++ exception leaves them: std::bad_alloc becomes
// ResourceExhausted, any other exception Internal with its text. Without an exception the try
// blocks cost nothing.
#pragma once
#include <exception>
#include <new>
#include <stdexcept>

#include "headrace/kernel.h"

namespace headrace {

// Call in a handler: the error of the current exception. fail(code, text) records it.
template <class Fail>
hr_code code_of_exception(Fail&& fail) noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return fail(HR_RESOURCE_EXHAUSTED,
                  "out of memory: the kernel could not allocate its working space");
    } catch (const std::length_error&) {
      return fail(HR_RESOURCE_EXHAUSTED, "the kernel would need more memory than can be addressed");
    } catch (const std::exception& error) { return fail(HR_INTERNAL, error.what()); } catch (...) {
      return fail(HR_INTERNAL, "the kernel threw an exception that is not a std::exception");
    }
  } catch (...) {  // no memory for the text
    return HR_RESOURCE_EXHAUSTED;
  }
}

inline hr_code fail_node(hr_node* node) noexcept {
  return code_of_exception(
      [&](hr_code code, const char* text) { return node->api->fail(node, code, "%s", text); });
}

inline hr_code fail_ctx(hr_ctx* ctx) noexcept {
  // Kernels leave nested loops by an exception if their step is cancelled.
  if (ctx->cancelled && hr_cancelled(ctx))
    return ctx->api->fail(ctx, HR_CANCELLED, "the step was cancelled");
  return code_of_exception(
      [&](hr_code code, const char* text) { return ctx->api->fail(ctx, code, "%s", text); });
}

inline hr_code call_create(const hr_kernel* kernel, hr_node* node, void** state) noexcept {
  try {
    return kernel->create(node, state);
  } catch (...) { return fail_node(node); }
}

inline hr_code call_prepare(const hr_kernel* kernel, void* state, hr_request* request) noexcept {
  try {
    return kernel->prepare(state, request);
  } catch (...) { return fail_node(request->node); }
}

inline hr_code call_compute(hr_compute compute, hr_ctx* ctx, void* state, void* plan,
                            const hr_tensor* const* inputs, hr_tensor* const* outputs,
                            void* workspace) noexcept {
  try {
    return compute(ctx, state, plan, inputs, outputs, workspace);
  } catch (...) { return fail_ctx(ctx); }
}

// A kernel that throws has not called `done`, and will not.
inline void call_compute_async(const hr_kernel* kernel, hr_ctx* ctx, void* state, void* plan,
                               const hr_tensor* const* inputs, hr_tensor* const* outputs,
                               void* workspace, hr_done done, void* argument) noexcept {
  hr_code code;
  try {
    kernel->compute_async(ctx, state, plan, inputs, outputs, workspace, done, argument);
    return;
  } catch (...) { code = fail_ctx(ctx); }
  done(argument, code);
}

}  // namespace headrace
