// Counts values: Bincount and HistogramFixedWidth.
#include <algorithm>
#include <cmath>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

// ---- counts
// ------------------------------------------------------------------------------------------

template <class T> void add_count(hr_tensor* out, int64_t at, const hr_tensor* weights, int64_t i) {
  T& bin = write<T>(out)[at];
  bin = hr_elements(weights) ? T(bin + read<T>(weights)[i]) : T(bin + 1);
}

hr_code count(hr_tensor* out, int64_t at, const hr_tensor* weights, int64_t i) {
  switch (out->dtype) {
    case HR_INT32: add_count<int32_t>(out, at, weights, i); break;
    case HR_INT64: add_count<int64_t>(out, at, weights, i); break;
    case HR_FLOAT: add_count<float>(out, at, weights, i); break;
    default: add_count<double>(out, at, weights, i); break;
  }
  return HR_OK;
}

struct CountPlan {
  int64_t rows, n, bins;
  bool binary;
};

hr_code compute_bincount(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const CountPlan*>(plan_);
  zero_polled(ctx, out[0]);
  for (int64_t i = 0, n = p.rows * p.n; i < n; ++i) {
    poll_at(ctx, i);
    const int64_t value = int_at(in[0], i);
    if (value < 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Input arr must be non-negative! Found %lld",
                         (long long)value);
    if (value >= p.bins) continue;
    const int64_t at = i / p.n * p.bins + value;
    if (!p.binary) {
      count(out[0], at, in[2], i);
      continue;
    }
    static const int32_t one32 = 1;
    static const int64_t one64 = 1;
    static const float onef = 1;
    static const double oned = 1;
    const void* one = out[0]->dtype == HR_INT32   ? static_cast<const void*>(&one32)
                      : out[0]->dtype == HR_INT64 ? static_cast<const void*>(&one64)
                      : out[0]->dtype == HR_FLOAT ? static_cast<const void*>(&onef)
                                                  : static_cast<const void*>(&oned);
    const int64_t size = hr_dtype_size(out[0]->dtype);
    std::memcpy(write<char>(out[0]) + at * size, one, size_t(size));
  }
  return HR_OK;
}

hr_code prepare_bincount(void*, hr_request* r) {
  const bool dense = r->node->op[0] == 'D';
  if (dense) HR_APPLY_RULE(dense_bincount, r);
  else HR_APPLY_RULE(bincount, r);
  const hr_tensor *x = r->inputs[0], *w = r->inputs[2];
  if (hr_elements(w) && hr_elements(w) != hr_elements(x))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "weights are %s, the input is %s",
                           (const char*)ShapeText(w), (const char*)ShapeText(x));
  const bool matrix = dense && x->rank == 2;
  const int64_t rows = matrix ? x->dims[0] : 1;
  keep_plan(r, new CountPlan{rows, matrix ? x->dims[1] : hr_elements(x), int_at(r->inputs[1], 0),
                             hr_attr_bool(r->node, "binary_output", 0) != 0});
  r->compute = compute_bincount;
  return HR_OK;
}

template <class T>
hr_code compute_histogram(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const T low = read<T>(in[1])[0], high = read<T>(in[1])[1];
  if (!(low < high))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "value_range should satisfy value_range[0] < value_range[1], but got "
                       "[%g, %g]",
                       double(low), double(high));
  std::memset(out[0]->data, 0, size_t(out[0]->bytes));
  const int64_t bins = out[0]->dims[0];
  const double step = (double(high) - double(low)) / double(bins);
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    const double place = std::floor((double(read<T>(in[0])[i]) - double(low)) / step);
    const int64_t at = place > 0 ? int64_t(std::min(place, double(bins - 1))) : 0;
    if (out[0]->dtype == HR_INT32) ++write<int32_t>(out[0])[at];
    else ++write<int64_t>(out[0])[at];
  }
  return HR_OK;
}

hr_code prepare_histogram(void*, hr_request* r) {
  HR_APPLY_RULE(histogram_fixed_width, r);
  if (hr_elements(r->inputs[1]) != 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "value_range must have 2 elements, is %s",
                           (const char*)ShapeText(r->inputs[1]));
  if (r->outputs[0]->dims[0] < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "nbins should be a positive number, but got %lld",
                           (long long)r->outputs[0]->dims[0]);
  r->compute =
      with_type(r->inputs[0]->dtype, Join<WideFloats, Indices>{},
                [](auto t) -> hr_compute { return compute_histogram<typename decltype(t)::type>; });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Bincount", nullptr, prepare_bincount).constant(1),
    kernel("DenseBincount", nullptr, prepare_bincount).constant(1),
    kernel("HistogramFixedWidth", nullptr, prepare_histogram).constant(2),
};

}  // namespace hr
