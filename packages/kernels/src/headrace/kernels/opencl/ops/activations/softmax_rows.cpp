#include "ops/activations/softmax_rows.hpp"

#include <algorithm>

#include "codegen/element.hpp"
#include "launch/sequence.hpp"
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

std::string defines_of(hr_request* r, SoftmaxWay way) {
  std::string defines = "-DWAY=" + std::to_string(way) + value_option(r->inputs[0]->dtype);
  if (way == kSparse) defines += std::string(" -DINDEX=") + storage_type(r->inputs[1]->dtype);
  return defines;
}

// Of softmax_parts.cl and softmax_short.cl.
constexpr int64_t kPartGroup = 256, kShortGroup = 64, kShortest = 32;

// How many parts each row is cut into on a GPU, where there are too few rows to fill it.
int64_t parts_of(const Traits& traits, const SoftmaxRows& rows) {
  constexpr int64_t kLeast = 4096;  // classes of a part
  if (traits.is_cpu || int64_t(traits.max_work_group) < kPartGroup) return 1;
  if (rows.rows >= 2 * int64_t(traits.compute_units)) return 1;
  const int64_t wanted = 8 * int64_t(traits.compute_units) / rows.rows;
  return std::clamp<int64_t>(std::min(wanted, rows.n / kLeast), 1, kPartGroup);
}

bool fits_short_rows(const Traits& traits, const SoftmaxRows& rows, hr_dtype dtype) {
  const int64_t size = dtype == HR_DOUBLE ? 8 : 4, copies = rows.way == kDense ? 2 : 1;
  return !traits.is_cpu && rows.n <= kShortest && int64_t(traits.max_work_group) >= kShortGroup &&
         kShortGroup * (kShortest + 1) * size * copies <= int64_t(traits.local_memory);
}

hr_code plan_parts(hr_request* r, const SoftmaxRows& rows, int64_t parts) {
  Device& device = device_of(r);
  const int64_t length = (rows.n + parts - 1) / parts, groups = rows.rows * parts;
  const std::string defines = defines_of(r, rows.way) + " -DGROUP=" + std::to_string(kPartGroup);
  const auto find = [&](const char* function, std::string* error) {
    return find_kernel(device, "softmax_parts.cl", defines, function, error);
  };
  std::string error;
  const Kernel* fold = find("fold_parts", &error);
  const Kernel* write = fold ? find("write_parts", &error) : nullptr;
  if (!write) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  auto to = std::make_unique<Sequence>();
  const Grid grid = Grid::of(size_t(groups * kPartGroup), size_t(kPartGroup));
  const Place x = Place::input(0), labels = Place::input(1), first = Place::output(0),
              second = Place::output(1), known = to->reserve(groups * 4 * 8);
  const auto add = [&](const Kernel* kernel, const auto&... places) {
    to->add(*kernel, grid, places..., rows.n, parts, length, rows.x_row, rows.x_step,
            rows.labels_row, rows.labels_step);
  };
  if (rows.way == kDense) add(fold, x, labels, known);
  else add(fold, x, known);
  if (rows.way >= kDense) add(write, x, labels, first, second, known);
  else add(write, x, first, known);
  return run_sequence(r, std::move(to));
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
  if (const int64_t parts = parts_of(device.traits, rows); parts > 1)
    return plan_parts(r, rows, parts);
  std::string defines = defines_of(r, rows.way);
  const char* source = "softmax.cl";
  if (device.traits.is_cpu) {
    const int64_t share =
        std::max<int64_t>(4096 / rows.n, rows.rows / (8 * device.traits.compute_units));
    plan.per_item = std::max<int64_t>(1, share);
    plan.grid = Grid::of(size_t((rows.rows + plan.per_item - 1) / plan.per_item), 1);
  } else if (fits_short_rows(device.traits, rows, dtype)) {
    source = "softmax_short.cl";
    plan.grid = Grid::of(size_t(rows.rows), size_t(kShortGroup));
  } else {
    const int64_t group = rows.n <= 64 ? 32 : rows.n <= 512 ? 64 : 256;
    defines += " -DGROUP=" + std::to_string(group);
    plan.per_item = 1;
    plan.grid = Grid::of(size_t(std::min<int64_t>(rows.rows, 1 << 20) * group), size_t(group));
  }
  std::string error;
  plan.kernel = find_kernel(device, source, defines, "softmax", &error);
  if (!plan.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new SoftmaxPlan(plan));
  r->compute = compute_softmax;
  return HR_OK;
}

}  // namespace hr::cl
