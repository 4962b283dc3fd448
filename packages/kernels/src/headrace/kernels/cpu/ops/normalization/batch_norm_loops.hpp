// Sums and affine maps per channel: the inner loops of batch normalisation.
#pragma once

#include <cstdint>

namespace hr::batch_norm {

// x: [rows, n], channels side by side. The sums over rows of x and of (x - shift)^2, added.
void sums(const float* x, int64_t rows, int64_t n, const float* shift, double* sum,
          double* squares);
// The sums over rows of dy and of dy * (x - mean), added.
void gradient_sums(const float* dy, const float* x, int64_t rows, int64_t n, const float* mean,
                   double* sum, double* product);
// y = x * scale + shift.
void scale_and_shift(const float* x, float* y, int64_t rows, int64_t n, const float* scale,
                     const float* shift);
// dx = dy * a + x * b + c.
void combine(const float* dy, const float* x, float* dx, int64_t rows, int64_t n, const float* a,
             const float* b, const float* c);

}  // namespace hr::batch_norm
