#include "gemm/cpu_block.cl"

// c = op(a) * op(b) by tiles of `rows` x NR, one work item each.
//
// Without PACKED an item packs the panels of b that it needs. With it, a launch before has packed
// all of b, and a if it is transposed: worth it where many row tiles need the same panel.

#define PACK_A_ROWS 32

#ifdef PACKED
#define B_ELEMENT real
#else
#define B_ELEMENT T
#endif

// Grid: column panels, row tiles, products of the batch times parts of k.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm(
    HR_IN(T, all_a), HR_IN(B_ELEMENT, all_b), HR_OUT(T, all_c), int m, int n, int k, int lda,
    int ldb, int transpose_a, int transpose_b, int rows, int parts, int part_k, int batch,
    long a_inner, long a_outer, long b_inner, long b_outer EPILOGUE_PARAMETERS) {
  EPILOGUE_INPUTS;
  HR_INPUT(T, all_a);
  HR_INPUT(B_ELEMENT, all_b);
  HR_OUTPUT(T, all_c);
#ifdef PACKED
  const long whole_panel = (long)get_group_id(0) * k * NR;
#else
  __local real panel_scratch[KC * NR] __attribute__((aligned(64)));
#endif
  __local real sums[MC * NR] __attribute__((aligned(64)));
  const int product = get_group_id(2) / parts, part = get_group_id(2) % parts;
  reader a = all_a + (product / batch * a_outer + product % batch * a_inner);
  __global const B_ELEMENT* b = all_b + (product / batch * b_outer + product % batch * b_inner);
  pointer c = all_c + (long)get_group_id(2) * m * n;
  const int j0 = get_group_id(0) * NR, width = min(NR, n - j0);
  const int i0 = get_group_id(1) * rows, i1 = min(m, i0 + rows);
  const epilogue e = EPILOGUE_OF(j0);
#ifdef PACKED
  const long row = transpose_a ? 1 : lda, step = transpose_a ? MR : 1;
#else
  const long row = transpose_a ? 1 : lda, step = transpose_a ? lda : 1;
#endif
  const int k1 = min(k, (part + 1) * part_k);
  for (int k0 = part * part_k; k0 < k1; k0 += KC) {
    const int depth = min(KC, k1 - k0);
#ifdef PACKED
    const scratch panel = AS_SCRATCH(b + (whole_panel + k0 * NR));
#else
    const scratch panel = panel_scratch;
    if (transpose_b) pack_columns(b + (long)j0 * ldb + k0, ldb, depth, width, panel);
    else pack_rows(b + (long)k0 * ldb + j0, ldb, depth, width, panel);
#endif
    for (int i = i0; i < i1; i += MR) {
      reader at[MR];
#pragma unroll
      for (int r = 0; r < MR; ++r) {
#ifdef PACKED
        at[r] = transpose_a ? a + ((long)i * k + k0 * MR + r) : a + (min(i + r, m - 1) * row + k0);
#else
        at[r] = a + (min(i + r, m - 1) * row + k0 * step);
#endif
      }
      block sum;
      clear(&sum);
#define INDEX(q) (q) * step
      MULTIPLY(&sum, at, depth, panel, INDEX)
      const bool first = k0 == part * part_k;
      if (k0 + KC < k1) {
        keep(&sum, sums + (i - i0) * NR, first);
      } else {
        pointer to[MR];
#pragma unroll
        for (int r = 0; r < MR; ++r) to[r] = c + ((long)(i + r) * n + j0);
        store_block(&sum, sums + (i - i0) * NR, first, i1 - i, width, to, &e);
      }
    }
  }
}

// Packs b into column panels, [n / NR][k][NR]. Grid: panels, blocks of KC rows.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pack_b(HR_IN(T, b),
                                                                    HR_OUT(real, packed), int n,
                                                                    int k, int ldb,
                                                                    int transpose_b) {
  HR_INPUT(T, b);
  HR_OUTPUT(real, packed);
  const int j0 = get_group_id(0) * NR, k0 = get_group_id(1) * KC;
  const int width = min(NR, n - j0), depth = min(KC, k - k0);
  scratch to = AS_SCRATCH(packed + ((long)get_group_id(0) * k + k0) * NR);
  if (transpose_b) pack_columns(b + (long)j0 * ldb + k0, ldb, depth, width, to);
  else pack_rows(b + (long)k0 * ldb + j0, ldb, depth, width, to);
}

// Packs a[k][m] into row panels, [m / MR][k][MR]. Grid: blocks of PACK_A_ROWS rows of a.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pack_a(HR_IN(T, a), HR_OUT(T, packed),
                                                                    int m, int k, int lda) {
  HR_INPUT(T, a);
  HR_OUTPUT(T, packed);
  const int k0 = get_group_id(0) * PACK_A_ROWS, depth = min(PACK_A_ROWS, k - k0);
  for (int i = 0; i < m; i += MR) {
    reader from = a + (long)k0 * lda + i;
    pointer to = packed + (long)i * k + k0 * MR;
    if (i + MR <= m) {
      for (int q = 0; q < depth; ++q, from += lda, to += MR) {
#pragma unroll
        for (int r = 0; r < MR; ++r) STORE1(LOAD1(from, r), to, r);
      }
    } else {
      for (int q = 0; q < depth; ++q, from += lda, to += MR) {
        for (int r = 0; i + r < m; ++r) STORE1(LOAD1(from, r), to, r);
      }
    }
  }
}
