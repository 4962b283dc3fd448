// Runs kernels of half and bfloat16 as kernels of float, with a conversion before and after.
#pragma once

#include "library/registration.hpp"

namespace hr {

// Calls `prepare` with float in place of every half and bfloat16 tensor; the compute that
// results converts inputs and outputs in its workspace. prepare must look at the dtypes of
// request->inputs and outputs, not at the node's, and must not set shape_depends_on_data.
hr_code prepare_via_float(void* state, hr_request* request, Prepare prepare);

inline bool is_narrow(hr_dtype dtype) { return dtype == HR_HALF || dtype == HR_BFLOAT16; }

// Whether any plain input or output is half or bfloat16.
bool has_narrow(const hr_request* request);

// One prepare for float (and wider) and for narrow types.
template <hr_code (*prepare)(void*, hr_request*)>
hr_code widened(void* state, hr_request* request) {
  return has_narrow(request) ? prepare_via_float(state, request, prepare) : prepare(state, request);
}

void narrow_to_float(hr_dtype dtype, const void* from, float* to, int64_t n);
void float_to_narrow(hr_dtype dtype, const float* from, void* to, int64_t n);

}  // namespace hr
