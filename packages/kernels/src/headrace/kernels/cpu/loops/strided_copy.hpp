// Strided copies between two tensors: the common form of slice, transpose, tile, reverse, broadcast
// and space-to-depth.
#ifndef HEADRACE_CPU_LOOPS_STRIDED_COPY_HPP
#define HEADRACE_CPU_LOOPS_STRIDED_COPY_HPP

#include <cstdint>
#include <vector>

#include "headrace/kernel.h"

namespace hr {

// Made in prepare, run in compute. Strides and offsets are in elements and may be negative.
class StridedCopy {
 public:
  static constexpr int32_t kMostDims = 3 * HR_MAX_RANK;

  StridedCopy() = default;
  // once: for a single run, so that no table is worth making.
  StridedCopy(hr_dtype dtype, int32_t rank, const int64_t* dims, const int64_t* to_strides,
              const int64_t* from_strides, int64_t to_offset = 0, int64_t from_offset = 0,
              bool once = false);

  void run(hr_ctx* ctx, void* to, const void* from) const;
  // A compute function that needs no look at the copy's kind; its plan is the copy.
  hr_compute compute() const;
  int64_t elements() const { return elements_; }

 private:
  enum Way { kNothing, kOne, kWhole, kMap, kRows, kTiles, kStrides };

  template <class U> void run_as(hr_ctx* ctx, U* to, const U* from) const;
  template <class U> void gather(U* to, const U* from) const;
  template <class U> void scatter(U* to, const U* from) const;
  template <class U> void tiles(hr_ctx* ctx, U* to, const U* from) const;
  template <class F> void each_row(int32_t outer_dims, int64_t begin, int64_t end, F&& f) const;

  hr_dtype dtype_ = HR_FLOAT;
  int64_t size_ = 0, elements_ = 0;
  Way way_ = kNothing;
  int32_t rank_ = 0;
  int64_t dims_[kMostDims], to_[kMostDims], from_[kMostDims];
  int64_t to_offset_ = 0, from_offset_ = 0;
  std::vector<int32_t> targets_, sources_;  // for few elements: their offsets
  bool in_order_ = true;                    // the targets are 0, 1, 2, ...

  template <class U>
  static hr_code compute_map(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                             hr_tensor* const* out, void*);
  template <class U>
  static hr_code compute_one(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                             hr_tensor* const* out, void*);
};

// Row-major strides; returns the number of elements.
int64_t row_major(int32_t rank, const int64_t* dims, int64_t* strides);

// A kernel that is one StridedCopy of input 0 to output 0; takes the copy over.
hr_code prepare_copy(hr_request* request, StridedCopy* copy);

}  // namespace hr

#endif
