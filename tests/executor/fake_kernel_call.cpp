// Kernels may throw: the runtime catches what they throw, and so must the fake device.
#include <exception>

#include "fake_device.h"

hr_code fake_call_kernel(hr_compute compute, hr_ctx* ctx, void* state, void* plan,
                         const hr_tensor* const* inputs, hr_tensor* const* outputs,
                         void* workspace) {
  try {
    return compute(ctx, state, plan, inputs, outputs, workspace);
  } catch (const std::exception& error) {
    return hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.what());
  } catch (...) { return hr_ctx_fail(ctx, HR_INTERNAL, "a kernel threw an exception"); }
}
