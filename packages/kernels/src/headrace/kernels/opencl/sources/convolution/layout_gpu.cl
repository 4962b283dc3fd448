// Transposes matrices through local memory, for images between NHWC and NCHW.

#include "gemm/gpu_elements.cl"

#define SQUARE 32
#define LINES 8  // that a group moves at a time

// to[n][columns][rows] = from[n][rows][columns]. Grid: blocks of SQUARE rows and columns,
// LINES, n: an image may have more blocks of rows than a second dimension has groups.
kernel __attribute__((reqd_work_group_size(SQUARE, LINES, 1))) void transpose(HR_IN(T, all_from),
                                                                              HR_OUT(T, all_to),
                                                                              int rows,
                                                                              int columns) {
  HR_INPUT(T, all_from);
  HR_OUTPUT(T, all_to);
  local real square[SQUARE][SQUARE + 1];
  const long begin = (long)get_group_id(2) * rows * columns;
  reader from = all_from + begin;
  writer to = all_to + begin;
  const int x = get_local_id(0), y = get_local_id(1);
  const int blocks = (columns + SQUARE - 1) / SQUARE;  // along a row
  const int i0 = (int)(get_group_id(0) / blocks) * SQUARE;
  const int j0 = (int)(get_group_id(0) % blocks) * SQUARE;
  for (int r = y; r < SQUARE; r += LINES) {
    if (i0 + r < rows && j0 + x < columns)
      square[r][x] = LOAD1(from, (long)(i0 + r) * columns + j0 + x);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int r = y; r < SQUARE; r += LINES) {
    if (j0 + r < columns && i0 + x < rows) STORE1(square[x][r], to, (long)(j0 + r) * rows + i0 + x);
  }
}
