// The product of a TILE x TILE tile for GPUs, with RM x RM results for each work item. Slices of
// both operands, TILE x TK, go through local memory in two buffers (or STAGES, in gpu_async.cl):
// one is filled while the other is used.
//
// Each item moves one vector of four elements of each operand per slice. The source that includes
// this says how: it defines A_ALONG_K and B_ALONG_K (whether the four lie along k, or along the
// rows of a, the columns of b), TILE and ALIGNED, and after including gpu_tile.cl the type
// `operand` and
//
//     real4 load_a(operand* a), load_b(operand* b)       the vector of the current slice
//     void advance_a(operand* a), advance_b(operand* b)  goes to the next slice
//
// and then includes gpu_multiply.cl.

#ifndef HR_ASM
#define HR_ASM asm  // inline PTX, as NVIDIA's compiler spells it
#endif
#ifndef TILE
#define TILE 128
#endif
#if TILE == 128
#define RM 8
#define TK 8
#elif TILE == 64
#define RM 4
#define TK 16
#else
#define RM 4
#define TK 8
#endif
#define SIDE (TILE / RM)  // items along a side
#define ITEMS (SIDE * SIDE)
#define GROUPS (RM / 4)  // of four rows, and of four columns, TILE / GROUPS apart
#ifndef STAGES
#define STAGES 2
#endif
#if TF32
#define PITCH (TILE + 8)  // lanes of a warp read 4 k of 8 rows: no two of the same bank
#else
#define PITCH (TILE + 4)
#endif

#define TILED kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))

// Where in a slice an item's vector lies: its row (of a) or column (of b), and its k.
#define ROW_ALONG_K (get_local_id(0) / (TK / 4))
#define K_ALONG_K (get_local_id(0) % (TK / 4) * 4)
#define ROW_ALONG_ROWS (get_local_id(0) % (TILE / 4) * 4)
#define K_ALONG_ROWS (get_local_id(0) / (TILE / 4))
#if A_ALONG_K
#define A_ROW ROW_ALONG_K
#define A_K K_ALONG_K
#else
#define A_ROW ROW_ALONG_ROWS
#define A_K K_ALONG_ROWS
#endif
#if B_ALONG_K
#define B_COLUMN ROW_ALONG_K
#define B_K K_ALONG_K
#else
#define B_COLUMN ROW_ALONG_ROWS
#define B_K K_ALONG_ROWS
#endif

// The first row or column of group g of the item.
#define ITEM_ROW(g) (get_local_id(0) / SIDE * 4 + (g) * (TILE / GROUPS))
#define ITEM_COLUMN(g) (get_local_id(0) % SIDE * 4 + (g) * (TILE / GROUPS))

static inline void put(local real* slice, int row, int k, bool along_k, real4 v) {
  if (along_k) {
    slice[(k + 0) * PITCH + row] = v.s0;
    slice[(k + 1) * PITCH + row] = v.s1;
    slice[(k + 2) * PITCH + row] = v.s2;
    slice[(k + 3) * PITCH + row] = v.s3;
  } else {
    *(local real4*)(slice + k * PITCH + row) = v;
  }
}

// Local memory must be declared in a kernel. Without the alignment, loads of vectors become scalar.
#define LOCAL_SLICES                                                     \
  local real slices_a[STAGES * TK * PITCH] __attribute__((aligned(16))); \
  local real slices_b[STAGES * TK * PITCH] __attribute__((aligned(16)))

#include "gemm/epilogue.cl"

// Stores four results to columns [column, columns) of a row, after their epilogue. ALIGNED: rows
// begin at multiples of four elements, and so do the vectors.
static inline void store_four(real4 v, writer row, int column, int columns, const epilogue* e) {
#if SCALES || SHIFTS
  // Vectors over columns need not be as long as a tile.
  const int last = columns - 1;
#define OF_COLUMNS(p) \
  (real4)(p[min(column, last)], p[min(column + 1, last)], p[min(column + 2, last)], \
          p[min(column + 3, last)])
#if SCALES
  v *= OF_COLUMNS(e->scales);
#endif
#if SHIFTS
  v += OF_COLUMNS(e->shifts);
#endif
#endif
  v = ACTIVATE(v, real4);
#if ALIGNED
  if (column < columns) STORE4_RESULT(v, row + column);
#else
  if (column + 0 < columns) STORE1_RESULT(v.s0, row, column + 0);
  if (column + 1 < columns) STORE1_RESULT(v.s1, row, column + 1);
  if (column + 2 < columns) STORE1_RESULT(v.s2, row, column + 2);
  if (column + 3 < columns) STORE1_RESULT(v.s3, row, column + 3);
#endif
}

// Four elements from p, of which n exist; the others are zeros.
static inline real4 load_four(reader p, int n) {
#if ALIGNED
  return n > 0 ? LOAD4(p) : (real4)(0);
#else
  real4 v = (real4)(0);
  if (n > 0) v.s0 = LOAD1(p, 0);
  if (n > 1) v.s1 = LOAD1(p, 1);
  if (n > 2) v.s2 = LOAD1(p, 2);
  if (n > 3) v.s3 = LOAD1(p, 3);
  return v;
#endif
}
