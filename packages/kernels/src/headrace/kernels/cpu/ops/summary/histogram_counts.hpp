// Counts values in the buckets that TensorBoard expects of a histogram.
#ifndef HEADRACE_CPU_SUMMARY_HISTOGRAM_COUNTS_HPP
#define HEADRACE_CPU_SUMMARY_HISTOGRAM_COUNTS_HPP

#include <limits>
#include <vector>

#include "files/protobuf_writer.hpp"

namespace hr::summary {

class HistogramCounts {
 public:
  HistogramCounts();
  void count(double value);
  protobuf::Message message() const;  // HistogramProto

 private:
  const std::vector<double>& ends_;
  std::vector<double> counts_;
  std::vector<size_t> first_;
  double least_ = std::numeric_limits<double>::max();
  double most_ = -std::numeric_limits<double>::max();
  double n_ = 0, sum_ = 0, squares_ = 0;

  void fill(std::vector<double>* ends, std::vector<double>* counts) const;
};

}  // namespace hr::summary

#endif
