// BiasAdd, which adds a vector over the channels, and its gradient.
#include <algorithm>

#include "codegen/elementwise.hpp"
#include "codegen/fold_text.hpp"
#include "codegen/op_program.hpp"
#include "library/attributes.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

hr_code prepare_bias_add(void*, hr_request* r) {
  HR_APPLY_RULE(bias_add, r);
  const hr_tensor* x = r->inputs[0];
  const bool first = attr_text(r->node, "data_format", "NHWC") == "NCHW";
  if (x->rank < (first ? 3 : 2))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           first ? "Shape must be at least rank 3 for NCHW but is rank %d"
                                 : "a bias needs a value of rank 2 or more, not %d",
                           int(x->rank));
  Walk walk(x);
  walk.add(x);
  Walk::Strides channels{};
  channels[size_t(first ? 1 : x->rank - 1)] = 1;
  walk.strides.push_back(channels);
  const hr_dtype inputs[] = {x->dtype, x->dtype};
  return plan_elementwise(r, element_of(program_of("Add", x->dtype), inputs, 2), walk, {0, 1});
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
  return plan_fold(r, "Sum", reduced);
}

}  // namespace

HR_KERNELS = {
    kernel("BiasAdd", "T=" HR_FLOATS "|int64", prepare_bias_add).reuses(0),
    kernel("BiasAddGrad", "T=" HR_FLOATS "|int64", prepare_bias_grad),
    kernel("BiasAddV1", "T=" HR_FLOATS "|int64", prepare_bias_add).reuses(0),
};

}  // namespace hr::cl
