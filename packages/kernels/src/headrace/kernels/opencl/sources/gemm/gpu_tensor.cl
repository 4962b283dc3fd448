// Slices of gpu_tile.cl multiplied by tensor cores, as TF32: operands are rounded to 10 bits of
// mantissa, sums are float. NVIDIA's GPUs from sm_80 on, tiles of 128 x 128, 8 warps of 64 x 32.

#define WARP (get_local_id(0) / 32)
#define LANE (get_local_id(0) % 32)
#define WARP_ROW (WARP / 4 * 64)
#define WARP_COLUMN (WARP % 4 * 32)

// Of mma.m16n8k8: a lane has two rows of two columns of each product of 16 x 8.
typedef struct {
  float at[4][4][4];  // rows / 16, columns / 8, as the instruction has them
} sums;

static inline void clear_sums(sums* result) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) result->at[i][j][c] = 0;
    }
  }
}

// The row and the column in the tile of sum c of product (i, j).
#define SUM_ROW(i, c) (WARP_ROW + 16 * (i) + LANE / 4 + (c) / 2 * 8)
#define SUM_COLUMN(j, c) (WARP_COLUMN + 8 * (j) + LANE % 4 * 2 + (c) % 2)

#if HR_NVIDIA
static inline uint as_tf32(float x) {
  uint rounded;
  HR_ASM("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
}

static inline void multiply_slice(sums* result, local const real* a, local const real* b) {
#pragma unroll
  for (int k = 0; k < TK; k += 8) {
    uint x[4][4], y[4][2];
    const int one = k + LANE % 4, other = one + 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = WARP_ROW + 16 * i + LANE / 4;
      x[i][0] = as_tf32(a[one * PITCH + row]);
      x[i][1] = as_tf32(a[one * PITCH + row + 8]);
      x[i][2] = as_tf32(a[other * PITCH + row]);
      x[i][3] = as_tf32(a[other * PITCH + row + 8]);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = WARP_COLUMN + 8 * j + LANE / 4;
      y[j][0] = as_tf32(b[one * PITCH + column]);
      y[j][1] = as_tf32(b[other * PITCH + column]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float* c = result->at[i][j];
        HR_ASM(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, "
            "%7}, "
            "{%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]),
            "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]),
            "r"(x[i][3]), "r"(y[j][0]), "r"(y[j][1]));
      }
    }
  }
}
#else  // the same sums without the instruction, to test what is around it
static inline void multiply_slice(sums* result, local const real* a, local const real* b) {
  for (int k = 0; k < TK; ++k) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        for (int c = 0; c < 4; ++c)
          result->at[i][j][c] += a[k * PITCH + SUM_ROW(i, c)] * b[k * PITCH + SUM_COLUMN(j, c)];
      }
    }
  }
}
#endif

// Stores the sums of rows [i0, m) and columns [j0, n) of the tile at (i0, j0).
static inline void store_tile(const sums* result, writer c, int i0, int j0, int m, int n,
                              const epilogue* e) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int row = i0 + SUM_ROW(i, part), column = j0 + SUM_COLUMN(j, part);
        if (row < m && column < n)
          c[(long)row * n + column] = finish_one(result->at[i][j][part], column, e);
      }
    }
  }
}
