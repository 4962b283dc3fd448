// Softmax, LogSoftmax and the cross entropies of a softmax: rows of n classes.
//
// A CPU device folds a row by one item; a GPU by GROUP items, which share local memory.

#if HR_IS_CPU
#define GROUP 1
#endif

#include "softmax_ways.cl"

#if HR_IS_CPU

// The `count` elements from x on, at most 16; other lanes are -inf.
static C16 some(global const T *x, long step, long count) {
  if (count >= 16 && step == 1) return LOAD16(x);
  C lanes[16];
  for (int l = 0; l < 16; ++l) lanes[l] = -INFINITY;
  for (long l = 0; l < min(count, (long)16); ++l) lanes[l] = LOAD(x[l * step]);
  return vload16(0, lanes);
}

static void put(C16 v, global T *y, long count) {
  if (count >= 16) {
    STORE16(v, y);
    return;
  }
  C lanes[16];
  vstore16(v, 0, lanes);
  for (long l = 0; l < count; ++l) y[l] = STORE(lanes[l]);
}

static C largest(global const T *x, long step, long n) {
  C16 top = (C16)(-INFINITY);
  for (long j = 0; j < n; j += 16) {
    const C16 v = some(x + j * step, step, n - j);
    top = LARGER16(top, v);
  }
  C lanes[16];
  vstore16(top, 0, lanes);
  for (int l = 1; l < 16; ++l) lanes[0] = LARGER(lanes[0], lanes[l]);
  return lanes[0];
}

static C sum_of(C16 v) {
  const C8 a = v.lo + v.hi;
  const C4 b = a.lo + a.hi;
  return (b.x + b.y) + (b.z + b.w);
}

// Also puts the exponentials into `to`, if it is not null.
static C sum_of_exponentials(global const T *x, long step, long n, C top, global T *to) {
  C16 sums = (C16)(0);
  for (long j = 0; j < n; j += 16) {
    const C16 e = exp(some(x + j * step, step, n - j) - top);
    // Lanes beyond the row are exp(-inf) = 0, unless top is -inf or NaN, and the row with it.
    sums += e;
    if (to) put(e, to + j, n - j);
  }
  return sum_of(sums);
}

#define ROW_OF_ITEMS(j) for (long j = 0; j < n; ++j)
#define FIRST_ITEM 1
#define ROWS_OF_GROUP                                   \
  const long first_row = get_global_id(0) * per_item;   \
  const long last_row = min(first_row + per_item, rows); \
  for (long row = first_row; row < last_row; ++row)

#else

#define ROW_OF_ITEMS(j) for (long j = get_local_id(0); j < n; j += GROUP)
#define FIRST_ITEM (get_local_id(0) == 0)
#define ROWS_OF_GROUP for (long row = get_group_id(0); row < rows; row += get_num_groups(0))

#endif

// Rows of logits, and of labels, may be one row for all, or one class spread over all.
// Whether the exponentials are kept in y on their way: they are neither rounded there, nor is y read
// as x afterwards.
#if HR_IS_CPU && !defined(T_half) && !defined(T_bfloat16) && (WAY == SOFTMAX || WAY == SPARSE)
#define KEPT 1
#define EXPONENTIAL(j) to[j]
#else
#define KEPT 0
#define EXPONENTIAL(j) exp(LOAD(from[(j) * x_step]) - top)
#endif

kernel void softmax(HR_IN_SHARED(T, x),
#if WAY == DENSE
                    HR_IN_SHARED(T, labels),
#elif WAY == SPARSE
                    HR_IN_SHARED(INDEX, labels),
#endif
#if WAY >= DENSE
                    HR_OUT_SHARED(T, loss),
#endif
                    HR_OUT_SHARED(T, y), const long rows, const long n, const long per_item,
                    const long x_row, const long x_step, const long labels_row,
                    const long labels_step) {
  HR_INPUT(T, x);
#if WAY == DENSE
  HR_INPUT(T, labels);
#elif WAY == SPARSE
  HR_INPUT(INDEX, labels);
#endif
#if WAY >= DENSE
  HR_OUTPUT(T, loss);
#endif
  HR_OUTPUT(T, y);
#if !HR_IS_CPU
  local C shared[GROUP];
#endif
  ROWS_OF_GROUP {
    global const T *from = x + row * x_row;
    global T *to = y + row * n;
#if HR_IS_CPU
    const C top = largest(from, x_step, n);
    const C sum = sum_of_exponentials(from, x_step, n, top, KEPT ? to : 0);
#else
    C top = -INFINITY, sum = 0;
    ROW_OF_ITEMS(j) {
      const C v = LOAD(from[j * x_step]);
      top = LARGER(top, v);
    }
    top = folded(shared, top, 1);
    ROW_OF_ITEMS(j) sum += exp(LOAD(from[j * x_step]) - top);
    sum = folded(shared, sum, 0);
#endif
#if WAY == SOFTMAX
    const C scale = 1 / sum;
    HR_VECTORIZE ROW_OF_ITEMS(j) to[j] = STORE(EXPONENTIAL(j) * scale);
#elif WAY == LOG_SOFTMAX
    const C shift = log(sum);
    HR_VECTORIZE ROW_OF_ITEMS(j) to[j] = STORE((LOAD(from[j]) - top) - shift);
#elif WAY == DENSE
    // A class without weight adds nothing, even where its logit is -inf.
    global const T *label = labels + row * labels_row;
    C weighted = 0, weight = 0;
    ROW_OF_ITEMS(j) {
      const C w = LOAD(label[j * labels_step]), v = LOAD(from[j * x_step]) - top;
      weighted += w == 0 ? 0 : w * v;
      weight += w;
    }
#if !HR_IS_CPU
    weighted = folded(shared, weighted, 0);
    weight = folded(shared, weight, 0);
#endif
    if (FIRST_ITEM) loss[row] = STORE(weight * log(sum) - weighted);
    const C scale = 1 / sum;
    HR_VECTORIZE ROW_OF_ITEMS(j) to[j] =
        STORE(EXPONENTIAL(j) * scale - LOAD(label[j * labels_step]));
#else
    // The host cannot be told of a label that is no class: its row is NaN.
    const long label = labels[row];
    const int valid = label >= 0 && label < n;
    const C scale = valid ? 1 / sum : NAN;
    if (FIRST_ITEM) loss[row] = STORE(valid ? log(sum) - (LOAD(from[label]) - top) : (C)NAN);
    HR_VECTORIZE ROW_OF_ITEMS(j) to[j] =
        STORE(EXPONENTIAL(j) * scale - (C)(j == label));
#endif
  }
}
