// The floating-point operations of a node, from its shapes: the numbers that the kernels of
// headrace-kernels report once they are prepared (tests/executor/test_static_costs.py compares
// them), without preparing one.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "graph/graph_node.hpp"
#include "headrace/kernel.h"

namespace headrace {

enum class Work {
  kMatMul,
  kBatchMatMul,
  kEinsum,
  kConvolution,     // inputs: image, filter
  kInputGradient,   // inputs: sizes, filter, gradient
  kFilterGradient,  // inputs: image, sizes, gradient
  kDepthwise,       // inputs: image, filter
  kReduction,       // an operation per element of input 0
  kTranscendental,  // some ten per element
  kFactorization,   // of matrices, about n^3
  kDecomposition,   // by iteration, about 20 n^3
};

inline const std::unordered_map<std::string_view, Work>& work_of_ops() {
  static const auto* ops = new std::unordered_map<std::string_view, Work>{
      {"MatMul", Work::kMatMul},
      {"_FusedMatMul", Work::kMatMul},
      {"BatchMatMul", Work::kBatchMatMul},
      {"BatchMatMulV2", Work::kBatchMatMul},
      {"BatchMatMulV3", Work::kBatchMatMul},
      {"Einsum", Work::kEinsum},
      {"Conv2D", Work::kConvolution},
      {"_FusedConv2D", Work::kConvolution},
      {"Conv3D", Work::kConvolution},
      {"Conv2DBackpropInput", Work::kInputGradient},
      {"Conv3DBackpropInputV2", Work::kInputGradient},
      {"Conv2DBackpropFilter", Work::kFilterGradient},
      {"Conv3DBackpropFilterV2", Work::kFilterGradient},
      {"DepthwiseConv2dNative", Work::kDepthwise},
      {"Sum", Work::kReduction},
      {"Mean", Work::kReduction},
      {"Max", Work::kReduction},
      {"Min", Work::kReduction},
      {"Prod", Work::kReduction},
      {"L2Loss", Work::kReduction},
      {"Exp", Work::kTranscendental},
      {"Log", Work::kTranscendental},
      {"Pow", Work::kTranscendental},
      {"Tanh", Work::kTranscendental},
      {"Sigmoid", Work::kTranscendental},
      {"Sin", Work::kTranscendental},
      {"Cos", Work::kTranscendental},
      {"Erf", Work::kTranscendental},
      {"Softmax", Work::kTranscendental},
      {"LogSoftmax", Work::kTranscendental},
      {"RandomStandardNormal", Work::kTranscendental},
      {"TruncatedNormal", Work::kTranscendental},
      {"Cholesky", Work::kFactorization},
      {"MatrixInverse", Work::kFactorization},
      {"MatrixSolve", Work::kFactorization},
      {"MatrixTriangularSolve", Work::kFactorization},
      {"MatrixDeterminant", Work::kFactorization},
      {"LogMatrixDeterminant", Work::kFactorization},
      {"Qr", Work::kDecomposition},
      {"Svd", Work::kDecomposition},
      {"SelfAdjointEigV2", Work::kDecomposition},
      {"MatrixLogarithm", Work::kDecomposition},
      {"MatrixExponential", Work::kDecomposition},
  };
  return *ops;
}

constexpr double kMostFlops = 1e18;  // of a node: about a year

// As hr_elements, of shapes that no memory holds, too.
inline double count_elements(const hr_tensor* t) {
  double n = 1;
  for (int32_t i = 0; i < t->rank; ++i) n *= double(t->dims[i] > 0 ? t->dims[i] : 0);
  return n;
}

// Twice the product of the sizes of all labels.
inline double einsum_flops(const hr_node* node, const hr_tensor* const* in) {
  const char* equation = nullptr;
  size_t size = 0;
  if (node->api->attr_string(node, "equation", &equation, &size) != HR_OK) return 0;
  double sizes[128] = {};
  int32_t term = 0, place = 0;
  for (size_t i = 0; i < size && equation[i] != '-'; ++i) {
    const unsigned char c = static_cast<unsigned char>(equation[i]);
    if (c == ',') {
      ++term;
      place = 0;
    } else if (c == '.') {
      return 0;
    } else if (c != ' ' && c < 128 && term < node->n_inputs && place < in[term]->rank) {
      sizes[c] = double(in[term]->dims[place++]);
    }
  }
  double product = 2;
  for (double n : sizes)
    if (n > 0) product *= n;
  return product;
}

inline double unbounded_flops(const GraphNode& node, const hr_tensor* const* in,
                              const hr_tensor* const* out) {
  const hr_node* abi = &node.abi_node;
  const double results = abi->n_outputs ? count_elements(out[0]) : 0;
  const auto dim = [](const hr_tensor* t, int32_t from_end) {
    return t->rank >= from_end ? double(t->dims[t->rank - from_end]) : 1.0;
  };
  // A multiplication and an addition for each place of the window and channel of the image.
  const auto window = [&](const hr_tensor* filter) {
    return 2.0 * count_elements(filter) / std::max(1.0, dim(filter, 1));
  };
  auto found = work_of_ops().find(node.op);
  if (found == work_of_ops().end()) return results;
  switch (found->second) {
    case Work::kMatMul:
      return 2.0 * results * dim(in[0], hr_attr_bool(abi, "transpose_a", 0) ? 2 : 1);
    case Work::kBatchMatMul:
      return 2.0 * results * dim(in[0], hr_attr_bool(abi, "adj_x", 0) ? 2 : 1);
    case Work::kEinsum: return einsum_flops(abi, in);
    case Work::kConvolution: return results * window(in[1]);
    case Work::kInputGradient: return count_elements(in[2]) * window(in[1]);
    case Work::kFilterGradient: return count_elements(in[2]) * window(out[0]);
    case Work::kDepthwise: return 2.0 * results * dim(in[1], 4) * dim(in[1], 3);
    case Work::kReduction: return count_elements(in[0]);
    case Work::kTranscendental: return 10.0 * results;
    case Work::kFactorization: return count_elements(in[0]) * dim(in[0], 1);
    case Work::kDecomposition: return 20.0 * count_elements(in[0]) * dim(in[0], 1);
  }
  return results;
}

// All ranks are known.
inline double op_flops(const GraphNode& node, const hr_tensor* const* in,
                       const hr_tensor* const* out) {
  return std::min(unbounded_flops(node, in, out), kMostFlops);
}

}  // namespace headrace
