// Matrix products without a library: register-blocked loops for what is too small for
// oneDNN's fixed cost, and blocked ones for what it does not compute (double).
#pragma once

#include <cstdint>

#include "headrace/kernel.h"

namespace hr::gemm {

// Row-major op(A)[m, k] * op(B)[k, n]; lda and ldb are the strides of the stored rows.
template <class T>
struct Problem {
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  bool transpose_a;
  const T* b;
  int64_t ldb;
  bool transpose_b;
  T* c;
  int64_t ldc;
};

// On the calling thread, nothing packed but a transposed B of at most max_packed elements.
constexpr int64_t max_packed = 8192;
void small(const Problem<float>& p);
void small(const Problem<double>& p);

// Whether `small` is the better way for one product of these sizes.
inline bool is_small(int64_t m, int64_t n, int64_t k) {
  return m * n * k <= 128 * 1024 && n * k <= max_packed;
}

// Any size, on the team. packed: `packed_elements(n, k)` elements.
int64_t packed_elements(int64_t n, int64_t k);
void blocked(hr_ctx* ctx, const Problem<float>& p, float* packed);
void blocked(hr_ctx* ctx, const Problem<double>& p, double* packed);

}  // namespace hr::gemm
