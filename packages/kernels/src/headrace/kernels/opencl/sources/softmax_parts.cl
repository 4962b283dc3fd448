// The softmaxes of sources/softmax.cl, of few long rows, on a GPU. Each row is cut into `parts`, at
// most GROUP, of `length` classes: fold_parts folds each, write_parts folds what that left of the
// row and writes. Grid: a group of GROUP items for each part.

#include "softmax_ways.cl"

// What is known of a part: the largest logit, and sums relative to its base.
#define KNOWN (WAY == DENSE ? 4 : 2)

// What a part's exponents and logits are relative to: 0 where all logits are -inf.
#define BASE(top) ((top) == -INFINITY ? 0 : (top))

#define PLACE_OF_GROUP                                                                       \
  const int item = get_local_id(0);                                                          \
  const long row = get_group_id(0) / parts, part = get_group_id(0) % parts;                  \
  const long begin = part * length + item, end = min((part + 1) * length, n);                \
  global const T *from = x + row * x_row

// known: [rows, parts, KNOWN].
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void fold_parts(
    HR_IN(T, x),
#if WAY == DENSE
    HR_IN(T, labels),
#endif
    HR_OUT(C, known), const long n, const long parts, const long length, const long x_row,
    const long x_step, const long labels_row, const long labels_step) {
  HR_INPUT(T, x);
  HR_OUTPUT(C, known);
  local C shared[GROUP];
  PLACE_OF_GROUP;
  C top = -INFINITY, sum = 0;
  for (long j = begin; j < end; j += GROUP) {
    const C v = LOAD(from[j * x_step]);
    top = LARGER(top, v);
  }
  top = folded(shared, top, 1);
  const C base = BASE(top);
  for (long j = begin; j < end; j += GROUP) sum += exp(LOAD(from[j * x_step]) - base);
  sum = folded(shared, sum, 0);
  global C *to = known + get_group_id(0) * KNOWN;
#if WAY == DENSE
  // A class without weight adds nothing, even where its logit is -inf.
  HR_INPUT(T, labels);
  global const T *label = labels + row * labels_row;
  C weighted = 0, weight = 0;
  for (long j = begin; j < end; j += GROUP) {
    const C w = LOAD(label[j * labels_step]), v = LOAD(from[j * x_step]) - base;
    weighted += w == 0 ? 0 : w * v;
    weight += w;
  }
  weighted = folded(shared, weighted, 0);
  weight = folded(shared, weight, 0);
  if (item == 0) {
    to[2] = weighted;
    to[3] = weight;
  }
#endif
  if (item == 0) {
    to[0] = top;
    to[1] = sum;
  }
}

// y may lie over x, unless there are labels.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void write_parts(
    HR_IN_SHARED(T, x),
#if WAY == DENSE
    HR_IN(T, labels),
#elif WAY == SPARSE
    HR_IN(INDEX, labels),
#endif
#if WAY >= DENSE
    HR_OUT(T, loss),
#endif
    HR_OUT_SHARED(T, y), HR_IN(C, known), const long n, const long parts, const long length,
    const long x_row, const long x_step, const long labels_row, const long labels_step) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, y);
  HR_INPUT(C, known);
  local C shared[GROUP];
  PLACE_OF_GROUP;
  global T *to = y + row * n;
  // Each item takes what is known of one part.
  const int is_part = item < parts;
  global const C *own = known + (row * parts + (is_part ? item : 0)) * KNOWN;
  const C own_top = own[0];
  const C top = folded(shared, is_part ? own_top : -INFINITY, 1);
  const C sum = folded(shared, is_part ? own[1] * exp(own_top - top) : 0, 0);
  const C scale = 1 / sum;
#if WAY == SOFTMAX
  for (long j = begin; j < end; j += GROUP)
    to[j] = STORE(exp(LOAD(from[j * x_step]) - top) * scale);
#elif WAY == LOG_SOFTMAX
  const C shift = log(sum);
  for (long j = begin; j < end; j += GROUP) to[j] = STORE((LOAD(from[j]) - top) - shift);
#elif WAY == DENSE
  HR_INPUT(T, labels);
  HR_OUTPUT(T, loss);
  const C moved = own[3] == 0 ? 0 : own[3] * (BASE(own_top) - top);
  const C weighted = folded(shared, is_part ? own[2] + moved : 0, 0);
  const C weight = folded(shared, is_part ? own[3] : 0, 0);
  if (part == 0 && item == 0) loss[row] = STORE(weight * log(sum) - weighted);
  global const T *label = labels + row * labels_row;
  for (long j = begin; j < end; j += GROUP)
    to[j] = STORE(exp(LOAD(from[j * x_step]) - top) * scale - LOAD(label[j * labels_step]));
#else
  // The host cannot be told of a label that is no class: its row is NaN.
  HR_INPUT(INDEX, labels);
  HR_OUTPUT(T, loss);
  const long label = labels[row];
  const int valid = label >= 0 && label < n;
  if (part == 0 && item == 0)
    loss[row] = STORE(valid ? log(sum) - (LOAD(from[label]) - top) : (C)NAN);
  for (long j = begin; j < end; j += GROUP)
    to[j] = STORE(exp(LOAD(from[j * x_step]) - top) * (valid ? scale : (C)NAN) - (C)(j == label));
#endif
}
