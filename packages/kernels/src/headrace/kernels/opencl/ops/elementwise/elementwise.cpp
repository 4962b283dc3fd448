#include "ops/elementwise/elementwise.hpp"

#include <algorithm>
#include <mutex>

#include "launch/launch.hpp"
#include "library/registration.hpp"
#include "ops/elementwise/elementwise_text.hpp"

namespace hr::cl {
namespace {

constexpr size_t kGroup = 256;            // items of a work-group of a GPU
constexpr int64_t kFewest = 16 << 10;     // elements for an item of a CPU device
constexpr size_t kMostOperands = 80;

struct ElementwisePlan {
  const Kernel* kernel = nullptr;
  Grid grid;
  std::vector<int32_t> inputs;
  std::vector<int64_t> wide_sizes;
  std::vector<int32_t> sizes;  // used where it is not empty
  // Of kernels that load quads: for memory that is not aligned for them, one element by item.
  size_t alignment = 0;
  std::string unaligned_text;
  Grid unaligned_grid;
  std::vector<int64_t> unaligned_wide_sizes;
  std::vector<int32_t> unaligned_sizes;
};

Argument sizes_argument(const std::vector<int32_t>& narrow, const std::vector<int64_t>& wide) {
  if (!narrow.empty()) return {Argument::kValue, narrow.size() * sizeof(int32_t), narrow.data()};
  return {Argument::kValue, wide.size() * sizeof(int64_t), wide.data()};
}

hr_code compute_elementwise(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const ElementwisePlan*>(plan_);
  Argument arguments[kMostOperands];
  size_t n = 0, misaligned = 0;
  for (const int32_t input : plan.inputs) {
    arguments[n++] = argument(In{in[input]->data});
    misaligned |= reinterpret_cast<uintptr_t>(in[input]->data);
  }
  arguments[n++] = argument(Out{out[0]->data});
  misaligned |= reinterpret_cast<uintptr_t>(out[0]->data);
  if (plan.alignment && misaligned % plan.alignment) {
    std::string error;
    const Kernel* kernel =
        generated_kernel(device_of(ctx), plan.unaligned_text, "", "elementwise", &error);
    if (!kernel) return hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.c_str());
    arguments[n++] = sizes_argument(plan.unaligned_sizes, plan.unaligned_wide_sizes);
    return launch_arguments(ctx, *kernel, plan.unaligned_grid, arguments, int(n));
  }
  arguments[n++] = sizes_argument(plan.sizes, plan.wide_sizes);
  return launch_arguments(ctx, *plan.kernel, plan.grid, arguments, int(n));
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

std::vector<int64_t> with_walk(std::vector<int64_t> sizes, const Walk& walk) {
  if (walk.rank > 1) {
    sizes.insert(sizes.end(), walk.dims.begin(), walk.dims.begin() + walk.rank);
    for (const Walk::Strides& strides : walk.strides)
      sizes.insert(sizes.end(), strides.begin(), strides.begin() + walk.rank);
  }
  return sizes;
}

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string plan_for_cpu(const Device& device, const Element& element, const Walk& walk,
                         ElementwisePlan* plan) {
  const int64_t n = walk.elements(), inner = walk.inner(), rows = n / inner;
  const int64_t share = std::max(kFewest, divided(n, 8 * device.traits.compute_units));
  // A row is cut where one alone is more than a share.
  const int64_t pieces = rows == 1 || inner >= 2 * share ? std::max<int64_t>(1, inner / share) : 1;
  const int64_t piece = divided(divided(inner, pieces), 64) * 64;
  const int64_t rows_per_item = pieces > 1 ? 1 : std::max<int64_t>(1, share / inner);
  const int64_t items = divided(rows, rows_per_item) * divided(inner, piece);
  plan->grid = Grid::of(size_t(items), 1);
  plan->wide_sizes =
      with_walk({rows, inner, rows_per_item, divided(inner, piece), piece}, walk);
  return cpu_elementwise_text(element, walk);
}

std::vector<int64_t> gpu_sizes(const Walk& walk, int lanes) {
  return with_walk({walk.elements() / lanes, walk.inner()}, walk);
}

void narrow(std::vector<int64_t>* wide, std::vector<int32_t>* narrow) {
  narrow->assign(wide->begin(), wide->end());
  wide->clear();
}

std::string plan_for_gpu(const Element& element, const Walk& walk, ElementwisePlan* plan) {
  const int64_t n = walk.elements();
  bool wide = n >= int64_t(1) << 31, quads = walk.inner() % 4 == 0;
  for (size_t k = 0; k < walk.strides.size(); ++k) {
    const int64_t step = walk.inner_stride(k);
    quads = quads && (step == 0 || step == 1);
    int64_t end = 1;
    for (size_t d = 0; d < size_t(walk.rank); ++d) {
      end += walk.strides[k][d] * (walk.dims[d] - 1);
      // A row of an operand that moves along it begins at a quad.
      if (step && d + 1 < size_t(walk.rank)) quads = quads && walk.strides[k][d] % 4 == 0;
    }
    wide = wide || end >= int64_t(1) << 31;
  }
  const int lanes = quads ? 4 : 1;
  plan->grid = Grid::of(size_t(n / lanes), kGroup);
  plan->wide_sizes = gpu_sizes(walk, lanes);
  if (!wide) narrow(&plan->wide_sizes, &plan->sizes);
  if (quads) {
    size_t widest = size_t(hr_dtype_size(element.output));
    for (const hr_dtype dtype : element.inputs)
      widest = std::max(widest, size_t(hr_dtype_size(dtype)));
    plan->alignment = 4 * widest;
    plan->unaligned_text = gpu_elementwise_text(element, walk, 1, wide);
    plan->unaligned_grid = Grid::of(size_t(n), kGroup);
    plan->unaligned_wide_sizes = gpu_sizes(walk, 1);
    if (!wide) narrow(&plan->unaligned_wide_sizes, &plan->unaligned_sizes);
  }
  return gpu_elementwise_text(element, walk, lanes, wide);
}

}  // namespace

hr_code plan_elementwise(hr_request* r, const Element& element, Walk walk,
                         const std::vector<int32_t>& inputs) {
  const Device& device = device_of(r);
  for (const hr_dtype dtype : element.inputs)
    if (const char* why = why_not(device, dtype)) return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  if (const char* why = why_not(device, element.output))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  if (inputs.size() + 2 > kMostOperands)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "more than %d operands", int(kMostOperands));
  const int64_t n = hr_elements(r->outputs[0]);
  if (n == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  walk.collapse();
  auto* plan = keep_plan(r, new ElementwisePlan);
  plan->inputs = inputs;
  const std::string text = device.traits.is_cpu ? plan_for_cpu(device, element, walk, plan)
                                                : plan_for_gpu(element, walk, plan);
  std::string error;
  plan->kernel = generated_kernel(device_of(r), text, "", "elementwise", &error);
  if (!plan->kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  r->compute = compute_elementwise;
  r->flops = double(n);
  r->bytes_moved = double(n * hr_dtype_size(element.output));
  for (const int32_t i : inputs)
    r->bytes_moved += double(hr_elements(r->inputs[i]) * hr_dtype_size(r->inputs[i]->dtype));
  return HR_OK;
}

hr_code plan_elementwise(hr_request* r, const Element& element) {
  Walk walk(r->outputs[0]);
  std::vector<int32_t> inputs;
  for (int32_t i = 0; i < r->node->n_inputs; ++i) {
    walk.add(r->inputs[i]);
    inputs.push_back(i);
  }
  return plan_elementwise(r, element, walk, inputs);
}

}  // namespace hr::cl
