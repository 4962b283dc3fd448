// Matrix products. Small ones run in register-blocked loops on the calling thread, larger ones in
// cache blocks on the intra-op pool.
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

// How a product is cut into tasks for the pool, and what is copied; chosen at prepare.
struct Cut {
  int64_t tile_rows, k_block;  // of a tile; of a block of B
  int64_t rows, columns;       // of a task
  bool packs_b, copies_a;
  int threads;
};
template <class T>
Cut cut_of(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, int threads);
// Bytes of memory that `blocked` needs beside its operands.
template <class T>
size_t workspace_of(const Cut& cut);

// What is done to a finished part of the result, rows [i0, i1) and columns [j0, j1), while it is in
// the cache.
struct Finish {
  void (*part)(const void* argument, void* c, int64_t ldc, int64_t i0, int64_t i1, int64_t j0,
               int64_t j1);
  const void* argument;
};

// Any size with k > 0; finish may be null. On the pool, or on the calling thread alone, with a
// workspace for cut.threads threads, or for one.
template <class T>
hr_code blocked(hr_ctx* ctx, const Problem<T>& p, const Cut& cut, T* workspace,
                const Finish* finish);
template <class T>
void blocked_alone(const Problem<T>& p, const Cut& cut, T* workspace, const Finish* finish);

}  // namespace hr::gemm
