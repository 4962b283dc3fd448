// Sums over the rows of a matrix: gradients of biases and of peephole weights.
#pragma once

#include <cstdint>

#include "headrace/kernel.h"

namespace hr::recurrent {

// Adds to sums[j] the a[i, j] of all rows i, or the products a[i, j] * b[i, j] if b is not null.
void add_columns(hr_ctx* ctx, int64_t rows, int64_t columns, const float* a, int64_t lda,
                 const float* b, int64_t ldb, float* sums);

}  // namespace hr::recurrent
