// Sums, products, extremes and means over some dimensions.
#include "codegen/fold_text.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

hr_code read_axes(hr_request* r, bool* reduced) {
  const hr_tensor *x = r->inputs[0], *axes = r->inputs[1];
  for (int64_t i = 0, n = hr_elements(axes); i < n; ++i) {
    const int64_t attribute = int_at(axes, i), axis = axis_of(attribute, x->rank);
    if (axis < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                             (long long)attribute, int(x->rank));
    if (reduced[axis])
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is given twice", (long long)axis);
    reduced[axis] = true;
  }
  return HR_OK;
}

hr_code prepare_reduce(void*, hr_request* r) {
  HR_APPLY_RULE(reduce, r);
  const hr_tensor* x = r->inputs[0];
  hr_tensor* y = r->outputs[0];
  bool reduced[HR_MAX_RANK] = {};
  if (hr_code code = read_axes(r, reduced)) return code;
  const bool keep = hr_attr_bool(r->node, "keep_dims", 0);
  y->rank = 0;
  for (int32_t d = 0; d < x->rank; ++d)
    if (!reduced[d] || keep) y->dims[y->rank++] = reduced[d] ? 1 : x->dims[d];
  return plan_fold(r, r->node->op, reduced);
}

#define NUMBERS "T=" HR_FLOATS "|int64"

constexpr KernelRegistration reduction(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_reduce).constant(1);
}

}  // namespace

HR_KERNELS = {
    reduction("Sum", NUMBERS),  reduction("Mean", NUMBERS),
    reduction("Prod", NUMBERS), reduction("Max", NUMBERS),
    reduction("Min", NUMBERS),  reduction("EuclideanNorm", "T=" HR_FLOATS),
    reduction("All", nullptr),  reduction("Any", nullptr),
};

}  // namespace hr::cl
