#include "epilogue.hpp"

#include <string_view>

#include "attributes.hpp"
#include "simd.hpp"
#include "vector_math.hpp"

namespace hr {

hr_code read_epilogue(hr_request* r, Epilogue* e) {
  e->epsilon = hr_attr_float(r->node, "epsilon", 1e-4f);
  e->leaky_alpha = hr_attr_float(r->node, "leakyrelu_alpha", 0.2f);
  for (const hr_string& op : attr_strings(r->node, "fused_ops")) {
    std::string_view name(op.data, op.size);
    if (name == "BiasAdd")
      e->bias = true;
    else if (name == "FusedBatchNorm")
      e->batch_norm = true;
    else if (name == "Relu")
      e->activation = Activation::relu;
    else if (name == "Relu6")
      e->activation = Activation::relu6;
    else if (name == "Elu")
      e->activation = Activation::elu;
    else if (name == "Tanh")
      e->activation = Activation::tanh;
    else if (name == "Sigmoid")
      e->activation = Activation::sigmoid;
    else if (name == "LeakyRelu")
      e->activation = Activation::leaky_relu;
    else
      return hr_request_fail(r, HR_UNIMPLEMENTED,
                             "no fused op %.*s: BiasAdd, FusedBatchNorm, Relu, Relu6, Elu, Tanh, "
                             "Sigmoid and LeakyRelu can be fused",
                             int(op.size), op.data);
  }
  return HR_OK;
}

namespace {

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
