#include "gemm/epilogue.hpp"

#include "library/registration.hpp"
#include "math/vector_math.hpp"
#include "processor/simd.hpp"

namespace hr {

namespace {

HR_FUSIBLE_OPS(epilogue::fusible_ops());

template <class T>
HR_INLINE void activate(const Epilogue& e, T* c, int64_t n) {
  const T alpha = T(e.leaky_alpha);
  switch (e.activation) {
    case Activation::none: break;
    case Activation::relu:
      for (int64_t i = 0; i < n; ++i) c[i] = c[i] < T(0) ? T(0) : c[i];
      break;
    case Activation::relu6:
      for (int64_t i = 0; i < n; ++i) {
        T x = c[i] < T(0) ? T(0) : c[i];
        c[i] = x > T(6) ? T(6) : x;
      }
      break;
    case Activation::elu:
      for (int64_t i = 0; i < n; ++i) c[i] = c[i] < T(0) ? vm::expm1(c[i]) : c[i];
      break;
    case Activation::tanh:
      for (int64_t i = 0; i < n; ++i) c[i] = vm::tanh(c[i]);
      break;
    case Activation::sigmoid:
      for (int64_t i = 0; i < n; ++i) c[i] = vm::sigmoid(c[i]);
      break;
    case Activation::leaky_relu:
      for (int64_t i = 0; i < n; ++i) c[i] = c[i] < T(0) ? c[i] * alpha : c[i];
      break;
  }
}

template <class T>
HR_INLINE void apply(const Epilogue& e, T* c, int64_t rows, int64_t n, const T* bias) {
  if (bias) {
    for (int64_t i = 0; i < rows; ++i) {
      HR_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) c[i * n + j] += bias[j];
    }
  }
  activate(e, c, rows * n);
}

HR_CLONES void apply_float(const Epilogue& e, float* c, int64_t rows, int64_t n, const float* b) {
  apply(e, c, rows, n, b);
}

}  // namespace

void apply_epilogue(const Epilogue& e, float* c, int64_t rows, int64_t n, const float* bias) {
  apply_float(e, c, rows, n, bias);
}
void apply_epilogue(const Epilogue& e, double* c, int64_t rows, int64_t n, const double* bias) {
  apply(e, c, rows, n, bias);
}

}  // namespace hr
