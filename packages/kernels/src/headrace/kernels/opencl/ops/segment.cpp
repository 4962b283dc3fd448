// SegmentSum, ...Mean, ...Prod, ...Min, ...Max, and those of unsorted ids: rows folded by segment.
//
// The order of a fold is that of its rows: equal inputs give equal bits.
#include <algorithm>
#include <vector>

#include "codegen/element.hpp"
#include "codegen/row_order.hpp"
#include "codegen/variable_update.hpp"
#include "launch/sequence.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

struct Fold {
  const char* option;  // of segments.cl
  const char* step;    // of a row, as an update of the total
  // The same, before all rows: what the total of numbers begins with, where there is a row.
  const char* start = nullptr;
};

constexpr Fold kSum{"", "var += grad;"}, kMean{" -DMEAN=1", nullptr},
    kProd{" -DPRODUCT=1", "var *= grad;"},
    kMin{" -DMIN=1", "var = var != var ? var : (grad < var || grad != grad ? grad : var);",
         "var = INFINITY;"},
    kMax{" -DMAX=1", "var = var != var ? var : (var < grad || grad != grad ? grad : var);",
         "var = -INFINITY;"};

constexpr size_t kGroup = 64;

// Columns that an item folds side by side.
int64_t width_of(const Device& device, int64_t inner) {
  return device.traits.is_cpu && inner > 1 ? 64 : 1;
}

std::string options_of(const Device& device, const Fold& fold, hr_dtype dtype, int64_t inner) {
  return value_option(dtype) + fold.option + " -DWIDTH=" + std::to_string(width_of(device, inner));
}

// ---- unsorted ids, which the device alone reads -------------------------------------------------

// Changes the totals of the segments that rows name. from_rows: by the rows' values.
const Kernel* row_kernel(hr_request* r, const char* step, bool from_rows, bool sorted,
                         std::string* error) {
  const UpdateRule rule{{"var"}, {}, "", step};
  UpdateText update;
  update.one_gradient = !from_rows;
  update.sorted = sorted;
  update.rule = &rule;
  update.dtype = total_type(r->inputs[0]->dtype);
  update.gradient = r->inputs[0]->dtype;
  update.indices = r->inputs[1]->dtype;
  return generated_kernel(device_of(r), update.text(device_of(r).traits.is_cpu), "", "update",
                          error);
}

bool add_unsorted(hr_request* r, const Fold& fold, Sequence* to, std::string* error) {
  const hr_tensor *data = r->inputs[0], *ids = r->inputs[1], *y = r->outputs[0];
  const hr_dtype dtype = data->dtype, total = total_type(dtype);
  const int64_t all = hr_elements(y), inner = all / y->dims[0];
  const std::string options = options_of(device_of(r), fold, dtype, inner) + " -DUNSORTED=1";
  const auto find = [&](const char* function) {
    return find_kernel(device_of(r), "segments.cl", options, function, error);
  };
  const Place totals =
      total == dtype ? Place::output(0) : to->reserve(all * int64_t(hr_dtype_size(total)));
  const Kernel* blank = find("fill_blank");
  if (!blank) return false;
  to->add(*blank, Grid::of(size_t(all), kGroup), totals, all);
  hr_tensor segments = *y;  // [segments, elements of a row]
  segments.rank = 2;
  segments.dims[1] = inner;
  const bool sorted = sorts_rows(device_of(r).traits, hr_elements(ids));
  const UpdateGrid w = update_grid(device_of(r).traits, segments, ids, sorted);
  RowOrder order;
  if (sorted && !add_row_order(device_of(r), ids->dtype, Place::input(1), w.n, to, &order, error))
    return false;
  const auto add_rows = [&](const char* step, bool from_rows) {
    const Kernel* rows = row_kernel(r, step, from_rows, sorted, error);
    if (!rows) return false;
    const Place values = Place::input(0);
    if (sorted)
      to->add(*rows, w.grid, totals, values, order.rows, order.numbers, w.n, w.rows, w.inner,
              w.per_item);
    else to->add(*rows, w.grid, totals, values, Place::input(1), w.n, w.rows, w.inner, w.per_item);
    return true;
  };
  if (fold.start && dtype != HR_INT64 && !add_rows(fold.start, false)) return false;
  if (!add_rows(fold.step, true)) return false;
  if (total == dtype) return true;
  const Kernel* store = find("store_totals");
  if (store) to->add(*store, Grid::of(size_t(all), kGroup), totals, Place::output(0), all);
  return store != nullptr;
}

template <const Fold& fold> hr_code prepare_unsorted(void*, hr_request* r) {
  HR_APPLY_RULE(unsorted_segment, r);
  if (const char* why = why_not(device_of(r), r->inputs[0]->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  auto sequence = std::make_unique<Sequence>();
  std::string error;
  if (hr_elements(r->outputs[0]) && !add_unsorted(r, fold, sequence.get(), &error))
    return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  return run_sequence(r, std::move(sequence));
}

// ---- sorted ids, which are in host memory: the last decides the shape of the result -------------

struct SortedPlan {
  const Kernel* kernel;
  bool blank_is_one;
};

// As in segments.cl.
struct Run {
  int64_t id, begin;
};

// Returns the runs of equal ids, and their end.
std::vector<Run> runs_of(const hr_tensor* ids) {
  std::vector<Run> runs;
  const int64_t n = hr_elements(ids);
  for (int64_t i = 0; i < n; ++i)
    if (runs.empty() || int_at(ids, i) != runs.back().id) runs.push_back({int_at(ids, i), i});
  runs.push_back({-1, n});
  return runs;
}

hr_code fill_with_one(hr_ctx* ctx, const hr_tensor* y) {
  const int64_t integer = 1;
  const double wide = 1;
  const float narrow = 1;
  const uint16_t half = 0x3c00, bfloat16 = 0x3f80;
  const void* one = y->dtype == HR_INT64    ? static_cast<const void*>(&integer)
                    : y->dtype == HR_DOUBLE ? static_cast<const void*>(&wide)
                    : y->dtype == HR_FLOAT  ? static_cast<const void*>(&narrow)
                    : y->dtype == HR_HALF   ? &half
                                            : &bfloat16;
  return fill(ctx, Out{y->data}, one, size_t(hr_dtype_size(y->dtype)), y->bytes);
}

hr_code compute_sorted(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void* workspace) {
  const auto& p = *static_cast<const SortedPlan*>(plan);
  const int64_t n = hr_elements(in[1]);
  for (int64_t i = 0; i < n; ++i)
    if (int_at(in[1], i) < (i ? int_at(in[1], i - 1) : 0))
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "segment ids must be sorted and not negative: segment_ids[%lld] is not",
                         (long long)i);
  hr_tensor* y = out[0];
  copy_shape(in[0], y);
  y->dims[0] = n ? int_at(in[1], n - 1) + 1 : 0;
  if (hr_code code = ctx->api->allocate(ctx, y)) return code;
  if (y->bytes == 0) return HR_OK;
  const std::vector<Run> runs = runs_of(in[1]);
  const int64_t n_runs = int64_t(runs.size()) - 1, inner = hr_elements(y) / y->dims[0];
  if (n_runs < y->dims[0]) {
    const uint8_t zero = 0;
    const hr_code code =
        p.blank_is_one ? fill_with_one(ctx, y) : fill(ctx, Out{y->data}, &zero, 1, y->bytes);
    if (code) return code;
  }
  if (hr_code code = write(ctx, Out{workspace}, runs.data(), int64_t(runs.size() * sizeof(Run))))
    return code;
  const Traits& traits = device_of(ctx).traits;
  const int64_t width = width_of(device_of(ctx), inner),
                units = n_runs * ((inner + width - 1) / width);
  const int64_t per_item =
      traits.is_cpu ? std::max<int64_t>(1, units / (8 * int64_t(traits.compute_units))) : 1;
  const Grid grid = Grid::of(size_t((units + per_item - 1) / per_item), traits.is_cpu ? 1 : kGroup);
  return launch(ctx, *p.kernel, grid, In{in[0]->data}, In{workspace}, Out{y->data}, n_runs, inner,
                per_item);
}

template <const Fold& fold> hr_code prepare_sorted(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(segment, r);
  const hr_dtype dtype = r->inputs[0]->dtype;
  if (const char* why = why_not(device_of(r), dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  std::string error;
  const int64_t inner = product(r->inputs[0]->dims, 1, r->inputs[0]->rank);
  const Kernel* kernel =
      find_kernel(device_of(r), "segments.cl", options_of(device_of(r), fold, dtype, inner),
                  "fold_runs", &error);
  if (!kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new SortedPlan{kernel, &fold == &kProd});
  r->shape_depends_on_data = 1;
  r->workspace = size_t(hr_elements(r->inputs[1]) + 1) * sizeof(Run);
  r->compute = compute_sorted;
  return HR_OK;
}

#define TYPES "T=" HR_FLOATS "|int64;Tindices=" HR_INDICES

template <const Fold& fold> constexpr KernelRegistration unsorted(const char* op) {
  return kernel(op, TYPES, prepare_unsorted<fold>).constant(2);
}
template <const Fold& fold> constexpr KernelRegistration sorted(const char* op) {
  return kernel(op, TYPES, prepare_sorted<fold>).is(HR_KERNEL_DATA_SHAPE).host(1);
}

}  // namespace

HR_KERNELS = {
    unsorted<kSum>("UnsortedSegmentSum"), unsorted<kProd>("UnsortedSegmentProd"),
    unsorted<kMin>("UnsortedSegmentMin"), unsorted<kMax>("UnsortedSegmentMax"),
    sorted<kSum>("SegmentSum"),           sorted<kMean>("SegmentMean"),
    sorted<kProd>("SegmentProd"),         sorted<kMin>("SegmentMin"),
    sorted<kMax>("SegmentMax"),
};

}  // namespace hr::cl
