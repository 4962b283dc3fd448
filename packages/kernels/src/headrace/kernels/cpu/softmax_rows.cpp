#include "softmax_rows.hpp"

#include "simd.hpp"
#include "vector_math.hpp"

namespace hr {
namespace {

// Sixteen partial results in a fixed order, so that the loops vectorise. A NaN may be missed
// here: it comes back in the sum of the exponentials.
template <class T>
HR_INLINE T largest(const T* x, int64_t n) {
  T best = x[0];
  int64_t j = 1;
  if (n >= 32) {
    T parts[16];
    for (int q = 0; q < 16; ++q) parts[q] = x[q];
    for (j = 16; j + 16 <= n; j += 16) {
      for (int q = 0; q < 16; ++q) parts[q] = parts[q] > x[j + q] ? parts[q] : x[j + q];
    }
    for (int q = 0; q < 16; ++q) best = best > parts[q] ? best : parts[q];
  }
  for (; j < n; ++j) best = best > x[j] ? best : x[j];
  return best;
}

template <class T>
HR_INLINE T sum_of(const T* y, int64_t n) {
  T sum = T(0);
  int64_t j = 0;
  if (n >= 16) {
    T parts[16] = {};
    for (; j + 16 <= n; j += 16) {
      for (int q = 0; q < 16; ++q) parts[q] += y[j + q];
    }
    for (int q = 0; q < 16; ++q) sum += parts[q];
  }
  for (; j < n; ++j) sum += y[j];
  return sum;
}

// y = exp(x - top); the sum of y.
template <class T>
HR_INLINE T exponentials(const T* x, T top, T* y, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) y[j] = vm::exp(x[j] - top);
  return sum_of(y, n);
}

// As many rows at a time as make a long loop for exp.
constexpr int64_t kTogether = 512;

// y = exp(x - the row's largest) for some rows.
template <class T>
HR_INLINE void exponentials_of_rows(const T* x, int64_t x_stride, T* y, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; ++i) {
    const T top = largest(x + i * x_stride, n);
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) y[i * n + j] = x[i * x_stride + j] - top;
  }
  HR_INDEPENDENT
  for (int64_t j = 0; j < rows * n; ++j) y[j] = vm::exp(y[j]);
}

template <class T>
HR_INLINE void softmax(const T* x, T* y, int64_t rows, int64_t n) {
  const int64_t together = n < kTogether ? kTogether / n : 1;
  for (int64_t i = 0; i < rows; i += together) {
    const int64_t some = rows - i < together ? rows - i : together;
    T* to = y + i * n;
    exponentials_of_rows(x + i * n, n, to, some, n);
    for (int64_t k = 0; k < some; ++k, to += n) {
      const T scale = T(1) / sum_of(to, n);
      HR_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) to[j] *= scale;
    }
  }
}

template <class T>
HR_INLINE void log_softmax(const T* x, T* y, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; ++i, x += n, y += n) {
    const T top = largest(x, n);
    // Without y as scratch: it may be x's own memory.
    T sum = T(0);
    for (int64_t j = 0; j < n;) {
      T part[64];
      const int64_t width = n - j < 64 ? n - j : 64;
      sum += exponentials(x + j, top, part, width);
      j += width;
    }
    const T shift = std::log(sum);
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) y[j] = (x[j] - top) - shift;
  }
}

template <class T>
HR_INLINE void cross_entropy(const T* x, int64_t x_stride, const T* labels, int64_t labels_stride,
                             T* loss, T* y, int64_t rows, int64_t n) {
  const int64_t together = n < kTogether ? kTogether / n : 1;
  for (int64_t i = 0; i < rows; i += together) {
    const int64_t some = rows - i < together ? rows - i : together;
    exponentials_of_rows(x + i * x_stride, x_stride, y + i * n, some, n);
    for (int64_t k = i; k < i + some; ++k) {
      const T *row = x + k * x_stride, *l = labels + k * labels_stride;
      T* to = y + k * n;
      const T top = largest(row, n), sum = sum_of(to, n), scale = T(1) / sum;
      T weighted = T(0), weight = T(0);
      for (int64_t j = 0; j < n; ++j) {
        // A class without weight adds nothing, even where its logit is -inf.
        weighted += l[j] == T(0) ? T(0) : l[j] * (row[j] - top);
        weight += l[j];
      }
      loss[k] = weight * std::log(sum) - weighted;
      HR_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) to[j] = to[j] * scale - l[j];
    }
  }
}

HR_CLONES void softmax_float(const float* x, float* y, int64_t rows, int64_t n) {
  softmax(x, y, rows, n);
}
HR_CLONES void log_softmax_float(const float* x, float* y, int64_t rows, int64_t n) {
  log_softmax(x, y, rows, n);
}
HR_CLONES void cross_entropy_float(const float* x, int64_t xs, const float* l, int64_t ls,
                                   float* loss, float* y, int64_t rows, int64_t n) {
  cross_entropy(x, xs, l, ls, loss, y, rows, n);
}

}  // namespace

void softmax_of_rows(const float* x, float* y, int64_t rows, int64_t n) {
  softmax_float(x, y, rows, n);
}
void softmax_of_rows(const double* x, double* y, int64_t rows, int64_t n) {
  softmax(x, y, rows, n);
}
void log_softmax_of_rows(const float* x, float* y, int64_t rows, int64_t n) {
  log_softmax_float(x, y, rows, n);
}
void log_softmax_of_rows(const double* x, double* y, int64_t rows, int64_t n) {
  log_softmax(x, y, rows, n);
}
void cross_entropy_of_rows(const float* x, int64_t xs, const float* l, int64_t ls, float* loss,
                           float* y, int64_t rows, int64_t n) {
  cross_entropy_float(x, xs, l, ls, loss, y, rows, n);
}
void cross_entropy_of_rows(const double* x, int64_t xs, const double* l, int64_t ls, double* loss,
                           double* y, int64_t rows, int64_t n) {
  cross_entropy(x, xs, l, ls, loss, y, rows, n);
}

}  // namespace hr
