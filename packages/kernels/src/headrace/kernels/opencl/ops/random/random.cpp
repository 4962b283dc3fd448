// Random ops: uniform, normal and truncated normal, with the CPU library's streams.
#include <algorithm>

#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "library/constraints.hpp"
#include "library/random/random_state.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

enum Way { kUniform, kNormal, kTruncated };  // as in sources/random.cl

constexpr size_t kGroup = 256;

struct RandomPlan {
  const Kernel* kernel;
  Grid grid;
  int64_t n, per_item;
};

hr_code draw(hr_ctx* ctx, const RandomPlan& p, const Philox& from, const hr_tensor* out) {
  if (p.n == 0) return HR_OK;
  return launch(ctx, *p.kernel, p.grid, Out{out->data}, from.place(), uint64_t(p.n),
                uint64_t(p.per_item));
}

hr_code compute_stateful(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const*,
                         hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const RandomPlan*>(plan);
  return draw(ctx, p, static_cast<RandomState*>(state)->reserve(uint64_t(p.n) * kReservedBlocks),
              out[0]);
}

hr_code compute_stateless(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  return draw(ctx, *static_cast<const RandomPlan*>(plan), stateless_stream(in[1]), out[0]);
}

template <Way way, bool stateless> hr_code prepare_fill(void*, hr_request* r) {
  HR_APPLY_RULE(shape_from_input_0, r);
  if (stateless && (r->inputs[1]->rank != 1 || r->inputs[1]->dims[0] != 2))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "seed must be two numbers: seed is %s",
                           ShapeText(r->inputs[1]).text);
  const hr_dtype dtype = r->outputs[0]->dtype;
  Device& device = device_of(r);
  if (const char* why = why_not(device, dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  RandomPlan plan{};
  plan.n = hr_elements(r->outputs[0]);
  const int64_t per_block = dtype == HR_DOUBLE ? 2 : 4;
  const int64_t blocks = (plan.n + per_block - 1) / per_block;
  plan.per_item = 1;
  if (device.traits.is_cpu)
    plan.per_item =
        std::max<int64_t>(2048, (blocks / (8 * device.traits.compute_units) + 64) / 64 * 64);
  plan.grid = Grid::of(size_t((blocks + plan.per_item - 1) / plan.per_item),
                       device.traits.is_cpu ? 1 : kGroup);
  std::string error;
  plan.kernel = find_kernel(device, "random.cl",
                            "-DWAY=" + std::to_string(way) + value_option(dtype), "random", &error);
  if (!plan.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new RandomPlan(plan));
  r->compute = stateless ? compute_stateless : compute_stateful;
  return HR_OK;
}

template <Way way> constexpr KernelRegistration stateful(const char* op) {
  return kernel(op, "dtype=" HR_FLOATS, prepare_fill<way, false>)
      .constant(0)
      .with_state(make_random_state, end_random_state);
}
// The seed is read by the host.
template <Way way> constexpr KernelRegistration stateless(const char* op) {
  return kernel(op, "dtype=" HR_FLOATS, prepare_fill<way, true>).constant(0).host(1);
}

}  // namespace

HR_KERNELS = {
    stateful<kUniform>("RandomUniform"),         stateful<kNormal>("RandomStandardNormal"),
    stateful<kTruncated>("TruncatedNormal"),     stateless<kUniform>("StatelessRandomUniform"),
    stateless<kNormal>("StatelessRandomNormal"), stateless<kTruncated>("StatelessTruncatedNormal"),
};

}  // namespace hr::cl
