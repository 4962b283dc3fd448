#include "codegen/elementwise.hpp"

#include <algorithm>
#include <cstdlib>

#include "codegen/elementwise_text.hpp"
#include "codegen/op_program.hpp"
#include "library/registration.hpp"

namespace hr::cl {
namespace {

constexpr size_t kGroup = 256;         // items of a work-group of a GPU
constexpr int64_t kFewest = 16 << 10;  // elements for an item of a CPU device
constexpr size_t kMostOperands = 80;

std::vector<int64_t> with_walk(std::vector<int64_t> sizes, const Walk& walk) {
  bool strided = false;
  for (size_t k = 0; k < walk.strides.size(); ++k) strided = strided || walk.is_strided(k);
  if (!strided || walk.rank == 0) return sizes;
  sizes.insert(sizes.end(), walk.dims.begin(), walk.dims.begin() + walk.rank);
  for (size_t k = 0; k < walk.strides.size(); ++k) sizes.push_back(walk.begin(k));
  for (const Walk::Strides& strides : walk.strides)
    sizes.insert(sizes.end(), strides.begin(), strides.begin() + walk.rank);
  return sizes;
}

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whether rows of four elements lie together in every operand, and none needs longs as offsets.
void look_at_strides(const Walk& walk, bool* quads, bool* wide) {
  *wide = !is_narrow(walk.elements());
  *quads = walk.inner() % 4 == 0;
  for (size_t k = 0; k < walk.strides.size(); ++k) {
    const int64_t step = walk.inner_stride(k);
    *quads = *quads && (step == 0 || step == 1);
    int64_t end = walk.begin(k) + 1;
    if (step) *quads = *quads && walk.begin(k) % 4 == 0;
    for (size_t d = 0; d < size_t(walk.rank); ++d) {
      end += std::abs(walk.strides[k][d]) * (walk.dims[d] - 1);
      // A row of an operand that moves along it begins at a quad.
      if (step && d + 1 < size_t(walk.rank)) *quads = *quads && walk.strides[k][d] % 4 == 0;
    }
    *wide = *wide || end >= int64_t(1) << 31;
  }
}

}  // namespace

Argument ElementwiseKernel::Shape::argument() const {
  if (!narrow.empty()) return {Argument::kValue, narrow.size() * sizeof(int32_t), narrow.data()};
  return {Argument::kValue, wide.size() * sizeof(int64_t), wide.data()};
}

std::string ElementwiseKernel::for_cpu(const Traits& traits, const Element& element,
                                       const Walk& walk) {
  const int64_t n = walk.elements(), inner = walk.inner(), rows = n / inner;
  const int64_t share = std::max(kFewest, divided(n, 8 * traits.compute_units));
  // A row is cut where one alone is more than a share.
  const int64_t pieces = rows == 1 || inner >= 2 * share ? std::max<int64_t>(1, inner / share) : 1;
  const int64_t piece = divided(divided(inner, pieces), 64) * 64;
  const int64_t rows_per_item = pieces > 1 ? 1 : std::max<int64_t>(1, share / inner);
  shape_.grid = Grid::of(size_t(divided(rows, rows_per_item) * divided(inner, piece)), 1);
  shape_.wide = with_walk({rows, inner, rows_per_item, divided(inner, piece), piece}, walk);
  return cpu_elementwise_text(element, walk);
}

std::string ElementwiseKernel::for_gpu(const Element& element, const Walk& walk) {
  bool quads, wide;
  look_at_strides(walk, &quads, &wide);
  const auto shaped = [&](int lanes) {
    const int64_t items = walk.elements() / lanes;
    Shape shape{Grid::of(size_t(items), kGroup), with_walk({items, walk.inner()}, walk), {}};
    if (!wide) {
      shape.narrow.assign(shape.wide.begin(), shape.wide.end());
      shape.wide.clear();
    }
    return shape;
  };
  shape_ = shaped(quads ? 4 : 1);
  if (quads) {
    size_t widest = size_t(hr_dtype_size(element.output));
    for (const hr_dtype dtype : element.inputs)
      widest = std::max(widest, size_t(hr_dtype_size(dtype)));
    alignment_ = 4 * widest;
    unaligned_text_ = gpu_elementwise_text(element, walk, 1, wide);
    unaligned_ = shaped(1);
  }
  return gpu_elementwise_text(element, walk, quads ? 4 : 1, wide);
}

std::string ElementwiseKernel::prepare(Device& device, const Element& element, Walk walk) {
  for (const hr_dtype dtype : element.inputs)
    if (const char* why = why_not(device, dtype)) return why;
  if (const char* why = why_not(device, element.output)) return why;
  inputs_ = element.inputs.size();
  if (inputs_ + 2 > kMostOperands) return "a kernel cannot have that many operands";
  walk.collapse();
  const std::string text =
      device.traits.is_cpu ? for_cpu(device.traits, element, walk) : for_gpu(element, walk);
  std::string error;
  kernel_ = generated_kernel(device, text, "", "elementwise", &error);
  return error;
}

hr_code ElementwiseKernel::launch(hr_ctx* ctx, const void* const* inputs, void* output) const {
  Argument arguments[kMostOperands];
  uintptr_t places = reinterpret_cast<uintptr_t>(output);
  size_t n = 0;
  for (; n < inputs_; ++n) {
    arguments[n] = argument(In{inputs[n]});
    places |= reinterpret_cast<uintptr_t>(inputs[n]);
  }
  arguments[n++] = argument(Out{output});
  if (alignment_ == 0 || places % alignment_ == 0) {
    arguments[n++] = shape_.argument();
    return launch_arguments(ctx, *kernel_, shape_.grid, arguments, int(n));
  }
  std::string error;
  const Kernel* kernel =
      generated_kernel(device_of(ctx), unaligned_text_, "", "elementwise", &error);
  if (!kernel) return hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.c_str());
  arguments[n++] = unaligned_.argument();
  return launch_arguments(ctx, *kernel, unaligned_.grid, arguments, int(n));
}

// ---- as the only kernel of an op ----------------------------------------------------------------

namespace {

struct ElementwisePlan {
  ElementwiseKernel kernel;
  std::vector<int32_t> inputs;
};

hr_code compute_elementwise(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const ElementwisePlan*>(plan_);
  const void* inputs[kMostOperands];
  for (size_t k = 0; k < plan.inputs.size(); ++k) inputs[k] = in[plan.inputs[k]]->data;
  return plan.kernel.launch(ctx, inputs, out[0]->data);
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

}  // namespace

hr_code plan_elementwise(hr_request* r, const Element& element, const Walk& walk,
                         const std::vector<int32_t>& inputs) {
  const int64_t n = hr_elements(r->outputs[0]);
  if (n == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  auto* plan = keep_plan(r, new ElementwisePlan);
  plan->inputs = inputs;
  const std::string error = plan->kernel.prepare(device_of(r), element, walk);
  if (!error.empty()) return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", error.c_str());
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

hr_code plan_instruction(hr_request* r) {
  return plan_elementwise(
      r, element_of(program_of_op(r->node), r->node->input_dtypes, r->node->n_inputs));
}

}  // namespace hr::cl
