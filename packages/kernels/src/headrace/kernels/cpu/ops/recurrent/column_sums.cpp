#include "ops/recurrent/column_sums.hpp"

#include <algorithm>

#include "processor/parallel.hpp"
#include "processor/simd.hpp"

namespace hr::recurrent {
namespace {

// Columns that are summed at a time, in double precision: their sums stay in the first cache.
constexpr int64_t width = 128;

HR_CLONES void add_row(const float* a, double* sums, int64_t n) {
  for (int64_t j = 0; j < n; ++j) sums[j] += double(a[j]);
}

HR_CLONES void add_products(const float* a, const float* b, double* sums, int64_t n) {
  for (int64_t j = 0; j < n; ++j) sums[j] += double(a[j]) * double(b[j]);
}

}  // namespace

void add_columns(hr_ctx* ctx, int64_t rows, int64_t columns, const float* a, int64_t lda,
                 const float* b, int64_t ldb, float* sums) {
  const int64_t grain = grain_of(rows * int64_t(sizeof(float)));
  parallel_blocks(ctx, columns, width, grain, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j += width) {
      double total[width] = {};
      const int64_t n = std::min(width, end - j);
      for (int64_t i = 0; i < rows; ++i) {
        if (b) add_products(a + i * lda + j, b + i * ldb + j, total, n);
        else add_row(a + i * lda + j, total, n);
      }
      for (int64_t q = 0; q < n; ++q) sums[j + q] += float(total[q]);
    }
  });
}

}  // namespace hr::recurrent
