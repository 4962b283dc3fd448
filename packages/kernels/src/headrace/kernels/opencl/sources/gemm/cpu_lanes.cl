// Vectors over channels for the CPU family: LANES at a time, fewer at the end of a pixel.

#include "gemm/cpu_block.cl"

static inline vec load_lanes(reader p, int n) {
  if (n >= LANES) return LOAD(p);
  real lanes[LANES];
  for (int i = 0; i < LANES; ++i) lanes[i] = i < n ? LOAD1(p, i) : (real)0;
  return *(vec*)lanes;
}

static inline void store_lanes(vec value, pointer p, int n) {
  if (n >= LANES) {
    STORE(value, p);
  } else {
    real lanes[LANES];
    *(vec*)lanes = value;
    for (int i = 0; i < n; ++i) STORE1(lanes[i], p, i);
  }
}

// The same for results, which may be parts.
static inline vec load_parts(__global const real* p, int n) {
  if (n >= LANES) return VLOAD_REAL(p);
  real lanes[LANES];
  for (int i = 0; i < LANES; ++i) lanes[i] = i < n ? p[i] : (real)0;
  return *(vec*)lanes;
}

static inline void store_results(vec value, result_pointer p, int n) {
  if (n >= LANES) {
    STORE_RESULT(value, p);
  } else {
    real lanes[LANES];
    *(vec*)lanes = value;
    for (int i = 0; i < n; ++i) STORE1_RESULT(lanes[i], p, i);
  }
}

// The positions along one axis of y whose window's element at `offset` from its begin is inside.
static inline int first_inside(int offset, int stride) {
  return offset >= 0 ? 0 : (-offset + stride - 1) / stride;
}
static inline int after_inside(int offset, int stride, int in, int out) {
  return offset >= in ? 0 : min(out, (in - offset + stride - 1) / stride);
}
