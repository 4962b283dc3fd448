// One launch of a reduction.
#ifndef HEADRACE_OPENCL_CODEGEN_REDUCTION_STAGE_HPP
#define HEADRACE_OPENCL_CODEGEN_REDUCTION_STAGE_HPP

#include "codegen/reduction.hpp"
#include "launch/launch.hpp"

namespace hr::cl {

struct ReductionStage {
  const Kernel* kernel;
  Grid grid;
  std::vector<Memory> memory;
  std::vector<int64_t> wide_sizes;
  std::vector<int32_t> sizes;  // used where it is not empty
};

}  // namespace hr::cl

#endif
