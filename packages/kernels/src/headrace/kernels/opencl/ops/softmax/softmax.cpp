// Softmax, LogSoftmax and the cross entropies of a softmax.
#include <algorithm>

#include "launch/launch.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "text/element.hpp"

namespace hr::cl {
namespace {

enum Way { kSoftmax, kLogSoftmax, kDense, kSparse };  // as in sources/softmax.cl

struct SoftmaxPlan {
  const Kernel* kernel;
  Grid grid;
  Way way;
  int64_t rows, n, per_item;
  int64_t x_row, x_step, labels_row, labels_step;
};

hr_code compute_softmax(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const SoftmaxPlan*>(plan);
  if (p.way < kDense)
    return launch(ctx, *p.kernel, p.grid, In{in[0]->data}, Out{out[0]->data}, p.rows, p.n,
                  p.per_item, p.x_row, p.x_step, p.labels_row, p.labels_step);
  return launch(ctx, *p.kernel, p.grid, In{in[0]->data}, In{in[1]->data}, Out{out[0]->data},
                Out{out[1]->data}, p.rows, p.n, p.per_item, p.x_row, p.x_step, p.labels_row,
                p.labels_step);
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

// Without classes the losses are 0.
hr_code compute_no_classes(hr_ctx* ctx, void*, void*, const hr_tensor* const*,
                           hr_tensor* const* out, void*) {
  const uint16_t zero = 0;
  return fill(ctx, Out{out[0]->data}, &zero, 2, out[0]->bytes);
}

hr_code plan_softmax(hr_request* r, SoftmaxPlan plan) {
  const hr_dtype dtype = r->inputs[0]->dtype;
  Device& device = device_of(r);
  if (const char* why = why_not(device, dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  if (plan.rows == 0 || plan.n == 0) {
    r->compute = plan.rows && plan.way >= kDense ? compute_no_classes : compute_nothing;
    return HR_OK;
  }
  std::string defines = "-DWAY=" + std::to_string(plan.way) + value_option(dtype);
  if (plan.way == kSparse) defines += std::string(" -DINDEX=") + storage_type(r->inputs[1]->dtype);
  if (device.traits.is_cpu) {
    const int64_t share =
        std::max<int64_t>(4096 / plan.n, plan.rows / (8 * device.traits.compute_units));
    plan.per_item = std::max<int64_t>(1, share);
    plan.grid = Grid::of(size_t((plan.rows + plan.per_item - 1) / plan.per_item), 1);
  } else {
    const int64_t group = plan.n <= 64 ? 32 : plan.n <= 512 ? 64 : 256;
    defines += " -DGROUP=" + std::to_string(group);
    plan.per_item = 1;
    plan.grid = Grid::of(size_t(std::min<int64_t>(plan.rows, 1 << 20) * group), size_t(group));
  }
  std::string error;
  plan.kernel = find_kernel(device, "softmax.cl", defines, "softmax", &error);
  if (!plan.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new SoftmaxPlan(plan));
  r->compute = compute_softmax;
  return HR_OK;
}

template <Way way> hr_code prepare_softmax(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  if (x->rank < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "logits must have at least 1 dimension: logits is %s",
                           ShapeText(x).text);
  HR_APPLY_RULE(softmax, r);
  SoftmaxPlan plan{};
  plan.way = way;
  plan.n = plan.x_row = x->dims[x->rank - 1];
  plan.rows = product(x->dims, 0, x->rank - 1);
  plan.x_step = 1;
  return plan_softmax(r, plan);
}

// One row stands for all, one class for all classes.
void spread(const hr_tensor* t, int64_t rows, int64_t n, int64_t* row, int64_t* step) {
  const int64_t own_rows = t->rank == 2 ? t->dims[0] : 1;
  const int64_t classes = t->rank ? t->dims[t->rank - 1] : 1;
  *row = own_rows == 1 && rows != 1 ? 0 : classes;
  *step = classes == 1 && n != 1 ? 0 : 1;
}

hr_code prepare_dense(void*, hr_request* r) {
  HR_APPLY_RULE(softmax_cross_entropy, r);
  SoftmaxPlan plan{};
  plan.way = kDense;
  plan.rows = r->outputs[1]->dims[0];
  plan.n = r->outputs[1]->dims[1];
  spread(r->inputs[0], plan.rows, plan.n, &plan.x_row, &plan.x_step);
  spread(r->inputs[1], plan.rows, plan.n, &plan.labels_row, &plan.labels_step);
  return plan_softmax(r, plan);
}

hr_code prepare_sparse(void*, hr_request* r) {
  HR_APPLY_RULE(sparse_softmax_cross_entropy, r);
  SoftmaxPlan plan{};
  plan.way = kSparse;
  plan.rows = r->outputs[1]->dims[0];
  plan.n = plan.x_row = r->outputs[1]->dims[1];
  plan.x_step = 1;
  if (plan.n == 0 && plan.rows > 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "there must be a class: logits is %s",
                           ShapeText(r->inputs[0]).text);
  return plan_softmax(r, plan);
}

}  // namespace

HR_KERNELS = {
    kernel("Softmax", "T=" HR_FLOATS, prepare_softmax<kSoftmax>).reuses(0),
    kernel("LogSoftmax", "T=" HR_FLOATS, prepare_softmax<kLogSoftmax>).reuses(0),
    kernel("SoftmaxCrossEntropyWithLogits", "T=" HR_FLOATS, prepare_dense),
    kernel("SparseSoftmaxCrossEntropyWithLogits", "T=" HR_FLOATS ";Tlabels=" HR_INDICES,
           prepare_sparse),
};

}  // namespace hr::cl
