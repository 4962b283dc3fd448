// OneHot.
#include <algorithm>

#include "codegen/copied_types.hpp"
#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

struct OneHotPlan {
  const Kernel* kernel;
  Grid grid;
  int64_t n, depth, inner, per_item;
  bool wide;  // numbers of elements are 64-bit
};

template <class Index>
hr_code launch_one_hot(hr_ctx* ctx, const OneHotPlan& p, const hr_tensor* const* in,
                       hr_tensor* const* out) {
  return launch(ctx, *p.kernel, p.grid, In{in[0]->data}, In{in[2]->data}, In{in[3]->data},
                Out{out[0]->data}, Index(p.n), Index(p.depth), Index(p.inner), Index(p.per_item));
}

hr_code compute_one_hot(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const OneHotPlan*>(plan);
  if (p.n == 0) return HR_OK;
  return p.wide ? launch_one_hot<int64_t>(ctx, p, in, out)
                : launch_one_hot<int32_t>(ctx, p, in, out);
}

hr_code prepare_one_hot(void*, hr_request* r) {
  HR_APPLY_RULE(one_hot, r);
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  const int64_t axis = axis_of(hr_attr_int(r->node, "axis", -1), y->rank);
  OneHotPlan p{};
  p.n = hr_elements(y);
  p.depth = int_at(r->inputs[1], 0);
  p.inner = std::max<int64_t>(1, product(x->dims, int32_t(axis), x->rank));
  const Traits& traits = device_of(r).traits;
  p.per_item = traits.is_cpu ? std::max<int64_t>(8192, p.n / (8 * traits.compute_units)) : 1;
  p.wide = traits.is_cpu || !is_narrow(p.n);  // GPUs divide 64-bit numbers slowly
  p.grid = Grid::of(size_t((p.n + p.per_item - 1) / p.per_item), traits.is_cpu ? 1 : 256);
  std::string error;
  p.kernel = find_kernel(device_of(r), "gather.cl",
                         std::string(p.wide ? "-DIndex=long -DE=" : "-DIndex=int -DE=") +
                             storage_type(copied_as(y->dtype)) + " -DI=" + storage_type(x->dtype),
                         "one_hot", &error);
  if (!p.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new OneHotPlan(p));
  r->compute = compute_one_hot;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("OneHot", "T=" HR_COPIED ";TI=uint8|int32|int64", prepare_one_hot).constant(1),
};

}  // namespace hr::cl
