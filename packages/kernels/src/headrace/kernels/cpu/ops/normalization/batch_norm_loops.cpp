#include "ops/normalization/batch_norm_loops.hpp"

#include <algorithm>

#include "processor/simd.hpp"

namespace hr::batch_norm {
namespace {

// Floats are summed in stretches of so many rows, the stretches in double.
constexpr int64_t kStretch = 64, kWidth = 64;

HR_CLONES void sums_float(const float* x, int64_t rows, int64_t n, const float* shift, double* sum,
                          double* squares) {
  for (int64_t c = 0; c < n; c += kWidth) {
    const int64_t width = std::min(kWidth, n - c);
    for (int64_t i = 0; i < rows;) {
      const int64_t stop = std::min(rows, i + kStretch);
      float s[kWidth] = {}, q[kWidth] = {};
      for (; i < stop; ++i) {
        const float* row = x + i * n + c;
        HR_INDEPENDENT
        for (int64_t j = 0; j < width; ++j) {
          const float d = row[j] - shift[c + j];
          s[j] += d;
          q[j] += d * d;
        }
      }
      for (int64_t j = 0; j < width; ++j) sum[c + j] += s[j], squares[c + j] += q[j];
    }
  }
}

HR_CLONES void gradient_sums_float(const float* dy, const float* x, int64_t rows, int64_t n,
                                   const float* mean, double* sum, double* product) {
  for (int64_t c = 0; c < n; c += kWidth) {
    const int64_t width = std::min(kWidth, n - c);
    for (int64_t i = 0; i < rows;) {
      const int64_t stop = std::min(rows, i + kStretch);
      float s[kWidth] = {}, q[kWidth] = {};
      for (; i < stop; ++i) {
        const float *g = dy + i * n + c, *row = x + i * n + c;
        HR_INDEPENDENT
        for (int64_t j = 0; j < width; ++j) {
          s[j] += g[j];
          q[j] += g[j] * (row[j] - mean[c + j]);
        }
      }
      for (int64_t j = 0; j < width; ++j) sum[c + j] += s[j], product[c + j] += q[j];
    }
  }
}

HR_CLONES void scale_and_shift_float(const float* x, float* y, int64_t rows, int64_t n,
                                     const float* scale, const float* shift) {
  for (int64_t i = 0; i < rows; ++i, x += n, y += n) {
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) y[j] = x[j] * scale[j] + shift[j];
  }
}

HR_CLONES void combine_float(const float* dy, const float* x, float* dx, int64_t rows, int64_t n,
                             const float* a, const float* b, const float* c) {
  for (int64_t i = 0; i < rows; ++i, dy += n, x += n, dx += n) {
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) dx[j] = dy[j] * a[j] + x[j] * b[j] + c[j];
  }
}

}  // namespace

void sums(const float* x, int64_t rows, int64_t n, const float* shift, double* sum,
          double* squares) {
  sums_float(x, rows, n, shift, sum, squares);
}
void gradient_sums(const float* dy, const float* x, int64_t rows, int64_t n, const float* mean,
                   double* sum, double* product) {
  gradient_sums_float(dy, x, rows, n, mean, sum, product);
}
void scale_and_shift(const float* x, float* y, int64_t rows, int64_t n, const float* scale,
                     const float* shift) {
  scale_and_shift_float(x, y, rows, n, scale, shift);
}
void combine(const float* dy, const float* x, float* dx, int64_t rows, int64_t n, const float* a,
             const float* b, const float* c) {
  combine_float(dy, x, dx, rows, n, a, b, c);
}

}  // namespace hr::batch_norm
