// The text of reduction kernels, for processors of the host and for GPUs.
#ifndef HEADRACE_OPENCL_CODEGEN_REDUCTION_TEXT_HPP
#define HEADRACE_OPENCL_CODEGEN_REDUCTION_TEXT_HPP

#include <string>

#include "codegen/reduction.hpp"

namespace hr::cl {

// Columns that an item of a CPU device at most, or a work-group of a GPU, folds side by side.
constexpr int64_t kCpuColumns = 512, kGpuColumns = 32, kGpuRows = 8;
constexpr int64_t kGpuGroup = 256;

// The kernel "reduce". Sizes, as longs or ints: kept, reduced, inner, segments, segment, per_item,
// folded (elements of a result), number, kept_dims, kept_strides, reduced_dims, reduced_strides.
// Each result's elements are cut into segments, of so many elements (rows with one reduced run, and
// all rows of a GPU) or reduced rows; `per_item` results are folded by an item of a CPU device. A
// GPU gives each result of rows `group` items: 1, 32 or kGpuGroup; of columns 1, or kGpuRows.
// Result k of segment s is number k * segments + s of rows, s * results + k of columns.
std::string reduction_text(const Folding& folding, const Runs& runs, bool cpu, int64_t group,
                           bool wide);

}  // namespace hr::cl

#endif
