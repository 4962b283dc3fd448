// Sums the parts of products that several work-groups made, always in the same order.

#include "gemm/gpu_elements.cl"

#include "gemm/epilogue.cl"

#ifndef LINES
#define LINES 1  // items that share the parts of an element: a power of two
#endif
#if LINES == 1
#define ELEMENTS 64  // of a group
#else
#define ELEMENTS 32
#endif

// sum[n] = parts[0][n] + ... + parts[count - 1][n] for each product, and the epilogue, of rows of
// `columns` elements. Grid: elements, LINES, products.
kernel __attribute__((reqd_work_group_size(ELEMENTS, LINES, 1))) void sum_parts(
    HR_IN(real, all_parts), HR_OUT(T, all_sums), long n, int count, int columns
    EPILOGUE_PARAMETERS) {
  EPILOGUE_INPUTS;
  HR_INPUT(real, all_parts);
  HR_OUTPUT(T, all_sums);
  const long i = get_global_id(0);
  const int line = get_local_id(1);
  global const real* parts = all_parts + (long)get_group_id(2) * count * n;
  real total = 0;
  if (i < n) {
    for (int p = line; p < count; p += LINES) total += parts[p * n + i];
  }
#if LINES > 1
  local real totals[LINES][ELEMENTS];
  const int x = get_local_id(0);
  totals[line][x] = total;
  for (int some = LINES / 2; some > 0; some /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (line < some) totals[line][x] += totals[line + some][x];
  }
  total = totals[line][x];
#endif
  if (i >= n || line > 0) return;
  const epilogue e = EPILOGUE_OF(0);
  STORE1(finish_one(total, i % columns, &e), all_sums + (long)get_group_id(2) * n, i);
}
