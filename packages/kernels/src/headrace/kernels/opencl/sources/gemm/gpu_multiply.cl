// The loop of gpu_tile.cl, over the operands that the including source has defined.

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

// The whole product: both operands stand at the tile's first slice.
static inline __attribute__((always_inline)) void multiply_tile(sums* result, operand* a, operand* b, int length, local real* slices_a,
                          local real* slices_b) {
#pragma unroll
  for (int r = 0; r < RM; ++r) {
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) result->at[r][g] = (real4)(0);
  }
  put(slices_a, A_ROW, A_K, A_ALONG_K, load_a(a));
  put(slices_b, B_COLUMN, B_K, B_ALONG_K, load_b(b));
  barrier(CLK_LOCAL_MEM_FENCE);
  int buffer = 0;
  for (int done = 0; done < length; done += TK) {
    const bool more = done + TK < length;
    real4 next_a, next_b;
    if (more) {
      advance_a(a);
      advance_b(b);
      next_a = load_a(a);
      next_b = load_b(b);
    }
    multiply_slice(result, slices_a + buffer, slices_b + buffer);
    buffer = TK * PITCH - buffer;
    if (more) {
      put(slices_a + buffer, A_ROW, A_K, A_ALONG_K, next_a);
      put(slices_b + buffer, B_COLUMN, B_K, B_ALONG_K, next_b);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
