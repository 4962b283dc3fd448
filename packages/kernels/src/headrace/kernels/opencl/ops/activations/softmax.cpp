// Softmax and LogSoftmax over the last dimension.

#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "ops/activations/softmax_rows.hpp"

namespace hr::cl {
namespace {

template <SoftmaxWay way> hr_code prepare_softmax(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  if (x->rank < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "logits must have at least 1 dimension: logits is %s",
                           ShapeText(x).text);
  HR_APPLY_RULE(softmax, r);
  SoftmaxRows rows{};
  rows.way = way;
  rows.n = rows.x_row = x->dims[x->rank - 1];
  rows.rows = product(x->dims, 0, x->rank - 1);
  rows.x_step = 1;
  return plan_softmax(r, rows);
}

}  // namespace

HR_KERNELS = {
    kernel("Softmax", "T=" HR_FLOATS, prepare_softmax<kSoftmax>).reuses(0),
    kernel("LogSoftmax", "T=" HR_FLOATS, prepare_softmax<kLogSoftmax>).reuses(0),
};

}  // namespace hr::cl
