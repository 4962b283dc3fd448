// Matrix products, as steps of a sequence: for the ops of ops/matmul, and for convolutions that are
// products of whole matrices.
#ifndef HEADRACE_OPENCL_GEMM_GEMM_HPP
#define HEADRACE_OPENCL_GEMM_GEMM_HPP

#include <cstdint>
#include <vector>

#include "gemm/element.hpp"
#include "gemm/epilogue_step.hpp"
#include "launch/sequence.hpp"

namespace hr::cl {

// c = op(a) * op(b), of row-major matrices without gaps, for each product of a batch.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  Place a, b, c;

  // A dimension of the batch: its size, and the elements between its matrices; 0 repeats one.
  struct Dimension {
    int64_t size, a, b;
  };
  std::vector<Dimension> batch;  // outermost first

  EpilogueStep epilogue;

  int64_t lda() const { return transpose_a ? m : k; }
  int64_t ldb() const { return transpose_b ? k : n; }
};

// Appends the steps of a product; some of m, n, k and the batch may be 0.
hr_code add_gemm(hr_request* request, const GemmElement& element, Gemm gemm, Sequence* sequence);

}  // namespace hr::cl

#endif
