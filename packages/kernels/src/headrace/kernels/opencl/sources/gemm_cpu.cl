// c = op(a) * op(b) by tiles of `rows` x NR, one work item each.

// Grid: column panels, row tiles, products of the batch times parts of k.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm(
    TENSOR(const T, a_), TENSOR(const T, b_), TENSOR(T, c_), int m, int n, int k, int lda, int ldb,
    int transpose_a, int transpose_b, int rows, int parts, int part_k, int batch, long a_inner,
    long a_outer, long b_inner, long b_outer) {
  __local real panel[KC * NR] __attribute__((aligned(64)));
  __local real sums[MC * NR] __attribute__((aligned(64)));
  const int product = get_group_id(2) / parts, part = get_group_id(2) % parts;
  reader a = AT(const T, a_) + product / batch * a_outer + product % batch * a_inner;
  reader b = AT(const T, b_) + product / batch * b_outer + product % batch * b_inner;
  pointer c = AT(T, c_) + (long)get_group_id(2) * m * n;
  const int j0 = get_group_id(0) * NR, width = min(NR, n - j0);
  const int i0 = get_group_id(1) * rows, i1 = min(m, i0 + rows);
  const long row = transpose_a ? 1 : lda, step = transpose_a ? lda : 1;
  const int k1 = min(k, (part + 1) * part_k);
  for (int k0 = part * part_k; k0 < k1; k0 += KC) {
    const int depth = min(KC, k1 - k0);
    if (transpose_b) pack_columns(b + (long)j0 * ldb + k0, ldb, depth, width, panel);
    else pack_rows(b + (long)k0 * ldb + j0, ldb, depth, width, panel);
    for (int i = i0; i < i1; i += MR) {
      reader at[MR];
#pragma unroll
      for (int r = 0; r < MR; ++r) at[r] = a + min(i + r, m - 1) * row + k0 * step;
      block sum;
      clear(&sum);
#define INDEX(q) (q) * step
      MULTIPLY(&sum, at, depth, panel, INDEX)
      keep(&sum, sums + (i - i0) * NR, k0 == part * part_k);
    }
  }
  for (int i = i0; i < i1; ++i) store_row(sums + (i - i0) * NR, width, c + (long)i * n + j0);
}
