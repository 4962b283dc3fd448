// HistogramSummary, with the bucket limits that TensorBoard expects.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/summary/summary_message.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

using protobuf::Message;

constexpr double kGreatest = std::numeric_limits<double>::max();

// Right ends of the buckets: powers of 1.1 from 1e-12 to 1e20, mirrored about 0.
const std::vector<double>& limits() {
  static const std::vector<double> all = [] {
    std::vector<double> positive;
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push_back(edge);
    positive.push_back(kGreatest);
    std::vector<double> both;
    for (size_t i = positive.size(); i-- > 0;) both.push_back(-positive[i]);
    both.push_back(0);
    both.insert(both.end(), positive.begin(), positive.end());
    return both;
  }();
  return all;
}

// Which bucket a value falls into: the first whose end lies above it. A table of the binary
// exponents leads near it: a tensor of parameters is large.
class Buckets {
 public:
  Buckets() : ends_(limits()), counts_(ends_.size(), 0.0), first_(4096) {
    for (int key = 0; key < 4096; ++key) {
      const int exponent = key % 2048 - 1023;
      // No value of this sign and exponent is less; the exponent of zero is the lowest.
      double least = -std::ldexp(2.0, exponent);
      if (key < 2048) least = key ? std::ldexp(1.0, exponent) : 0.0;
      first_[key] = std::upper_bound(ends_.begin(), ends_.end(), least) - ends_.begin();
    }
  }

  void count(double value) {
    size_t at = first_[protobuf::bits_of(value) >> 52];
    while (at + 1 < ends_.size() && !(ends_[at] > value)) ++at;
    counts_[at] += 1;
  }

  // Those that hold something; a run of empty ones is one, which ends where the next begins.
  void fill(std::vector<double>* ends, std::vector<double>* counts) const {
    for (size_t i = 0; i < ends_.size();) {
      double end = ends_[i], count = counts_[i];
      ++i;
      while (count <= 0 && i < ends_.size() && counts_[i] <= 0) end = ends_[i++];
      ends->push_back(end);
      counts->push_back(count);
    }
  }

 private:
  const std::vector<double>& ends_;
  std::vector<double> counts_;
  std::vector<size_t> first_;
};

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
  Buckets buckets;
  double least = kGreatest, most = -kGreatest, sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double value = double(Compute<T>(values[i]));
    least = std::min(least, value);
    most = std::max(most, value);
    sum = i ? sum + value : value;
    squares += value * value;
    buckets.count(value);
  }
  std::vector<double> ends, counts;
  buckets.fill(&ends, &counts);
  summary::Summary created;
  created.add(Message()
                  .text(summary::kTag, tag)
                  .always(summary::kHisto, Message()
                                               .real(1, least)
                                               .real(2, most)
                                               .real(3, double(n))
                                               .real(4, sum)
                                               .real(5, squares)
                                               .packed(6, ends)
                                               .packed(7, counts)));
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
