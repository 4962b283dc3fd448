// The epilogue of fused matrix products and convolutions: a bias, then an activation.
#pragma once

#include <cstdint>

#include "headrace/kernel.h"

namespace hr {

enum class Activation { none, relu, relu6, elu, tanh, sigmoid, leaky_relu };

struct Epilogue {
  bool bias = false;
  bool batch_norm = false;  // scale, offset, mean, variance instead of a bias
  Activation activation = Activation::none;
  float leaky_alpha = 0.2f;
  float epsilon = 1e-4f;
};

// From the attributes fused_ops, epsilon, leakyrelu_alpha of _FusedConv2D and _FusedMatMul, whose
// inputs from the third on are vectors over the channels of the result. A graph may name these ops:
// whatever their attributes say is checked.
hr_code read_epilogue(hr_request* request, int64_t channels, Epilogue* epilogue);

// In place over c[rows, n]; bias: [n] or null.
void apply_epilogue(const Epilogue& e, float* c, int64_t rows, int64_t n, const float* bias);
void apply_epilogue(const Epilogue& e, double* c, int64_t rows, int64_t n, const double* bias);

}  // namespace hr
