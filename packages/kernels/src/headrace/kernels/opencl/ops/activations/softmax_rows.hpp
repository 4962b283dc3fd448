// Softmaxes of rows, and what is computed from them: the kernel of sources/softmax.cl.
#ifndef HEADRACE_OPENCL_ACTIVATIONS_SOFTMAX_ROWS_HPP
#define HEADRACE_OPENCL_ACTIVATIONS_SOFTMAX_ROWS_HPP

#include "headrace/kernel.h"

namespace hr::cl {

enum SoftmaxWay { kSoftmax, kLogSoftmax, kDense, kSparse };  // as in sources/softmax.cl

// Rows of n classes. From one row, or class, of the logits and labels to the next are so many
// elements: 0 where one stands for all.
struct SoftmaxRows {
  SoftmaxWay way;
  int64_t rows, n;
  int64_t x_row, x_step, labels_row, labels_step;
};

// Of logits, input 0, and labels, input 1 of a cross entropy. Sets plan and compute.
hr_code plan_softmax(hr_request* request, const SoftmaxRows& rows);

}  // namespace hr::cl

#endif
