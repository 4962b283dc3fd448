// What the sources of softmaxes share. WAY is one of those below.

#include "values.cl"

#define SOFTMAX 0
#define LOG_SOFTMAX 1
#define DENSE 2
#define SPARSE 3

// The largest of the values, if none is NaN.
#define LARGER(a, b) ((a) < (b) | (b) != (b) ? (b) : (a))

#if !HR_IS_CPU
// Of the values of a group of GROUP items, the largest or the sum.
#ifdef GROUP
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
#endif
#endif
