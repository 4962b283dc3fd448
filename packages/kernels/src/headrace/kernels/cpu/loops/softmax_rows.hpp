// Softmax and its cross entropies over rows of `classes` values.
#pragma once

#include <cstdint>

namespace hr {

void softmax_of_rows(const float* x, float* y, int64_t rows, int64_t classes);
void softmax_of_rows(const double* x, double* y, int64_t rows, int64_t classes);
void log_softmax_of_rows(const float* x, float* y, int64_t rows, int64_t classes);
void log_softmax_of_rows(const double* x, double* y, int64_t rows, int64_t classes);

// backprop = softmax(x) - labels; loss = sum(labels * -log_softmax(x)).
// x and labels advance by their stride from row to row (0 repeats one row).
void cross_entropy_of_rows(const float* x, int64_t x_stride, const float* labels,
                           int64_t labels_stride, float* loss, float* backprop, int64_t rows,
                           int64_t classes);
void cross_entropy_of_rows(const double* x, int64_t x_stride, const double* labels,
                           int64_t labels_stride, double* loss, double* backprop, int64_t rows,
                           int64_t classes);

// The same for labels that are class numbers below n. x is read again after y is written.
void sparse_cross_entropy_of_rows(const float* x, const int32_t* labels, float* loss, float* y,
                                  int64_t rows, int64_t n);
void sparse_cross_entropy_of_rows(const float* x, const int64_t* labels, float* loss, float* y,
                                  int64_t rows, int64_t n);
void sparse_cross_entropy_of_rows(const double* x, const int32_t* labels, double* loss, double* y,
                                  int64_t rows, int64_t n);
void sparse_cross_entropy_of_rows(const double* x, const int64_t* labels, double* loss, double* y,
                                  int64_t rows, int64_t n);

}  // namespace hr
