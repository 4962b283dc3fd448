// Resolves begin, end, strides and the five masks of a strided slice.
#ifndef HEADRACE_CPU_SLICING_STRIDED_SLICE_HPP
#define HEADRACE_CPU_SLICING_STRIDED_SLICE_HPP

#include "headrace/kernel.h"
#include "loops/strided_copy.hpp"

namespace hr {

struct SliceMasks {
  uint64_t begin, end, ellipsis, new_axis, shrink;
  explicit SliceMasks(const hr_node* node);
};

struct SliceSpec {
  int32_t rank = 0;  // of what is sliced
  int64_t begin[HR_MAX_RANK];
  int64_t stride[HR_MAX_RANK];
  int64_t length[HR_MAX_RANK];
  int32_t final_of[HR_MAX_RANK];  // the result's dimension for each of these; -1: shrunk
  int32_t final_rank = 0;         // of the result, with new axes and without shrunk ones
  int64_t final_dims[HR_MAX_RANK];
};

// Text of what is wrong with a slice.
struct SliceError {
  char text[160] = "";
};

// dims: of what is sliced. begin and end: null where their values are not known; then only the
// shape is worked out. HR_NOT_FOUND: the shape depends on them.
hr_code read_slice_spec(const SliceMasks& masks, int32_t rank, const int64_t* dims,
                        const hr_tensor* begin, const hr_tensor* end, const hr_tensor* strides,
                        SliceSpec* spec, SliceError* error);

// Whether begin and end decide the shape of the result, where strides is known.
bool slice_shape_depends(const SliceMasks& masks, int64_t entries);

// From the whole to the packed slice.
StridedCopy copy_out_of(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims, bool once);

}  // namespace hr

#endif
