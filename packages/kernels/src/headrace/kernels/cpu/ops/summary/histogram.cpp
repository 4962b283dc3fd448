// HistogramSummary.
#include <cmath>

#include "ops/summary/histogram_counts.hpp"
#include "ops/summary/summary_message.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

using protobuf::Message;

template <class T>
hr_code compute_histogram(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  const std::string_view tag = text_at(inputs[0], 0);
  const T* values = read<T>(inputs[1]);
  const int64_t n = hr_elements(inputs[1]);
  if constexpr (is_real_float<T>) {
    bool nan = false, infinite = false;
    for (int64_t i = 0; i < n; ++i) {
      nan |= std::isnan(double(Compute<T>(values[i])));
      infinite |= std::isinf(double(Compute<T>(values[i])));
    }
    if (nan || infinite)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s in summary histogram for: %.*s",
                         nan ? "Nan" : "Infinity", int(tag.size()), tag.data());
  }
  summary::HistogramCounts counts;
  for (int64_t i = 0; i < n; ++i) counts.count(double(Compute<T>(values[i])));
  summary::Summary created;
  created.add(Message().text(summary::kTag, tag).always(summary::kHisto, counts.message()));
  return created.give(ctx, outputs[0]);
}

hr_code prepare_histogram(void*, hr_request* r) {
  r->compute = with_type(r->inputs[1]->dtype, Reals{}, [](auto type) -> hr_compute {
    return compute_histogram<typename decltype(type)::type>;
  });
  return summary::prepare_tagged(r);
}

}  // namespace

HR_KERNELS = {
    kernel("HistogramSummary", "T=" HR_REALS, prepare_histogram),
};

}  // namespace hr
