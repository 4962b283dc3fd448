// Chooses among variants of the same work by timing them, once for each device, driver and class of
// shapes. Results are kept in the cache folder, beside the programs.
//
// $HEADRACE_OPENCL_TUNING says when: "on" measures what is not known; "kept" takes what an earlier
// process measured; "off" takes the first variant, the built-in choice. The default is "on" for
// GPUs and "kept" for CPUs, on which building the variants takes longer than most of them save.
// $HEADRACE_OPENCL_DETERMINISTIC=1 is "off": variants add up in different orders.
#ifndef HEADRACE_OPENCL_TUNING_TUNER_HPP
#define HEADRACE_OPENCL_TUNING_TUNER_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/kernel.h"
#include "launch/sequence.hpp"

namespace hr::cl {

// A variant of some work: appends its steps, over inputs 0.. and output 0.
struct Variant {
  std::string name;  // that results are kept under
  std::function<hr_code(Sequence*)> add;
};

// Work on tensors of float.
struct TunedWork {
  std::string name;  // of the work, its element type and what else divides shapes into classes
  std::vector<int64_t> sizes;        // which the class of shapes is made of
  std::vector<int64_t> input_bytes;  // of the operands
  int64_t output_bytes;
};

// Returns the number of the variant to take.
size_t choose_variant(hr_request* request, const TunedWork& work,
                      const std::vector<Variant>& variants);

}  // namespace hr::cl

#endif
