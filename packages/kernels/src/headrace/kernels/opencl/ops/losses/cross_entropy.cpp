// Cross entropies of a softmax, with their gradients.
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "ops/activations/softmax_rows.hpp"

namespace hr::cl {
namespace {

// One row stands for all, one class for all classes.
void spread(const hr_tensor* t, int64_t rows, int64_t n, int64_t* row, int64_t* step) {
  const int64_t own_rows = t->rank == 2 ? t->dims[0] : 1;
  const int64_t classes = t->rank ? t->dims[t->rank - 1] : 1;
  *row = own_rows == 1 && rows != 1 ? 0 : classes;
  *step = classes == 1 && n != 1 ? 0 : 1;
}

hr_code prepare_dense(void*, hr_request* r) {
  HR_APPLY_RULE(softmax_cross_entropy, r);
  SoftmaxRows rows{};
  rows.way = kDense;
  rows.rows = r->outputs[1]->dims[0];
  rows.n = r->outputs[1]->dims[1];
  spread(r->inputs[0], rows.rows, rows.n, &rows.x_row, &rows.x_step);
  spread(r->inputs[1], rows.rows, rows.n, &rows.labels_row, &rows.labels_step);
  return plan_softmax(r, rows);
}

hr_code prepare_sparse(void*, hr_request* r) {
  HR_APPLY_RULE(sparse_softmax_cross_entropy, r);
  SoftmaxRows rows{};
  rows.way = kSparse;
  rows.rows = r->outputs[1]->dims[0];
  rows.n = rows.x_row = r->outputs[1]->dims[1];
  rows.x_step = 1;
  if (rows.n == 0 && rows.rows > 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "there must be a class: logits is %s",
                           ShapeText(r->inputs[0]).text);
  return plan_softmax(r, rows);
}

}  // namespace

HR_KERNELS = {
    kernel("SoftmaxCrossEntropyWithLogits", "T=" HR_FLOATS, prepare_dense),
    kernel("SparseSoftmaxCrossEntropyWithLogits", "T=" HR_FLOATS ";Tlabels=" HR_INDICES,
           prepare_sparse),
};

}  // namespace hr::cl
