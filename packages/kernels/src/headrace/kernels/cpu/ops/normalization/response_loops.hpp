// Local response normalisation over the channels of one row, vectorised along the row.
#pragma once

#include <cstdint>

namespace hr::response {

struct Rule {
  int64_t radius;  // neighbours on each side; at most the number of channels
  float bias, alpha, beta;
};

// Floats of scratch that a thread needs for rows of n channels.
int64_t scratch(const Rule& rule, int64_t n);

// y = x * norm^-beta, norm = bias + alpha * the sum of the neighbours' squares. [rows, n]
void forward(const Rule& rule, const float* x, float* y, int64_t rows, int64_t n, float* scratch);
// dx = dy * norm^-beta - 2 alpha beta x * the sum of y * dy / norm over the neighbours.
void backward(const Rule& rule, const float* dy, const float* x, const float* y, float* dx,
              int64_t rows, int64_t n, float* scratch);

}  // namespace hr::response
