#include "loops/softmax_rows.hpp"

#include "math/vector_math.hpp"
#include "processor/simd.hpp"

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
  T sum = T(0);
  int64_t j = 0;
  if (n >= 16) {
    T parts[16] = {};
    for (; j + 16 <= n; j += 16) {
      T e[16];  // x may be y
      for (int q = 0; q < 16; ++q) e[q] = vm::exp(x[j + q] - top);
      for (int q = 0; q < 16; ++q) y[j + q] = e[q];
      for (int q = 0; q < 16; ++q) parts[q] += e[q];
    }
    for (int q = 0; q < 16; ++q) sum += parts[q];
  }
  for (; j < n; ++j) {
    y[j] = vm::exp(x[j] - top);
    sum += y[j];
  }
  return sum;
}

// Rows shorter than this are taken together, to make a long loop for exp.
constexpr int64_t kLong = 512, kTogether = 512;

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
HR_INLINE void scaled(T* y, T scale, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) y[j] *= scale;
}

// done(row, its largest element, the sum of its exponentials) after y = exp(x - largest).
template <class T, class Done>
HR_INLINE void over_rows(const T* x, int64_t x_stride, T* y, int64_t rows, int64_t n, Done&& done) {
  if (n >= kLong) {
    for (int64_t i = 0; i < rows; ++i) {
      const T top = largest(x + i * x_stride, n);
      done(i, top, exponentials(x + i * x_stride, top, y + i * n, n));
    }
    return;
  }
  const int64_t together = kTogether / n;
  for (int64_t i = 0; i < rows; i += together) {
    const int64_t some = rows - i < together ? rows - i : together;
    T tops[kTogether];
    for (int64_t k = 0; k < some; ++k) tops[k] = largest(x + (i + k) * x_stride, n);
    exponentials_of_rows(x + i * x_stride, x_stride, y + i * n, some, n);
    for (int64_t k = 0; k < some; ++k) done(i + k, tops[k], sum_of(y + (i + k) * n, n));
  }
}

template <class T>
HR_INLINE void softmax(const T* x, T* y, int64_t rows, int64_t n) {
  over_rows(x, n, y, rows, n, [&](int64_t i, T, T sum) __attribute__((always_inline)) {
    scaled(y + i * n, T(1) / sum, n);
  });
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

// Sums of l * (x - top) and of l. A class without weight adds nothing, even where its logit is
// -inf.
template <class T>
HR_INLINE void weigh(const T* x, T top, const T* l, int64_t n, T* weighted, T* weight) {
  T products[16] = {}, weights[16] = {};
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    for (int q = 0; q < 16; ++q) {
      const T w = l[j + q], product = w * (x[j + q] - top);
      products[q] += w == T(0) ? T(0) : product;
      weights[q] += w;
    }
  }
  *weighted = *weight = T(0);
  for (int q = 0; q < 16; ++q) {
    *weighted += products[q];
    *weight += weights[q];
  }
  for (; j < n; ++j) {
    *weighted += l[j] == T(0) ? T(0) : l[j] * (x[j] - top);
    *weight += l[j];
  }
}

template <class T>
HR_INLINE void cross_entropy(const T* x, int64_t x_stride, const T* labels, int64_t labels_stride,
                             T* loss, T* y, int64_t rows, int64_t n) {
  over_rows(x, x_stride, y, rows, n, [&](int64_t i, T top, T sum) __attribute__((always_inline)) {
    const T* l = labels + i * labels_stride;
    T weighted, weight, *to = y + i * n;
    weigh(x + i * x_stride, top, l, n, &weighted, &weight);
    loss[i] = weight * std::log(sum) - weighted;
    const T scale = T(1) / sum;
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) to[j] = to[j] * scale - l[j];
  });
}

template <class T, class Index>
HR_INLINE void sparse_cross_entropy(const T* x, const Index* labels, T* loss, T* y, int64_t rows,
                                    int64_t n) {
  over_rows(x, n, y, rows, n, [&](int64_t i, T top, T sum) __attribute__((always_inline)) {
    loss[i] = std::log(sum) - (x[i * n + labels[i]] - top);
    scaled(y + i * n, T(1) / sum, n);
    y[i * n + labels[i]] -= T(1);
  });
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

HR_CLONES void sparse_float(const float* x, const int32_t* l, float* loss, float* y, int64_t rows,
                            int64_t n) {
  sparse_cross_entropy(x, l, loss, y, rows, n);
}
HR_CLONES void sparse_float_wide(const float* x, const int64_t* l, float* loss, float* y,
                                 int64_t rows, int64_t n) {
  sparse_cross_entropy(x, l, loss, y, rows, n);
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
void sparse_cross_entropy_of_rows(const float* x, const int32_t* l, float* loss, float* y,
                                  int64_t rows, int64_t n) {
  sparse_float(x, l, loss, y, rows, n);
}
void sparse_cross_entropy_of_rows(const float* x, const int64_t* l, float* loss, float* y,
                                  int64_t rows, int64_t n) {
  sparse_float_wide(x, l, loss, y, rows, n);
}
void sparse_cross_entropy_of_rows(const double* x, const int32_t* l, double* loss, double* y,
                                  int64_t rows, int64_t n) {
  sparse_cross_entropy(x, l, loss, y, rows, n);
}
void sparse_cross_entropy_of_rows(const double* x, const int64_t* l, double* loss, double* y,
                                  int64_t rows, int64_t n) {
  sparse_cross_entropy(x, l, loss, y, rows, n);
}

}  // namespace hr
