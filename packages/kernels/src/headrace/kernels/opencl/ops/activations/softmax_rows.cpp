#include "ops/activations/softmax_rows.hpp"

#include <algorithm>

#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"

namespace hr::cl {
namespace {

struct SoftmaxPlan {
  const Kernel* kernel;
  Grid grid;
  SoftmaxRows rows;
  int64_t per_item;
};

hr_code compute_softmax(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const SoftmaxPlan*>(plan);
  if (p.rows.way < kDense)
    return launch(ctx, *p.kernel, p.grid, In{in[0]->data}, Out{out[0]->data}, p.rows.rows, p.rows.n,
                  p.per_item, p.rows.x_row, p.rows.x_step, p.rows.labels_row, p.rows.labels_step);
  return launch(ctx, *p.kernel, p.grid, In{in[0]->data}, In{in[1]->data}, Out{out[0]->data},
                Out{out[1]->data}, p.rows.rows, p.rows.n, p.per_item, p.rows.x_row, p.rows.x_step,
                p.rows.labels_row, p.rows.labels_step);
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

}  // namespace

hr_code plan_softmax(hr_request* r, const SoftmaxRows& rows) {
  SoftmaxPlan plan{nullptr, {}, rows, 1};
  const hr_dtype dtype = r->inputs[0]->dtype;
  Device& device = device_of(r);
  if (const char* why = why_not(device, dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  if (rows.rows == 0 || rows.n == 0) {
    r->compute = rows.rows && rows.way >= kDense ? compute_no_classes : compute_nothing;
    return HR_OK;
  }
  std::string defines = "-DWAY=" + std::to_string(rows.way) + value_option(dtype);
  if (rows.way == kSparse) defines += std::string(" -DINDEX=") + storage_type(r->inputs[1]->dtype);
  if (device.traits.is_cpu) {
    const int64_t share =
        std::max<int64_t>(4096 / rows.n, rows.rows / (8 * device.traits.compute_units));
    plan.per_item = std::max<int64_t>(1, share);
    plan.grid = Grid::of(size_t((rows.rows + plan.per_item - 1) / plan.per_item), 1);
  } else {
    const int64_t group = rows.n <= 64 ? 32 : rows.n <= 512 ? 64 : 256;
    defines += " -DGROUP=" + std::to_string(group);
    plan.per_item = 1;
    plan.grid = Grid::of(size_t(std::min<int64_t>(rows.rows, 1 << 20) * group), size_t(group));
  }
  std::string error;
  plan.kernel = find_kernel(device, "softmax.cl", defines, "softmax", &error);
  if (!plan.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new SoftmaxPlan(plan));
  r->compute = compute_softmax;
  return HR_OK;
}

}  // namespace hr::cl
