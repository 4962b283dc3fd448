// Computes the epilogue of fused matrix products and convolutions.
#pragma once

#include <cstdint>

#include "library/epilogue.hpp"

namespace hr {

// In place over c[rows, n]; bias: [n] or null.
void apply_epilogue(const Epilogue& e, float* c, int64_t rows, int64_t n, const float* bias);
void apply_epilogue(const Epilogue& e, double* c, int64_t rows, int64_t n, const double* bias);

}  // namespace hr
