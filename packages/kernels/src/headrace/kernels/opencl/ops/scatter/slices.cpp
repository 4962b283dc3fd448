// Updates of slices by indices of several coordinates: ScatterNd, TensorScatterAdd,
// ScatterNdUpdate, ResourceScatterNdAdd, ...
//
// Slices are numbered first, and then updated as rows, one after the other: equal inputs give equal
// bits. An index that is out of range changes nothing: the host cannot be told.
#include <algorithm>

#include "codegen/element.hpp"
#include "codegen/row_order.hpp"
#include "codegen/variable_update.hpp"
#include "launch/launch.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/slice_updates.hpp"
#include "library/slots.hpp"

namespace hr::cl {
namespace {

constexpr const char *kUpdate = "var = grad;", *kAdd = "var += grad;", *kSub = "var -= grad;",
                     *kMin = "var = var != var ? var : (grad < var || grad != grad ? grad : var);",
                     *kMax = "var = var != var ? var : (var < grad || grad != grad ? grad : var);";

// As in slices.cl, whose Dims has as many as an index has coordinates, and one more.
struct Dims {
  int64_t dims[HR_MAX_RANK + 1];
};

struct SlicesPlan {
  const Kernel *number, *update;
  int32_t depth;
  Place numbers{};  // of slices, by index
  Sequence sort;    // before the update, if the numbers are sorted
  bool sorted = false;
  RowOrder order;
};

hr_code check_fit(hr_ctx* ctx, const hr_tensor* target, const hr_tensor* indices,
                  const hr_tensor* updates, int32_t depth) {
  const bool fits = depth <= target->rank &&
                    (updates->rank == 0 ||
                     (updates->rank == indices->rank - 1 + target->rank - depth &&
                      std::equal(indices->dims, indices->dims + indices->rank - 1, updates->dims) &&
                      std::equal(target->dims + depth, target->dims + target->rank,
                                 updates->dims + indices->rank - 1)));
  if (fits) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "updates %s do not fit indices %s and shape %s",
                     (const char*)ShapeText(updates), (const char*)ShapeText(indices),
                     (const char*)ShapeText(target));
}

// Updates slices of `target`.
hr_code update_slices(hr_ctx* ctx, const SlicesPlan& p, const hr_tensor& target,
                      const hr_tensor* indices, const hr_tensor* updates, void* workspace) {
  if (hr_code code = check_fit(ctx, &target, indices, updates, p.depth)) return code;
  if (target.bytes == 0 || updates->bytes == 0) return HR_OK;
  constexpr size_t kGroup = 64;
  hr_tensor numbers{};
  numbers.rank = 1;
  numbers.dims[0] = product(indices->dims, 0, indices->rank - 1);
  if (numbers.dims[0] == 0) return HR_OK;
  Dims limits{};
  std::copy_n(target.dims, p.depth, limits.dims);
  const int64_t n = numbers.dims[0];
  const Out rows{static_cast<char*>(workspace) + p.numbers.offset};
  const Argument arguments[] = {argument(In{p.depth ? indices->data : workspace}),
                                argument(rows),
                                argument(n),
                                {Argument::kValue, sizeof(int64_t) * size_t(p.depth + 1), &limits}};
  if (hr_code code = launch_arguments(ctx, *p.number, Grid::of(size_t(n), kGroup), arguments, 4))
    return code;
  hr_tensor slices{};
  slices.rank = 2;
  slices.dims[0] = product(target.dims, 0, p.depth);
  slices.dims[1] = product(target.dims, p.depth, target.rank);
  const UpdateGrid w = update_grid(device_of(ctx).traits, slices, &numbers, p.sorted);
  const In updates_in{updates->data}, rows_in{rows.data};
  if (!p.sorted)
    return launch(ctx, *p.update, w.grid, Out{target.data}, updates_in, rows_in, w.n, w.rows,
                  w.inner, w.per_item);
  if (hr_code code = p.sort.run(ctx, nullptr, nullptr, workspace)) return code;
  const auto* work = static_cast<const char*>(workspace);
  return launch(ctx, *p.update, w.grid, Out{target.data}, updates_in,
                In{work + p.order.rows.offset}, In{work + p.order.numbers.offset}, w.n, w.rows,
                w.inner, w.per_item);
}

hr_code plan_slices(hr_request* r, const char* step, int indices_at, hr_compute compute) {
  const hr_tensor *indices = r->inputs[indices_at], *updates = r->inputs[indices_at + 1];
  if (const char* why = why_not(device_of(r), updates->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  const int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : HR_MAX_RANK + 1;
  if (depth > HR_MAX_RANK)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "indices %s do not fit any variable",
                           (const char*)ShapeText(indices));
  std::string error;
  SlicesPlan plan{nullptr, nullptr, int32_t(depth)};
  const int64_t n = product(indices->dims, 0, indices->rank - 1);
  plan.numbers = plan.sort.reserve(n * int64_t(sizeof(int64_t)) + 8);
  plan.number = find_kernel(
      device_of(r), "slices.cl",
      std::string("-DI=") + storage_type(indices->dtype) + " -DDEPTH=" + std::to_string(depth),
      "number_slices", &error);
  const UpdateRule rule{{"var"}, {}, "", step};
  UpdateText text;
  text.rule = &rule;
  text.dtype = updates->dtype;
  text.indices = HR_INT64;
  text.one_gradient = updates->rank == 0;
  text.sorted = plan.sorted = sorts_rows(device_of(r).traits, n);
  const bool found =
      plan.number && (!plan.sorted || add_row_order(device_of(r), text.indices, plan.numbers, n,
                                                    &plan.sort, &plan.order, &error));
  if (found)
    plan.update =
        generated_kernel(device_of(r), text.text(device_of(r).traits.is_cpu), "", "update", &error);
  if (!plan.update) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  r->workspace = size_t(plan.sort.workspace());
  keep_plan(r, new SlicesPlan(std::move(plan)));
  r->compute = compute;
  return HR_OK;
}

const SlicesPlan& plan_of(void* plan) { return *static_cast<const SlicesPlan*>(plan); }

// ---- variables ----------------------------------------------------------------------------------

hr_code compute_variable(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const*, void* workspace) {
  WriteSlots<1> variable(ctx, in, in[2]->dtype);
  if (variable.code) return variable.code;
  return update_slices(ctx, plan_of(plan), variable.values[0], in[1], in[2], workspace);
}

template <const char* const& step> hr_code prepare_variable(void*, hr_request* r) {
  if (r->node->n_outputs) {
    // The shape of a reference may be unknown until it is written.
    r->outputs[0]->rank = -1;
    if (r->inputs[0]->rank >= 0) copy_shape(r->inputs[0], r->outputs[0]);
  }
  return plan_slices(r, step, 1, compute_variable);
}

// ---- tensors ------------------------------------------------------------------------------------

hr_code compute_tensor(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  if (out[0]->data != in[0]->data && out[0]->bytes)
    if (hr_code code = copy(ctx, Out{out[0]->data}, In{in[0]->data}, out[0]->bytes)) return code;
  return update_slices(ctx, plan_of(plan), *out[0], in[1], in[2], workspace);
}

template <const char* const& step> hr_code prepare_tensor(void*, hr_request* r) {
  if (hr_code code = prepare_tensor_scatter(r)) return code;
  return plan_slices(r, step, 1, compute_tensor);
}

hr_code compute_new(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                    hr_tensor* const* out, void* workspace) {
  const uint8_t zero = 0;
  if (out[0]->bytes)
    if (hr_code code = fill(ctx, Out{out[0]->data}, &zero, 1, out[0]->bytes)) return code;
  return update_slices(ctx, plan_of(plan), *out[0], in[0], in[1], workspace);
}

hr_code prepare_new(void*, hr_request* r) {
  HR_APPLY_RULE(scatter_nd, r);
  return plan_slices(r, kAdd, 0, compute_new);
}

#define TYPES "T=" HR_FLOATS "|int64;Tindices=" HR_INDICES

template <const char* const& step> constexpr KernelRegistration variable(const char* op) {
  return kernel(op, TYPES, prepare_variable<step>);
}
template <const char* const& step> constexpr KernelRegistration tensor(const char* op) {
  return kernel(op, TYPES, prepare_tensor<step>).reuses(0);
}

}  // namespace

HR_KERNELS = {
    kernel("ScatterNd", TYPES, prepare_new).constant(2),
    tensor<kAdd>("ScatterNdNonAliasingAdd"),
    variable<kUpdate>("ScatterNdUpdate"),
    variable<kUpdate>("ResourceScatterNdUpdate"),
    tensor<kUpdate>("TensorScatterUpdate"),
    variable<kAdd>("ScatterNdAdd"),
    variable<kAdd>("ResourceScatterNdAdd"),
    tensor<kAdd>("TensorScatterAdd"),
    variable<kSub>("ScatterNdSub"),
    variable<kSub>("ResourceScatterNdSub"),
    tensor<kSub>("TensorScatterSub"),
    variable<kMin>("ScatterNdMin"),
    variable<kMin>("ResourceScatterNdMin"),
    tensor<kMin>("TensorScatterMin"),
    variable<kMax>("ScatterNdMax"),
    variable<kMax>("ResourceScatterNdMax"),
    tensor<kMax>("TensorScatterMax"),
};

}  // namespace hr::cl
