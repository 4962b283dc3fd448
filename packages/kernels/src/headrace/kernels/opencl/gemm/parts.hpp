// Sums that are cut into parts, which several work-groups make and another launch adds up.
#ifndef HEADRACE_OPENCL_GEMM_PARTS_HPP
#define HEADRACE_OPENCL_GEMM_PARTS_HPP

#include <algorithm>
#include <cstdint>

#include "device/device.hpp"
#include "gemm/element.hpp"
#include "gemm/epilogue_step.hpp"
#include "launch/sequence.hpp"

namespace hr::cl {

// The work-groups of so many items that keep all of a device at work.
inline int64_t wanted_groups(const Device& device, int64_t items) {
  constexpr int64_t kItems = 2 * 256;  // of a processor of a GPU
  return device.traits.compute_units * (device.traits.is_cpu ? 1 : kItems / items);
}

// Into how many parts sums of k elements are cut, so that `groups` work-groups become as many as
// are wanted. A part has `least` elements at least.
inline int64_t parts_of(int64_t wanted, int64_t groups, int64_t k, int64_t least) {
  return std::max<int64_t>(1, std::min(wanted / std::max<int64_t>(groups, 1), k / least));
}

// [products][count][size], of real, to add up to [products][size].
struct PartialSums {
  Place parts, sums;
  int64_t size, count;
  int64_t products = 1;
  EpilogueStep epilogue{};  // of rows of `columns` sums; for GPUs
  int64_t columns = 1;
};

hr_code add_sum_of_parts(hr_request* request, const GemmElement& element,
                         const PartialSums& partial, Sequence* sequence);

}  // namespace hr::cl

#endif
