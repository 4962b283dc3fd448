// What a strided slice takes, from begin, end, strides and the five masks.
#ifndef HEADRACE_CPU_STRIDED_SLICE_HPP
#define HEADRACE_CPU_STRIDED_SLICE_HPP

#include "headrace/kernel.h"
#include "strided_copy.hpp"

namespace hr {

struct SliceSpec {
  int32_t rank = 0;                   // of what is sliced
  int64_t begin[HR_MAX_RANK];
  int64_t stride[HR_MAX_RANK];
  int64_t length[HR_MAX_RANK];
  int32_t final_rank = 0;             // of the result, with new axes and without shrunk ones
  int64_t final_dims[HR_MAX_RANK];
};

// dims: of what is sliced. begin, end and strides are inputs of known value.
hr_code read_slice_spec(hr_request* request, int32_t rank, const int64_t* dims,
                        const hr_tensor* begin, const hr_tensor* end, const hr_tensor* strides,
                        SliceSpec* spec);

// From the whole to the packed slice, or from the packed slice into the whole.
StridedCopy* copy_out_of(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims);
StridedCopy* copy_into(hr_dtype dtype, const SliceSpec& spec, const int64_t* dims);

}  // namespace hr

#endif
