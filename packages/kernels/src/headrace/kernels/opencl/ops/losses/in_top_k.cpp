// InTopK: whether the target's prediction is among the k largest.
#include <algorithm>

#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"

namespace hr::cl {
namespace {

struct TopPlan {
  const Kernel* kernel;
  int64_t k;      // -1: input 2, in host memory
  int64_t group;  // items for each row
};

hr_code compute_in_top_k(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const TopPlan*>(plan);
  const int64_t rows = in[0]->dims[0], n = in[0]->dims[1], k = p.k < 0 ? int_at(in[2], 0) : p.k;
  return launch(ctx, *p.kernel, Grid::of(size_t(rows * p.group), size_t(p.group)), In{in[0]->data},
                In{in[1]->data}, Out{out[0]->data}, rows, n, k);
}

hr_code prepare_in_top_k(void*, hr_request* r) {
  HR_APPLY_RULE(in_top_k, r);
  const bool by_input = r->node->n_inputs == 3;
  if (by_input)
    if (hr_code code = need_scalar(r, 2, "k")) return code;
  const Traits& traits = device_of(r).traits;
  int64_t group = 1;
  if (!traits.is_cpu) {
    group = std::min<int64_t>(r->inputs[0]->dims[1] <= 512 ? 32 : 256, traits.max_work_group);
    while (group & (group - 1)) group &= group - 1;  // a power of two
  }
  std::string error;
  const Kernel* kernel = find_kernel(
      device_of(r), "in_top_k.cl",
      std::string("-DI=") + storage_type(r->inputs[1]->dtype) + " -DGROUP=" + std::to_string(group),
      "in_top_k", &error);
  if (!kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new TopPlan{kernel, by_input ? -1 : hr_attr_int(r->node, "k", 1), group});
  r->compute = compute_in_top_k;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("InTopK", nullptr, prepare_in_top_k),
    kernel("InTopKV2", nullptr, prepare_in_top_k).host(2),
};

}  // namespace hr::cl
