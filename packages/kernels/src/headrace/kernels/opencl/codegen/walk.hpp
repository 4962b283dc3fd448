// Several operands under one shape: the shape's dimensions, and each operand's strides there.
#ifndef HEADRACE_OPENCL_CODEGEN_WALK_HPP
#define HEADRACE_OPENCL_CODEGEN_WALK_HPP

#include <array>
#include <vector>

#include "headrace/kernel.h"

namespace hr::cl {

constexpr int32_t kMostWalkDims = 3 * HR_MAX_RANK;

// Strides are in elements; 0 repeats the operand along a dimension.
struct Walk {
  using Strides = std::array<int64_t, kMostWalkDims>;
  int32_t rank = 0;
  std::array<int64_t, kMostWalkDims> dims;
  std::vector<Strides> strides;  // by operand
  std::vector<int64_t> begins;   // where each operand's first element is; may be shorter: 0

  Walk() = default;
  explicit Walk(const hr_tensor* shape);

  // An operand that broadcasts to the shape.
  void add(const hr_tensor* operand);
  // Drops dimensions of 1, and merges those that every operand walks in one go.
  void collapse();

  int64_t inner() const { return rank ? dims[size_t(rank) - 1] : 1; }
  int64_t elements() const;
  // Whether an operand is as the shape, element by element; or one element.
  bool is_whole(size_t operand) const;
  bool is_one(size_t operand) const;
  int64_t begin(size_t operand) const { return operand < begins.size() ? begins[operand] : 0; }
  // Whether the operand needs its strides.
  bool is_strided(size_t operand) const { return !is_whole(operand) && !is_one(operand); }
  int64_t inner_stride(size_t operand) const {
    return rank ? strides[operand][size_t(rank) - 1] : 0;
  }
};

// Row-major strides; returns the number of elements.
int64_t row_major(int32_t rank, const int64_t* dims, int64_t* strides);

}  // namespace hr::cl

#endif
