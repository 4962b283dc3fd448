// Sums the parts of products that several work-groups made, always in the same order.

#include "gemm/cpu_lanes.cl"
#define ELEMENTS 2048  // of an item

// sum[n] = parts[0][n] + ... + parts[count - 1][n] for each product. Grid: blocks of ELEMENTS
// elements, products.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sum_parts(HR_IN(real, all_parts),
                                                                       HR_OUT(T, all_sums), long n,
                                                                       int count) {
  HR_INPUT(real, all_parts);
  HR_OUTPUT(T, all_sums);
  __global const real* parts = all_parts + (long)get_group_id(1) * count * n;
  pointer sum = all_sums + (long)get_group_id(1) * n;
  const long end = min(n, (long)(get_group_id(0) + 1) * ELEMENTS);
  for (long i = (long)get_group_id(0) * ELEMENTS; i < end; i += LANES) {
    const int left = (int)min((long)LANES, end - i);
    vec total = (vec)(0);
    for (int p = 0; p < count; ++p) total += load_parts(parts + p * n + i, left);
    store_lanes(total, sum + i, left);
  }
}
