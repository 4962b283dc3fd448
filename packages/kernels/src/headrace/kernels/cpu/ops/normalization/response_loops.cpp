#include "ops/normalization/response_loops.hpp"

#include <algorithm>
#include <cmath>

#include "math/vector_math.hpp"
#include "processor/simd.hpp"

namespace hr::response {
namespace {

int64_t margin(const Rule& rule) { return std::max<int64_t>(0, rule.radius); }

// Sums of 2 * radius + 1 neighbours; from[-radius] to from[n + radius] exist.
HR_INLINE void sum_neighbours(const float* from, float* to, int64_t n, int64_t radius) {
  HR_INDEPENDENT
  for (int64_t c = 0; c < n; ++c) to[c] = from[c];
  for (int64_t d = 1; d <= radius; ++d) {
    HR_INDEPENDENT
    for (int64_t c = 0; c < n; ++c) to[c] += from[c - d] + from[c + d];
  }
}

// norm[c] -> norm[c]^-beta. Roots where beta is a common one, which also are exact at 0 and below.
HR_INLINE void to_power(const float* norm, float* to, int64_t n, float beta) {
  if (beta == 0.75f) {
    HR_INDEPENDENT
    for (int64_t c = 0; c < n; ++c) {
      const float root = std::sqrt(norm[c]);
      to[c] = 1.0f / (root * std::sqrt(root));
    }
  } else if (beta == 0.5f) {
    HR_INDEPENDENT
    for (int64_t c = 0; c < n; ++c) to[c] = vm::rsqrt(norm[c]);
  } else if (beta == std::floor(beta)) {  // of a negative norm, too
    for (int64_t c = 0; c < n; ++c) to[c] = std::pow(norm[c], -beta);
  } else {
    HR_INDEPENDENT
    for (int64_t c = 0; c < n; ++c) to[c] = vm::exp(-beta * vm::log(norm[c]));
  }
}

// norm[c] of one row; squares has `radius` zeros on each side.
HR_INLINE void norms(const Rule& rule, const float* x, float* squares, float* norm, int64_t n) {
  HR_INDEPENDENT
  for (int64_t c = 0; c < n; ++c) squares[c] = x[c] * x[c];
  if (rule.radius < 0) {
    std::fill_n(norm, n, 0.0f);
  } else {
    sum_neighbours(squares, norm, n, rule.radius);
  }
  HR_INDEPENDENT
  for (int64_t c = 0; c < n; ++c) norm[c] = rule.bias + rule.alpha * norm[c];
}

HR_CLONES void forward_rows(const Rule& rule, const float* x, float* y, int64_t rows, int64_t n,
                            float* squares, float* norm) {
  for (int64_t i = 0; i < rows; ++i, x += n, y += n) {
    norms(rule, x, squares, norm, n);
    to_power(norm, norm, n, rule.beta);
    HR_INDEPENDENT
    for (int64_t c = 0; c < n; ++c) y[c] = x[c] * norm[c];
  }
}

HR_CLONES void backward_rows(const Rule& rule, const float* dy, const float* x, const float* y,
                             float* dx, int64_t rows, int64_t n, float* padded, float* norm,
                             float* power) {
  const float across = -2.0f * rule.alpha * rule.beta;
  for (int64_t i = 0; i < rows; ++i, dy += n, x += n, y += n, dx += n) {
    norms(rule, x, padded, norm, n);
    to_power(norm, power, n, rule.beta);
    HR_INDEPENDENT
    for (int64_t c = 0; c < n; ++c) padded[c] = y[c] / norm[c] * dy[c];
    if (rule.radius < 0) {
      std::fill_n(norm, n, 0.0f);
    } else {
      sum_neighbours(padded, norm, n, rule.radius);
    }
    HR_INDEPENDENT
    for (int64_t c = 0; c < n; ++c) dx[c] = power[c] * dy[c] + across * x[c] * norm[c];
  }
}

}  // namespace

int64_t scratch(const Rule& rule, int64_t n) { return 3 * n + 2 * margin(rule); }

void forward(const Rule& rule, const float* x, float* y, int64_t rows, int64_t n, float* scratch) {
  const int64_t side = margin(rule);
  std::fill_n(scratch, n + 2 * side, 0.0f);
  forward_rows(rule, x, y, rows, n, scratch + side, scratch + n + 2 * side);
}

void backward(const Rule& rule, const float* dy, const float* x, const float* y, float* dx,
              int64_t rows, int64_t n, float* scratch) {
  const int64_t side = margin(rule);
  std::fill_n(scratch, n + 2 * side, 0.0f);
  float* norm = scratch + n + 2 * side;
  backward_rows(rule, dy, x, y, dx, rows, n, scratch + side, norm, norm + n);
}

}  // namespace hr::response
