// Slices of gpu_tile.cl multiplied by fused multiply-adds: RM x RM results for each item.

typedef struct {
  real4 at[RM][GROUPS];  // row, group of columns
} sums;

static inline void clear_sums(sums* result) {
#pragma unroll
  for (int r = 0; r < RM; ++r) {
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) result->at[r][g] = (real4)(0);
  }
}

static inline void multiply_slice(sums* result, local const real* a, local const real* b) {
#pragma unroll
  for (int k = 0; k < TK; ++k) {
    real4 x[GROUPS], y[GROUPS];
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
      x[g] = *(local const real4*)(a + k * PITCH + ITEM_ROW(g));
      y[g] = *(local const real4*)(b + k * PITCH + ITEM_COLUMN(g));
    }
#pragma unroll
    for (int h = 0; h < GROUPS; ++h) {
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
        result->at[4 * h + 0][g] = fma((real4)(x[h].s0), y[g], result->at[4 * h + 0][g]);
        result->at[4 * h + 1][g] = fma((real4)(x[h].s1), y[g], result->at[4 * h + 1][g]);
        result->at[4 * h + 2][g] = fma((real4)(x[h].s2), y[g], result->at[4 * h + 2][g]);
        result->at[4 * h + 3][g] = fma((real4)(x[h].s3), y[g], result->at[4 * h + 3][g]);
      }
    }
  }
}

// Stores the sums of rows [i0, m) and columns [j0, n) of the tile at (i0, j0).
static inline void store_tile(const sums* result, writer c, int i0, int j0, int m, int n,
                              const epilogue* e) {
#pragma unroll
  for (int h = 0; h < GROUPS; ++h) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = i0 + ITEM_ROW(h) + r;
      if (i >= m) continue;
#pragma unroll
      for (int g = 0; g < GROUPS; ++g)
        store_four(result->at[4 * h + r][g], c + (long)i * n, j0 + ITEM_COLUMN(g), n, e);
    }
  }
}
