// Iterates over several operands that broadcast to one shape.
#ifndef HEADRACE_CPU_LOOPS_STRIDED_HPP
#define HEADRACE_CPU_LOOPS_STRIDED_HPP

#include <cstdint>

#include "headrace/kernel.h"
#include "library/shapes.hpp"

namespace hr {

// The shape of an output and, for each of K operands, strides in elements (0: repeated along
// that dimension). Neighbouring dimensions that every operand walks in one go are merged and
// dimensions of 1 dropped, so most walks end with one or two.
template <int K> struct Walk {
  int32_t rank = 0;
  int64_t dims[HR_MAX_RANK];
  int64_t strides[K][HR_MAX_RANK];

  int64_t inner() const { return rank ? dims[rank - 1] : 1; }
  int64_t outer() const { return product(dims, 0, rank - 1); }

  void collapse() {
    int32_t kept = 0;
    for (int32_t d = 0; d < rank; ++d) {
      const int64_t size = dims[d];
      if (size == 1) continue;
      bool merges = kept > 0;
      for (int k = 0; merges && k < K; ++k) merges = strides[k][kept - 1] == strides[k][d] * size;
      if (!merges) {
        dims[kept] = 1;
        ++kept;
      }
      dims[kept - 1] *= size;
      for (int k = 0; k < K; ++k) strides[k][kept - 1] = strides[k][d];
    }
    rank = kept;
  }

  // Calls row(offsets) for rows [begin, end) of the outer dimensions, offsets in elements.
  template <class F> void rows(int64_t begin, int64_t end, F&& row) const {
    if (begin >= end) return;
    int64_t at[HR_MAX_RANK], offsets[K] = {};
    int64_t rest = begin;
    for (int32_t d = rank - 2; d >= 0; --d) {
      at[d] = rest % dims[d];
      rest /= dims[d];
      for (int k = 0; k < K; ++k) offsets[k] += at[d] * strides[k][d];
    }
    for (int64_t i = begin;;) {
      row(i, offsets);
      if (++i >= end) return;
      for (int32_t d = rank - 2; d >= 0; --d) {
        for (int k = 0; k < K; ++k) offsets[k] += strides[k][d];
        if (++at[d] < dims[d]) break;
        at[d] = 0;
        for (int k = 0; k < K; ++k) offsets[k] -= strides[k][d] * dims[d];
      }
    }
  }
};

// Strides of a row-major tensor seen under a shape that it broadcasts to.
inline void broadcast_strides(const hr_tensor* from, int32_t rank, const int64_t* dims,
                              int64_t* strides) {
  int64_t step = 1;
  for (int32_t d = rank - 1, s = from->rank - 1; d >= 0; --d, --s) {
    const int64_t size = s >= 0 ? from->dims[s] : 1;
    strides[d] = size == 1 && dims[d] != 1 ? 0 : step;
    step *= size;
  }
}

template <int K>
Walk<K> broadcast_walk(const hr_tensor* output, const hr_tensor* const (&operands)[K]) {
  Walk<K> walk;
  walk.rank = output->rank;
  for (int32_t d = 0; d < output->rank; ++d) walk.dims[d] = output->dims[d];
  for (int k = 0; k < K; ++k)
    broadcast_strides(operands[k], output->rank, output->dims, walk.strides[k]);
  walk.collapse();
  return walk;
}

}  // namespace hr

#endif
