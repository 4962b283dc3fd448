// StringJoin.
#include <memory>
#include <string>

#include "library/attributes.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"

namespace hr {
namespace {

struct JoinPlan {
  int32_t n;
  std::string separator;
};

hr_code compute_join(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  const auto& p = *static_cast<const JoinPlan*>(plan);
  std::string joined;
  for (int64_t i = 0, n = hr_elements(outputs[0]); i < n; ++i) {
    joined.clear();
    for (int32_t k = 0; k < p.n; ++k) {
      if (k) joined += p.separator;
      joined += text_at(inputs[k], inputs[k]->rank ? i : 0);
    }
    if (hr_code code = set_text(ctx, outputs[0], i, joined)) return code;
  }
  return HR_OK;
}

hr_code prepare_join(void*, hr_request* r) {
  if (r->node->n_inputs == 0) {
    set_shape(r->outputs[0], {});
  } else {
    HR_APPLY_RULE(merge_or_scalar, r);
  }
  keep_plan(r, new JoinPlan{r->node->n_inputs, std::string(attr_text(r->node, "separator"))});
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("StringJoin", nullptr, prepare_join, compute_join),
};

}  // namespace hr
