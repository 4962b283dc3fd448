// Matrix products inside of a recurrent kernel: their sizes are known at prepare, they run at every
// step, on the pool or on the calling thread.
#pragma once

#include <cstdint>

#include "gemm/gemm.hpp"

namespace hr::recurrent {

// The largest sizes of a product, and how it is cut. A run may have fewer rows or a shorter k.
class StepProduct {
 public:
  StepProduct() = default;
  // threads: 1 for `alone`, those of the pool for `on_pool`.
  StepProduct(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, int threads);

  // Floats of memory that a run needs beside its operands.
  int64_t scratch() const { return scratch_; }
  double flops() const { return 2.0 * double(m_) * double(n_) * double(k_); }
  hr_code on_pool(hr_ctx* ctx, const gemm::Problem<float>& p, float* scratch) const;
  void alone(const gemm::Problem<float>& p, float* scratch) const;

 private:
  // Whether it is done: nothing to multiply.
  static bool is_empty(const gemm::Problem<float>& p);

  int64_t m_ = 0, n_ = 0, k_ = 0, scratch_ = 0;
  bool small_ = true;
  gemm::Cut cut_{};
};

// How a batch is divided among threads. Rows of a batch do not depend on each other, so that a
// thread can take some of them through all steps without waiting for the others; each thread then
// reads all weights, which pays while they stay in its cache or while it has many rows. Otherwise
// every product of a step is divided among the threads.
struct Division {
  int64_t parts;  // of the batch, each by one thread; 0: each step on the pool
  int64_t rows;   // of the largest part
  int threads;    // at most so many work at a time
};
Division divided(int64_t batch, int64_t weights, int threads);

}  // namespace hr::recurrent
