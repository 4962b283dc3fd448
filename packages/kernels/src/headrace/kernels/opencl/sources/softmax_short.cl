// The softmaxes of sources/softmax.cl, of many rows of at most 32 classes, on a GPU: a row an item. A
// work-group of 64 copies its rows through local memory, so that neighbours read and write together.
// Grid: rows.

#include "softmax_ways.cl"

#define ROWS 64
#define MOST 32

kernel __attribute__((reqd_work_group_size(ROWS, 1, 1))) void softmax(
    HR_IN_SHARED(T, x),
#if WAY == DENSE
    HR_IN_SHARED(T, labels),
#elif WAY == SPARSE
    HR_IN_SHARED(INDEX, labels),
#endif
#if WAY >= DENSE
    HR_OUT_SHARED(T, loss),
#endif
    HR_OUT_SHARED(T, y), const long rows, const long n, const long per_item, const long x_row,
    const long x_step, const long labels_row, const long labels_step) {
  HR_INPUT(T, x);
#if WAY == DENSE
  HR_INPUT(T, labels);
  local C weights[ROWS * (MOST + 1)];
#elif WAY == SPARSE
  HR_INPUT(INDEX, labels);
#endif
#if WAY >= DENSE
  HR_OUTPUT(T, loss);
#endif
  HR_OUTPUT(T, y);
  local C values[ROWS * (MOST + 1)];
  const int item = get_local_id(0), classes = n;
  const int stride = classes | 1;  // odd: items use different banks
  const long first = (long)get_group_id(0) * ROWS, row = first + item;
  const int count = min((long)ROWS, rows - first);
  for (int i = item; i < count * classes; i += ROWS) {
    const int r = i / classes, j = i - r * classes;
    values[r * stride + j] = LOAD(x[(first + r) * x_row + j * x_step]);
#if WAY == DENSE
    weights[r * stride + j] = LOAD(labels[(first + r) * labels_row + j * labels_step]);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < count) {
    local C *own = values + item * stride;
    C top = -INFINITY, sum = 0;
    for (int j = 0; j < classes; ++j) top = LARGER(top, own[j]);
#if WAY == LOG_SOFTMAX
    for (int j = 0; j < classes; ++j) sum += exp(own[j] - top);
    const C shift = log(sum);
    for (int j = 0; j < classes; ++j) own[j] = (own[j] - top) - shift;
#elif WAY == SOFTMAX
    for (int j = 0; j < classes; ++j) sum += own[j] = exp(own[j] - top);
    const C scale = 1 / sum;
    for (int j = 0; j < classes; ++j) own[j] *= scale;
#elif WAY == DENSE
    // A class without weight adds nothing, even where its logit is -inf.
    local C *weight_of = weights + item * stride;
    C weighted = 0, weight = 0;
    for (int j = 0; j < classes; ++j) {
      const C w = weight_of[j], v = own[j] - top;
      weighted += w == 0 ? 0 : w * v;
      weight += w;
      sum += own[j] = exp(v);
    }
    loss[row] = STORE(weight * log(sum) - weighted);
    const C scale = 1 / sum;
    for (int j = 0; j < classes; ++j) own[j] = own[j] * scale - weight_of[j];
#else
    // The host cannot be told of a label that is no class: its row is NaN.
    const long label = labels[row];
    const int valid = label >= 0 && label < n;
    const C logit = valid ? own[label] - top : 0;
    for (int j = 0; j < classes; ++j) sum += own[j] = exp(own[j] - top);
    loss[row] = STORE(valid ? log(sum) - logit : (C)NAN);
    const C scale = valid ? 1 / sum : NAN;
    for (int j = 0; j < classes; ++j) own[j] = own[j] * scale - (C)(j == label);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item; i < count * classes; i += ROWS) {
    const int r = i / classes;
    y[first * n + i] = STORE(values[r * stride + i - r * classes]);
  }
}
