// Which bucket a value falls into: the first whose end lies above it.
#include "ops/summary/histogram_counts.hpp"

#include <algorithm>
#include <cmath>

namespace hr::summary {
namespace {

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

}  // namespace

// A table of the binary exponents leads near the bucket: a tensor of parameters is large.
HistogramCounts::HistogramCounts() : ends_(limits()), counts_(ends_.size(), 0.0), first_(4096) {
  for (int key = 0; key < 4096; ++key) {
    const int exponent = key % 2048 - 1023;
    // No value of this sign and exponent is less; the exponent of zero is the lowest.
    double least = -std::ldexp(2.0, exponent);
    if (key < 2048) least = key ? std::ldexp(1.0, exponent) : 0.0;
    first_[key] = std::upper_bound(ends_.begin(), ends_.end(), least) - ends_.begin();
  }
}

void HistogramCounts::count(double value) {
  size_t at = first_[protobuf::bits_of(value) >> 52];
  while (at + 1 < ends_.size() && !(ends_[at] > value)) ++at;
  counts_[at] += 1;
  least_ = std::min(least_, value);
  most_ = std::max(most_, value);
  sum_ = n_ > 0 ? sum_ + value : value;
  squares_ += value * value;
  n_ += 1;
}

// Those that hold something; a run of empty ones is one, which ends where the next begins.
void HistogramCounts::fill(std::vector<double>* ends, std::vector<double>* counts) const {
  for (size_t i = 0; i < ends_.size();) {
    double end = ends_[i], count = counts_[i];
    ++i;
    while (count <= 0 && i < ends_.size() && counts_[i] <= 0) end = ends_[i++];
    ends->push_back(end);
    counts->push_back(count);
  }
}

protobuf::Message HistogramCounts::message() const {
  std::vector<double> ends, counts;
  fill(&ends, &counts);
  return protobuf::Message()
      .real(1, least_)
      .real(2, most_)
      .real(3, n_)
      .real(4, sum_)
      .real(5, squares_)
      .packed(6, ends)
      .packed(7, counts);
}

}  // namespace hr::summary
