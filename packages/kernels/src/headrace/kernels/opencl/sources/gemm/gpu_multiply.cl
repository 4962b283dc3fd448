// The loop of gpu_tile.cl, over the operands that the including source has defined.

#if TF32
#include "gemm/gpu_tensor.cl"
#else
#include "gemm/gpu_fma.cl"
#endif

#if ASYNC
#include "gemm/gpu_async.cl"
#else
// The whole product: both operands stand at the tile's first slice.
static inline __attribute__((always_inline)) void multiply_tile(sums* result, operand* a,
                                                                operand* b, int length,
                                                                local real* slices_a,
                                                                local real* slices_b) {
  clear_sums(result);
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
#endif
