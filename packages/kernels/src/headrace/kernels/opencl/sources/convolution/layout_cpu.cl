// Transposes matrices, for images between NHWC and NCHW.

#include "gemm/cpu_lanes.cl"

// to[n][columns][rows] = from[n][rows][columns]. Grid: blocks of LANES columns, of LANES rows, n.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void transpose(HR_IN(T, all_from),
                                                                       HR_OUT(T, all_to), int rows,
                                                                       int columns) {
  HR_INPUT(T, all_from);
  HR_OUTPUT(T, all_to);
  __local real square[LANES * NR] __attribute__((aligned(64)));
  const int j0 = get_group_id(0) * LANES, i0 = get_group_id(1) * LANES;
  const long begin = (long)get_group_id(2) * rows * columns;
  reader from = all_from + begin + ((long)i0 * columns + j0);
  pointer to = all_to + begin + ((long)j0 * rows + i0);
  const int n = min(LANES, rows - i0), m = min(LANES, columns - j0);
  if (m == LANES) {
    transpose_square(from, columns, n, square);
    for (int j = 0; j < LANES; ++j) store_lanes(VECTOR(square + j * NR), to + (long)j * rows, n);
  } else {
    for (int j = 0; j < m; ++j) {
      for (int i = 0; i < n; ++i) STORE1(LOAD1(from, i * columns + j), to, j * rows + i);
    }
  }
}
