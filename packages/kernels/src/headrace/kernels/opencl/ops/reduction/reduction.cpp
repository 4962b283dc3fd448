// Sums, products, extremes and means over some dimensions.
#include <algorithm>

#include "library/attributes.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "ops/reduction/fold_text.hpp"
#include "text/element.hpp"

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

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

hr_code plan_fold(hr_request* r, const bool* reduced, std::string_view op) {
  const hr_tensor* x = r->inputs[0];
  if (const char* why = why_not(device_of(r), x->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  const int64_t results = hr_elements(r->outputs[0]);
  if (results == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  Runs runs = runs_of(x->rank, x->dims, reduced);
  if (hr_elements(x) == 0) {
    runs = Runs{};
    runs.inner = 0;
    runs.kept = results;
  }
  r->bytes_moved = double((hr_elements(x) + results) * hr_dtype_size(x->dtype));
  return plan_reduction(r, fold_of_input(device_of(r), op, x->dtype), runs);
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
  return plan_fold(r, reduced, r->node->op);
}

hr_code prepare_l2_loss(void*, hr_request* r) {
  HR_APPLY_RULE(scalar, r);
  bool reduced[HR_MAX_RANK];
  std::fill_n(reduced, HR_MAX_RANK, true);
  return plan_fold(r, reduced, "L2Loss");
}

// The sum over all dimensions but the channels'.
hr_code prepare_bias_grad(void*, hr_request* r) {
  HR_APPLY_RULE(bias_add_grad, r);
  const hr_tensor* x = r->inputs[0];
  if (x->rank < 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "a bias needs a value of rank 2 or more: value is %s",
                           (const char*)ShapeText(x));
  bool reduced[HR_MAX_RANK];
  std::fill_n(reduced, HR_MAX_RANK, true);
  reduced[attr_text(r->node, "data_format", "NHWC") == "NCHW" ? 1 : x->rank - 1] = false;
  return plan_fold(r, reduced, "Sum");
}

#define NUMBERS "T=" HR_FLOATS "|int64"

constexpr KernelRegistration reduction(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_reduce).constant(1);
}

}  // namespace

HR_KERNELS = {
    reduction("Sum", NUMBERS),
    reduction("Mean", NUMBERS),
    reduction("Prod", NUMBERS),
    reduction("Max", NUMBERS),
    reduction("Min", NUMBERS),
    reduction("EuclideanNorm", "T=" HR_FLOATS),
    reduction("All", nullptr),
    reduction("Any", nullptr),
    kernel("L2Loss", "T=" HR_FLOATS, prepare_l2_loss),
    kernel("BiasAddGrad", "T=" HR_FLOATS "|int64", prepare_bias_grad),
};

}  // namespace hr::cl
