// Local response normalisation over channels, and its gradient.
#include <algorithm>
#include <memory>

#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "launch/sequence.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"

namespace hr::cl {
namespace {

constexpr int64_t kMostInt = INT32_MAX;

template <bool gradient> hr_code prepare_lrn(void*, hr_request* r) {
  for (int i = 0; i < r->node->n_inputs; ++i) {
    if (r->inputs[i]->rank != 4 || !same_shape(r->inputs[i], r->inputs[0]))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "inputs must have one shape of 4 dimensions: %s and %s",
                             ShapeText(r->inputs[0]).text, ShapeText(r->inputs[i]).text);
  }
  copy_shape(r->inputs[0], r->outputs[0]);
  Device& device = device_of(r);
  const hr_dtype dtype = r->inputs[0]->dtype;
  if (const char* why = why_not(device, dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  const int64_t n = r->inputs[0]->dims[3], pixels = product(r->inputs[0]->dims, 0, 3);
  auto sequence = std::make_unique<Sequence>();
  if (n == 0 || pixels == 0) return run_sequence(r, std::move(sequence));
  if (n > kMostInt || pixels > kMostInt)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s of %s: a dimension has too many elements",
                           r->node->op, ShapeText(r->inputs[0]).text);
  const int32_t radius =
      int32_t(std::clamp<int64_t>(hr_attr_int(r->node, "depth_radius", 5), 0, n));
  const float bias = hr_attr_float(r->node, "bias", 1), alpha = hr_attr_float(r->node, "alpha", 1),
              beta = hr_attr_float(r->node, "beta", 0.5f);
  const int quarters = beta == 0.5f ? 2 : beta == 0.75f ? 3 : beta == 1.0f ? 4 : 0;
  const std::string defines = value_option(dtype) + " -DBETA=" + std::to_string(quarters);
  const bool cpu = device.traits.is_cpu;
  // Enough blocks for all cores to end together, and few enough that scratch stays in the cache.
  const int64_t per_item = cpu ? (pixels - 1) / (8 * device.traits.compute_units) + 1 : 1;
  const int64_t blocks = (pixels - 1) / per_item + 1;
  const Grid grid = cpu ? Grid::of(size_t(blocks), 1) : Grid::of(size_t(pixels * n), 64);
  std::string error;
  const Kernel* kernel =
      find_kernel(device, "lrn.cl", defines, gradient ? "lrn_gradient" : "lrn", &error);
  const Kernel* forward =
      gradient && !cpu ? find_kernel(device, "lrn.cl", defines, "lrn", &error) : kernel;
  if (!kernel || !forward) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  Sequence* s = sequence.get();
  const Place scratch =
      s->reserve((cpu ? blocks * (gradient ? 3 : 2) : pixels) * n * int64_t(sizeof(float)));
  auto add = [&](const Kernel& of, auto... tensors) {
    s->add(of, grid, tensors..., scratch, int32_t(pixels), int32_t(per_item), int32_t(n), radius,
           bias, alpha, beta);
  };
  if constexpr (gradient) {
    // The norms come first, with a y that dx replaces.
    if (!cpu) add(*forward, Place::input(1), Place::output(0));
    add(*kernel, Place::input(0), Place::input(1), Place::input(2), Place::output(0));
  } else {
    add(*kernel, Place::input(0), Place::output(0));
  }
  return run_sequence(r, std::move(sequence));
}

}  // namespace

HR_KERNELS = {
    kernel("LRN", "T=float|half|bfloat16", prepare_lrn<false>),
    kernel("LRNGrad", "T=float|half|bfloat16", prepare_lrn<true>),
};

}  // namespace hr::cl
