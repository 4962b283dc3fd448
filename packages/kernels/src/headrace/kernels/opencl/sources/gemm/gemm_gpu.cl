// c = op(a) * op(b) for GPUs. Defines: TILE; TRANSPOSE_A and TRANSPOSE_B, 0 or 1; ALIGNED, 1 if the
// rows of all three matrices begin at multiples of four elements and all that are read four at a
// time come in fours. For NVIDIA's GPUs, with tiles of 128 and ALIGNED floats: ASYNC=1 copies in
// the background; TF32=1 uses tensor cores, on rounded operands.

#include "gemm/gpu_elements.cl"

#define A_ALONG_K (!TRANSPOSE_A)
#define B_ALONG_K TRANSPOSE_B

#include "gemm/gpu_tile.cl"

typedef struct {
  reader at;
  long step;   // of `at`, for one slice
  int k;       // of the vector's first element
  int last;    // elements along k
  int inside;  // how many of four rows, or of the one row, exist
} operand;

static inline real4 load_operand(const operand* o, bool along_k) {
  if (along_k) return load_four(o->at, o->inside > 0 ? o->last - o->k : 0);
  return load_four(o->at, o->k < o->last ? o->inside : 0);
}
static inline void advance_operand(operand* o) {
  o->at += o->step;
  o->k += TK;
}
static inline reader source(const operand* o) { return o->at; }
static inline bool exists(const operand* o, bool along_k) {
  return o->inside > 0 && o->k < o->last;
}
static inline real4 load_a(const operand* a) { return load_operand(a, A_ALONG_K); }
static inline real4 load_b(const operand* b) { return load_operand(b, B_ALONG_K); }
static inline void advance_a(operand* a) { advance_operand(a); }
static inline void advance_b(operand* b) { advance_operand(b); }

#include "gemm/gpu_multiply.cl"

// Grid: tiles along m, tiles along n, products of the batch times parts of k.
TILED void gemm(HR_IN(T, all_a), HR_IN(T, all_b), HR_OUT(R, all_c), int m, int n, int k, int lda,
                int ldb, int parts, int part_k, int batch, long a_inner, long a_outer, long b_inner,
                long b_outer EPILOGUE_PARAMETERS) {
  EPILOGUE_INPUTS;
  HR_INPUT(T, all_a);
  HR_INPUT(T, all_b);
  HR_OUTPUT(R, all_c);
  LOCAL_SLICES;
  const int product = get_group_id(2) / parts, part = get_group_id(2) % parts;
  const int i0 = get_group_id(0) * TILE, j0 = get_group_id(1) * TILE;
  const int k0 = part * part_k, k1 = min(k, k0 + part_k);
  const int row = i0 + A_ROW, column = j0 + B_COLUMN;
  operand a, b;
  a.k = k0 + A_K;
  b.k = k0 + B_K;
  a.last = b.last = k1;
  a.inside = m - row;
  b.inside = n - column;
  a.step = A_ALONG_K ? TK : (long)TK * lda;
  b.step = B_ALONG_K ? TK : (long)TK * ldb;
  a.at = all_a + (product / batch * a_outer + product % batch * a_inner) +
         (A_ALONG_K ? (long)row * lda + a.k : (long)a.k * lda + row);
  b.at = all_b + (product / batch * b_outer + product % batch * b_inner) +
         (B_ALONG_K ? (long)column * ldb + b.k : (long)b.k * ldb + column);
  sums result;
  multiply_tile(&result, &a, &b, k1 - k0, slices_a, slices_b);
  const epilogue e = EPILOGUE_OF(0);
  store_tile(&result, all_c + (long)get_group_id(2) * m * n, i0, j0, m, n, &e);
}
