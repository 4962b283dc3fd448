// AddN and AccumulateNV2: sums of any number of tensors of one shape, and of lists.
#include <algorithm>
#include <vector>

#include "codegen/elementwise.hpp"
#include "codegen/op_program.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr::cl {
namespace {

// What one kernel adds up: OpenCL promises room for 1024 bytes of arguments, 16 for each operand.
constexpr int32_t kMostSummands = 32;

// More summands, from left to right: each kernel but the first adds to the sum of those before it.
// Until the last, a sum of half is kept in float, in the workspace.
struct LongSum {
  struct Part {
    ElementwiseKernel kernel;
    int32_t begin, end;  // inputs
  };
  std::vector<Part> parts;
  bool in_workspace;
};

hr_code compute_long_sum(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void* workspace) {
  const auto& sum = *static_cast<const LongSum*>(plan);
  void* so_far = sum.in_workspace ? workspace : out[0]->data;
  for (const LongSum::Part& part : sum.parts) {
    const void* summands[kMostSummands];
    int32_t n = 0;
    if (part.begin) summands[n++] = so_far;
    for (int32_t i = part.begin; i < part.end; ++i) summands[n++] = in[i]->data;
    void* to = &part == &sum.parts.back() ? out[0]->data : so_far;
    if (hr_code code = part.kernel.launch(ctx, summands, to)) return code;
  }
  return HR_OK;
}

hr_code prepare_sum(void*, hr_request* r) {
  HR_APPLY_RULE(merge, r);
  const int32_t n = r->node->n_inputs;
  if (n <= kMostSummands || hr_elements(r->outputs[0]) == 0) return plan_instruction(r);
  const hr_dtype dtype = r->outputs[0]->dtype, total = total_type(dtype);
  auto* plan = keep_plan(r, new LongSum);
  plan->in_workspace = total != dtype;
  if (plan->in_workspace) r->workspace = size_t(hr_elements(r->outputs[0]) * hr_dtype_size(total));
  for (int32_t begin = 0, end; begin < n; begin = end) {
    std::vector<hr_dtype> summands;
    if (begin) summands.push_back(total);
    end = std::min(n, begin + kMostSummands - int32_t(summands.size()));
    summands.resize(summands.size() + size_t(end - begin), dtype);
    const auto count = int32_t(summands.size());
    Walk walk(r->outputs[0]);
    for (int32_t k = 0; k < count; ++k) walk.add(r->outputs[0]);
    LongSum::Part part{{}, begin, end};
    const Element element =
        element_of(program_of_sum(count, end == n ? dtype : total), summands.data(), count);
    const std::string error = part.kernel.prepare(device_of(r), element, walk);
    if (!error.empty()) return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", error.c_str());
    plan->parts.push_back(std::move(part));
  }
  const double elements = double(hr_elements(r->outputs[0]));
  r->flops = elements * n;
  r->bytes_moved = elements * double(hr_dtype_size(dtype)) * (n + 1);
  r->compute = compute_long_sum;
  return HR_OK;
}

hr_code compute_sum_of_lists(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                             hr_tensor* const* out, void*) {
  return add_lists(ctx, int32_t(reinterpret_cast<intptr_t>(plan)), in, out[0]);
}

hr_code prepare_sum_of_lists(void*, hr_request* r) {
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_inputs));
  return hr_shape_merge(r);
}

#define NUMBERS "T=" HR_FLOATS "|int64"

}  // namespace

HR_KERNELS = {
    kernel("AddN", NUMBERS, prepare_sum).reuses(0),
    kernel("AddN", "T=variant", prepare_sum_of_lists, compute_sum_of_lists),
    kernel("AccumulateNV2", NUMBERS, prepare_sum).reuses(0),
};

}  // namespace hr::cl
