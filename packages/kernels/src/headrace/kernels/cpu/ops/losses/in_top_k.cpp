// InTopK: whether the target's prediction is among the k largest.
#include <cmath>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

hr_code compute_in_top_k(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const int64_t k = plan ? *static_cast<const int64_t*>(plan) : int_at(in[2], 0);
  const int64_t rows = in[0]->dims[0], n = in[0]->dims[1];
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = read<float>(in[0]) + r * n;
    const int64_t target = int_at(in[1], r);
    bool finite = target >= 0 && target < n && std::isfinite(x[target]);
    int64_t above = 0;
    for (int64_t i = 0; finite && i < n; ++i) {
      if (!std::isfinite(x[i])) finite = false;
      else above += x[i] > x[target];
    }
    write<bool>(out[0])[r] = finite && above < k;
  }
  return HR_OK;
}

hr_code prepare_in_top_k(void*, hr_request* r) {
  HR_APPLY_RULE(in_top_k, r);
  if (r->node->n_inputs == 3)
    if (hr_code code = need_scalar(r, 2, "k")) return code;
  if (r->node->n_inputs == 2) keep_plan(r, new int64_t(hr_attr_int(r->node, "k", 1)));
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("InTopK", nullptr, prepare_in_top_k, compute_in_top_k),
    kernel("InTopKV2", nullptr, prepare_in_top_k, compute_in_top_k),
};

}  // namespace hr
