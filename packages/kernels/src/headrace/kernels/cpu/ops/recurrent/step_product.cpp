#include "ops/recurrent/step_product.hpp"

#include <algorithm>

#include "processor/parallel.hpp"

namespace hr::recurrent {
namespace {

// Below so many multiplications a step, waking the pool costs more than the step.
constexpr int64_t least_of_step = 256 * 1024;
// Weights that stay in the second cache beside the rows of a part.
constexpr int64_t cached_weights = 512 * 1024;
// Rows that use a weight often enough to read it from the second cache, and from memory.
constexpr int64_t least_rows = 4, least_rows_from_memory = 32;

}  // namespace

StepProduct::StepProduct(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b,
                         int threads)
    : m_(m), n_(n), k_(k) {
  small_ = m * n * k == 0 || gemm::is_small(m, n, k);
  if (small_) return;
  cut_ = gemm::cut_of<float>(m, n, k, transpose_a, transpose_b, threads);
  scratch_ = int64_t(gemm::workspace_of<float>(cut_) / sizeof(float));
}

bool StepProduct::is_empty(const gemm::Problem<float>& p) {
  if (p.m > 0 && p.n > 0 && p.k > 0) return false;
  for (int64_t i = 0; i < p.m; ++i) std::fill_n(p.c + i * p.ldc, p.n, 0.0f);
  return true;
}

hr_code StepProduct::on_pool(hr_ctx* ctx, const gemm::Problem<float>& p, float* scratch) const {
  if (is_empty(p)) return HR_OK;
  if (!small_) return gemm::blocked(ctx, p, cut_, scratch, nullptr);
  gemm::small(p);
  return HR_OK;
}

void StepProduct::alone(const gemm::Problem<float>& p, float* scratch) const {
  if (is_empty(p)) return;
  if (small_) gemm::small(p);
  else gemm::blocked_alone(p, cut_, scratch, nullptr);
}

Division divided(int64_t batch, int64_t weights, int threads) {
  if (threads <= 1 || batch * weights <= least_of_step) return {1, batch, 1};
  const int64_t rows = weights <= cached_weights ? least_rows : least_rows_from_memory;
  if (batch < rows * threads) return {0, batch, threads};
  return {threads, (batch + threads - 1) / threads, threads};
}

}  // namespace hr::recurrent
