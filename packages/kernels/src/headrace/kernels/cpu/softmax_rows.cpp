#include "softmax_rows.hpp"

#include "simd.hpp"
#include "vector_math.hpp"

namespace hr {
namespace {

// NaN wins over every number, as it would in the sum that follows.
template <class T>
HR_INLINE T largest(const T* x, int64_t n) {
  T best = x[0];
  for (int64_t j = 1; j < n; ++j) best = best > x[j] ? best : x[j];
  return best;
}

// y = exp(x - top); the sum of y. Sixteen partial sums, so that it vectorises in a fixed order.
template <class T>
HR_INLINE T exponentials(const T* x, T top, T* y, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) y[j] = vm::exp(x[j] - top);
  T parts[16] = {};
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    for (int q = 0; q < 16; ++q) parts[q] += y[j + q];
  }
  T sum = T(0);
  for (int q = 0; q < 16; ++q) sum += parts[q];
  for (; j < n; ++j) sum += y[j];
  return sum;
}

template <class T>
HR_INLINE void softmax(const T* x, T* y, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; ++i, x += n, y += n) {
    const T scale = T(1) / exponentials(x, largest(x, n), y, n);
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) y[j] *= scale;
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
  for (int64_t i = 0; i < rows; ++i, x += x_stride, labels += labels_stride, y += n) {
    const T top = largest(x, n);
    T weighted = T(0), weight = T(0);
    for (int64_t j = 0; j < n; ++j) {
      // A class without weight adds nothing, even where its logit is -inf.
      weighted += labels[j] == T(0) ? T(0) : labels[j] * (x[j] - top);
      weight += labels[j];
    }
    // Chunks of labels are read before y is written there: backprop may be labels' memory.
    T sum = T(0);
    T part[64];
    for (int64_t j = 0; j < n; j += 64) sum += exponentials(x + j, top, part, n - j < 64 ? n - j : 64);
    const T scale = T(1) / sum;
    loss[i] = weight * std::log(sum) - weighted;
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) y[j] = vm::exp(x[j] - top) * scale - labels[j];
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

void softmax_of_rows(const float* x, float* y, int64_t rows, int64_t n) { softmax_float(x, y, rows, n); }
void softmax_of_rows(const double* x, double* y, int64_t rows, int64_t n) { softmax(x, y, rows, n); }
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
