#include "codegen/variable_update.hpp"

#include <algorithm>

#include "codegen/element.hpp"
#include "codegen/row_order.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/slots.hpp"

namespace hr::cl {
namespace {

constexpr int kMostValues = 4;  // a variable and its slots
constexpr size_t kGroup = 256;

struct UpdatePlan {
  const Kernel* kernel;
  UpdateInputs inputs;
  int n_values;
  std::vector<int32_t> scalars;
  Sequence sort;  // before the kernel, if the indices are sorted
  bool sorted = false;
  RowOrder order;
};

hr_code check_shapes(hr_ctx* ctx, const UpdatePlan& p, const hr_tensor* values,
                     const hr_tensor* const* in) {
  const hr_tensor &var = values[0], *grad = in[p.inputs.gradient];
  for (int i = 1; i < p.n_values; ++i)
    if (!same_shape(&values[i], &var))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "variable is %s, its slot %d is %s",
                         ShapeText(&var).text, i, ShapeText(&values[i]).text);
  if (p.inputs.indices < 0) {
    if (same_shape(&var, grad)) return HR_OK;
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "variable is %s, gradient is %s",
                       ShapeText(&var).text, ShapeText(grad).text);
  }
  // Updates [indices..., row...], or a number for all.
  const hr_tensor* indices = in[p.inputs.indices];
  const bool fits = var.rank >= 1 &&
                    (grad->rank == 0 ||
                     (grad->rank == indices->rank + var.rank - 1 &&
                      std::equal(indices->dims, indices->dims + indices->rank, grad->dims) &&
                      std::equal(var.dims + 1, var.dims + var.rank, grad->dims + indices->rank)));
  if (fits) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "rows do not fit: variable is %s, gradient is %s, indices is %s",
                     ShapeText(&var).text, ShapeText(grad).text, ShapeText(indices).text);
}

hr_code compute_update(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  const auto& p = *static_cast<const UpdatePlan*>(plan);
  const hr_tensor* grad = in[p.inputs.gradient];
  // Committed as soon as the work is enqueued: what reads the variable later runs later.
  WriteSlots<kMostValues> variables(ctx, in, grad->dtype, p.n_values);
  if (variables.code) return variables.code;
  if (hr_code code = check_shapes(ctx, p, variables.values, in)) return code;
  const hr_tensor* indices = p.inputs.indices < 0 ? nullptr : in[p.inputs.indices];
  const UpdateGrid w = update_grid(device_of(ctx).traits, variables.values[0], indices, p.sorted);
  if (hr_code code = p.sort.run(ctx, in, out, workspace)) return code;
  Argument arguments[24];
  int n = 0;
  for (int i = 0; i < p.n_values; ++i) arguments[n++] = argument(Out{variables.values[i].data});
  arguments[n++] = argument(In{grad->data});
  const auto* work = static_cast<const char*>(workspace);
  if (p.sorted) {
    arguments[n++] = argument(In{work + p.order.rows.offset});
    arguments[n++] = argument(In{work + p.order.numbers.offset});
  } else if (indices) {
    arguments[n++] = argument(In{indices->data});
  }
  for (const int32_t scalar : p.scalars) arguments[n++] = argument(In{in[scalar]->data});
  for (const int64_t* size : {&w.n, &w.rows, &w.inner, &w.per_item})
    arguments[n++] = argument(*size);
  return launch_arguments(ctx, *p.kernel, w.grid, arguments, n);
}

}  // namespace

UpdateGrid update_grid(const Traits& traits, const hr_tensor& var, const hr_tensor* indices,
                       bool sorted) {
  const int64_t items = 4 * int64_t(traits.compute_units);
  UpdateGrid w{{}, hr_elements(&var), 1, 1, 1};
  if (!indices) {
    if (!traits.is_cpu) {
      w.grid = Grid::of(size_t(w.n), kGroup);
      return w;
    }
    w.per_item = std::max<int64_t>(16384, (w.n + items - 1) / items);
    w.grid = Grid::of(size_t((w.n + w.per_item - 1) / w.per_item), 1);
    return w;
  }
  w.n = hr_elements(indices);
  w.rows = var.dims[0];
  w.inner = product(var.dims, 1, var.rank);
  if (w.n == 0 || w.inner == 0) {
    w.grid = Grid::of(0, 1);
  } else if (sorted) {
    // Drivers may count the items of a grid in 31 bits.
    constexpr int64_t kMostItems = int64_t(1) << 30;
    while (w.per_item < std::min<int64_t>(w.inner, UpdateText::kSortedRow) &&
           w.n * w.per_item < kMostItems)
      w.per_item *= 2;
    w.grid = Grid::of(size_t(w.n * w.per_item), UpdateText::kRowGroup);
  } else if (!traits.is_cpu) {
    w.grid = Grid::of(size_t(w.n) * UpdateText::kRowGroup, UpdateText::kRowGroup);
  } else {
    // Each item reads all indices: few updates are done by one, and short rows by few.
    const int64_t most = w.inner < 16 ? int64_t(traits.compute_units) : items;
    const int64_t shares = w.n * w.inner < 32768 ? 1 : std::min(most, w.rows);
    w.per_item = std::max<int64_t>(1, (w.rows + shares - 1) / shares);
    w.grid = Grid::of(size_t((w.rows + w.per_item - 1) / w.per_item), 1);
  }
  return w;
}

hr_code plan_update(hr_request* r, const UpdateRule& rule, const UpdateInputs& inputs) {
  UpdateText update;
  update.rule = &rule;
  update.dtype = r->inputs[inputs.gradient]->dtype;
  UpdatePlan plan{nullptr, inputs, int(rule.values.size()), {}, {}};
  if (const char* why = why_not(device_of(r), update.dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  for (int32_t i = plan.n_values; i < r->node->n_inputs; ++i) {
    if (i == inputs.gradient || i == inputs.indices) continue;
    if (hr_elements(r->inputs[i]) != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "input %d must be a scalar: it is %s", int(i),
                             ShapeText(r->inputs[i]).text);
    plan.scalars.push_back(i);
    update.scalars.push_back(r->inputs[i]->dtype);
  }
  if (inputs.indices >= 0) {
    update.indices = r->inputs[inputs.indices]->dtype;
    update.one_gradient = r->inputs[inputs.gradient]->rank == 0;
  }
  if (r->node->n_outputs) {
    // The shape of a reference may be unknown until it is written.
    r->outputs[0]->rank = -1;
    if (r->inputs[0]->rank >= 0) copy_shape(r->inputs[0], r->outputs[0]);
  }
  std::string error;
  const int64_t n = inputs.indices < 0 ? 0 : hr_elements(r->inputs[inputs.indices]);
  update.sorted = plan.sorted = sorts_rows(device_of(r).traits, n);
  if (plan.sorted && !add_row_order(device_of(r), update.indices, Place::input(inputs.indices), n,
                                    &plan.sort, &plan.order, &error))
    return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  plan.kernel =
      generated_kernel(device_of(r), update.text(device_of(r).traits.is_cpu), "", "update", &error);
  if (!plan.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  r->workspace = size_t(plan.sort.workspace());
  keep_plan(r, new UpdatePlan(std::move(plan)));
  r->compute = compute_update;
  return HR_OK;
}

}  // namespace hr::cl
