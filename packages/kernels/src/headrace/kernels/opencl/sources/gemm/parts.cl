// Sums the parts of a product that several work-groups made, always in the same order.

#if HR_IS_CPU
#include "gemm/cpu_lanes.cl"
#define ELEMENTS 2048  // of an item

// sum[n] = parts[0][n] + ... + parts[count - 1][n]. Grid: blocks of ELEMENTS elements.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sum_parts(HR_IN(real, parts),
                                                                       HR_OUT(T, sum), long n,
                                                                       int count) {
  HR_INPUT(real, parts);
  HR_OUTPUT(T, sum);
  const long end = min(n, (long)(get_group_id(0) + 1) * ELEMENTS);
  for (long i = (long)get_group_id(0) * ELEMENTS; i < end; i += LANES) {
    const int left = (int)min((long)LANES, end - i);
    vec total = (vec)(0);
    for (int p = 0; p < count; ++p) total += load_parts(parts + p * n + i, left);
    store_lanes(total, sum + i, left);
  }
}
#else
#include "gemm/gpu_elements.cl"

// Grid: elements.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum_parts(HR_IN(real, parts),
                                                                      HR_OUT(T, sum), long n,
                                                                      int count) {
  HR_INPUT(real, parts);
  HR_OUTPUT(T, sum);
  const long i = get_global_id(0);
  if (i >= n) return;
  real total = 0;
  for (int p = 0; p < count; ++p) total += parts[p * n + i];
  STORE1(total, sum, i);
}
#endif
