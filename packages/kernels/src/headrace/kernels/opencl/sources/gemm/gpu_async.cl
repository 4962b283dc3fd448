// The loop of gpu_tile.cl with copies that a GPU of NVIDIA makes in the background (cp.async, from
// sm_80 on): STAGES slices are on their way or in use. Operands must be ALIGNED floats, and have
//
//     reader source(const operand* o)          where the vector of the current slice is
//     bool exists(const operand* o, along_k)   whether it is inside of the matrix

#if HR_NVIDIA
// Zeros where nothing exists.
static inline void copy_four(local real* to, reader from, bool some) {
  HR_ASM volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint)(size_t)to),
                  "l"(from), "r"(some ? 16 : 0) : "memory");
}
static inline void copy_one(local real* to, reader from, bool some) {
  HR_ASM volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint)(size_t)to), "l"(from),
                  "r"(some ? 4 : 0) : "memory");
}
#define COMMIT_COPIES HR_ASM volatile("cp.async.commit_group;" ::: "memory")
// All but the last `n` groups have arrived.
#define AWAIT_COPIES(n) HR_ASM volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#else  // at once, to test the loop
static inline void copy_one(local real* to, reader from, bool some) { *to = some ? *from : 0; }
static inline void copy_four(local real* to, reader from, bool some) {
  for (int i = 0; i < 4; ++i) copy_one(to + i, from + i, some);
}
#define COMMIT_COPIES
#define AWAIT_COPIES(n)
#endif

static inline void fetch(local real* slice, int row, int k, bool along_k, const operand* o) {
  const bool some = exists(o, along_k);
  reader from = source(o);
  if (along_k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) copy_one(slice + (k + i) * PITCH + row, from + i, some);
  } else {
    copy_four(slice + k * PITCH + row, from, some);
  }
}

static inline __attribute__((always_inline)) void multiply_tile(sums* result, operand* a,
                                                                operand* b, int length,
                                                                local real* slices_a,
                                                                local real* slices_b) {
  clear_sums(result);
  int next = 0;  // the stage that is filled next
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s * TK < length) {
      fetch(slices_a + s * TK * PITCH, A_ROW, A_K, A_ALONG_K, a);
      fetch(slices_b + s * TK * PITCH, B_COLUMN, B_K, B_ALONG_K, b);
      advance_a(a);
      advance_b(b);
    }
    COMMIT_COPIES;
  }
  next = STAGES - 1;
  int used = 0;
  for (int done = 0; done < length; done += TK) {
    AWAIT_COPIES(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);  // of all items; and nobody still uses the stage that comes next
    if (done + (STAGES - 1) * TK < length) {
      fetch(slices_a + next * TK * PITCH, A_ROW, A_K, A_ALONG_K, a);
      fetch(slices_b + next * TK * PITCH, B_COLUMN, B_K, B_ALONG_K, b);
      advance_a(a);
      advance_b(b);
    }
    COMMIT_COPIES;
    multiply_slice(result, slices_a + used * TK * PITCH, slices_b + used * TK * PITCH);
    used = used + 1 == STAGES ? 0 : used + 1;
    next = next + 1 == STAGES ? 0 : next + 1;
  }
}
