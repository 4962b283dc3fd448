// Softmax, LogSoftmax and the cross entropies of a softmax: rows of n classes.
//
// WAY is one of those below.
// A CPU device folds a row by one item; a GPU by GROUP items, which share local memory.
#include "values.cl"

#define SOFTMAX 0
#define LOG_SOFTMAX 1
#define DENSE 2
#define SPARSE 3

#if HR_IS_CPU
#define GROUP 1
#endif

// The largest of the values, if none is NaN.
#define LARGER(a, b) ((a) < (b) | (b) != (b) ? (b) : (a))

#if HR_IS_CPU

#define LANES 16

static C largest(global const T *x, long step, long n) {
  C lanes[LANES];
  for (int l = 0; l < LANES; ++l) lanes[l] = -INFINITY;
  long j = 0;
  if (step == 1)
    for (; j + LANES <= n; j += LANES) {
      _Pragma("unroll") for (int l = 0; l < LANES; ++l) {
        const C v = LOAD(x[j + l]);
        lanes[l] = LARGER(lanes[l], v);
      }
    }
  for (; j < n; ++j) {
    const C v = LOAD(x[j * step]);
    lanes[0] = LARGER(lanes[0], v);
  }
  for (int step = LANES / 2; step; step /= 2)
    for (int l = 0; l < step; ++l) lanes[l] = LARGER(lanes[l], lanes[l + step]);
  return lanes[0];
}

static C sum_of_exponentials(global const T *x, long step, long n, C top) {
  C lanes[LANES];
  for (int l = 0; l < LANES; ++l) lanes[l] = 0;
  long j = 0;
  if (step == 1)
    for (; j + LANES <= n; j += LANES) {
      _Pragma("unroll") for (int l = 0; l < LANES; ++l) lanes[l] += exp(LOAD(x[j + l]) - top);
    }
  for (; j < n; ++j) lanes[0] += exp(LOAD(x[j * step]) - top);
  for (int step = LANES / 2; step; step /= 2)
    for (int l = 0; l < step; ++l) lanes[l] += lanes[l + step];
  return lanes[0];
}

#define ROW_OF_ITEMS(j) for (long j = 0; j < n; ++j)
#define FIRST_ITEM 1
#define ROWS_OF_GROUP                                   \
  const long first_row = get_global_id(0) * per_item;   \
  const long last_row = min(first_row + per_item, rows); \
  for (long row = first_row; row < last_row; ++row)

#else

static C folded(local C *shared, C value, int is_max) {
  const int lane = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  shared[lane] = value;
  for (int step = GROUP / 2; step; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < step) {
      const C a = shared[lane], b = shared[lane + step];
      shared[lane] = is_max ? LARGER(a, b) : a + b;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return shared[0];
}

#define ROW_OF_ITEMS(j) for (long j = get_local_id(0); j < n; j += GROUP)
#define FIRST_ITEM (get_local_id(0) == 0)
#define ROWS_OF_GROUP for (long row = get_group_id(0); row < rows; row += get_num_groups(0))

#endif

// Rows of logits, and of labels, may be one row for all, or one class spread over all.
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
    const C sum = sum_of_exponentials(from, x_step, n, top);
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
    HR_VECTORIZE ROW_OF_ITEMS(j) to[j] = STORE(exp(LOAD(from[j]) - top) * scale);
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
        STORE(exp(LOAD(from[j * x_step]) - top) * scale - LOAD(label[j * labels_step]));
#else
    // The host cannot be told of a label that is no class: its row is NaN.
    const long label = labels[row];
    const int valid = label >= 0 && label < n;
    const C scale = valid ? 1 / sum : NAN;
    if (FIRST_ITEM) loss[row] = STORE(valid ? log(sum) - (LOAD(from[label]) - top) : (C)NAN);
    HR_VECTORIZE ROW_OF_ITEMS(j) to[j] =
        STORE(exp(LOAD(from[j]) - top) * scale - (C)(j == label));
#endif
  }
}
