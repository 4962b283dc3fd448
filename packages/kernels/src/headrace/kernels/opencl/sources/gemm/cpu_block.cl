// The register block of the CPU family: MR rows of NV vectors, multiplied out of a packed panel.
//
// A work-group has one work item, which owns a tile of the result. Local memory is a core's
// scratch; there are no barriers. Defines: MR, NV, KC, and T_DOUBLE or T_HALF for other elements
// than float.

#if defined(T_DOUBLE)
typedef double T;
typedef double real;
typedef double8 vec;
#define LANES 8
#define LOAD(p) vload8(0, p)
#define VLOAD_REAL(p) vload8(0, p)
#define STORE(v, p) vstore8(v, 0, p)
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#elif defined(T_HALF)  // half in memory, float in registers and scratch
#include "half_vectors.cl"
typedef half T;
typedef float real;
typedef float16 vec;
#define LANES 16
#define LOAD(p) hr_load_half16((global const ushort*)(p))
#define VLOAD_REAL(p) vload16(0, p)
#define STORE(v, p) hr_store_half16(v, (global ushort*)(p))
#define LOAD1(p, i) vload_half(i, p)
#define STORE1(x, p, i) vstore_half(x, i, p)
#else
typedef float T;
typedef float real;
typedef float16 vec;
#define LANES 16
#define LOAD(p) vload16(0, p)
#define VLOAD_REAL(p) vload16(0, p)
#define STORE(v, p) vstore16(v, 0, p)
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

// What a product writes: T, or, if it is one of several parts that are added up, real (PARTS).
#if defined(T_HALF) && defined(PARTS)
typedef real R;
#define STORE_RESULT(v, p) vstore16(v, 0, p)
#define STORE1_RESULT(x, p, i) ((p)[i] = (x))
#else
typedef T R;
#define STORE_RESULT(v, p) STORE(v, p)
#define STORE1_RESULT(x, p, i) STORE1(x, p, i)
#endif

#ifndef MR
#define MR 8
#endif
#ifndef NV
#define NV 2
#endif
#ifndef KC
#define KC 256  // rows of a panel: with 32 floats each it fills most of a first-level cache
#endif
#define NR (LANES * NV)
#ifndef MC
#define MC 96  // rows of a tile
#endif

typedef __global T* pointer;
typedef __global const T* reader;
typedef __global R* result_pointer;
typedef __local real* scratch;
#define VECTOR(p) (*(__local vec*)(p))

// On a CPU all memory is one: a pointer to scratch can stand where one to a tensor does.
#define AS_READER(p) ((reader)(uintptr_t)(p))
#define AS_SCRATCH(p) ((scratch)(uintptr_t)(p))

typedef struct {
  vec at[MR][NV];
} block;

static inline void clear(block* sum) {
#pragma unroll
  for (int r = 0; r < MR; ++r) {
#pragma unroll
    for (int v = 0; v < NV; ++v) sum->at[r][v] = (vec)(0);
  }
}

// sum[MR][NR] += a[MR][n] * panel[n][NR]. INDEX(q): where element q of each row of `a` is.
#define MULTIPLY(sum, a, n, panel, INDEX)                                      \
  for (int q = 0; q < (n); ++q) {                                              \
    const long index = INDEX(q);                                               \
    vec panel_row[NV];                                                         \
    _Pragma("unroll") for (int v = 0; v < NV; ++v) panel_row[v] =              \
        VECTOR((panel) + q * NR + v * LANES);                                  \
    _Pragma("unroll") for (int r = 0; r < MR; ++r) {                           \
      const vec element = (vec)(LOAD1((a)[r], index));                         \
      _Pragma("unroll") for (int v = 0; v < NV; ++v) (sum)->at[r][v] =         \
          fma(element, panel_row[v], (sum)->at[r][v]);                         \
    }                                                                          \
  }

// Writes a block to scratch, or adds it to what is there.
static inline void keep(const block* sum, scratch sums, bool first) {
#pragma unroll
  for (int r = 0; r < MR; ++r) {
#pragma unroll
    for (int v = 0; v < NV; ++v) {
      scratch to = sums + r * NR + v * LANES;
      VECTOR(to) = first ? sum->at[r][v] : VECTOR(to) + sum->at[r][v];
    }
  }
}

#include "gemm/epilogue.cl"

// Interleaves the lower and the upper halves of two vectors.
#if LANES == 16
#define LOWER(a, b)                                                                             \
  (vec)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, \
        b.s7)
#define UPPER(a, b)                                                                             \
  (vec)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, \
        b.sf)
#else
#define LOWER(a, b) (vec)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3)
#define UPPER(a, b) (vec)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#endif

// Writes the transpose of LANES x LANES elements, whose rows are `ld` elements apart and of which
// the first `rows` exist, to `to`, whose rows are NR apart.
static inline void transpose_square(reader from, long ld, int rows, scratch to) {
  vec a[LANES], b[LANES];
#pragma unroll
  for (int i = 0; i < LANES; ++i) a[i] = LOAD(from + min(i, rows - 1) * ld);
  // Each step deals the rows like a pack of cards; log2(LANES) of them transpose.
#define DEAL(x, y)                                       \
  _Pragma("unroll") for (int i = 0; i < LANES / 2; ++i) { \
    y[2 * i] = LOWER(x[i], x[i + LANES / 2]);            \
    y[2 * i + 1] = UPPER(x[i], x[i + LANES / 2]);        \
  }
  DEAL(a, b)
  DEAL(b, a)
  DEAL(a, b)
#if LANES == 16
  DEAL(b, a)
#pragma unroll
  for (int i = 0; i < LANES; ++i) VECTOR(to + i * NR) = a[i];
#else
#pragma unroll
  for (int i = 0; i < LANES; ++i) VECTOR(to + i * NR) = b[i];
#endif
#undef DEAL
}

// panel[n][NR] = the first `width` columns of from[n][...], whose rows are ld apart.
static inline void pack_rows(reader from, long ld, int n, int width, scratch panel) {
  for (int q = 0; q < n; ++q, from += ld, panel += NR) {
    if (width == NR) {
#pragma unroll
      for (int v = 0; v < NV; ++v) VECTOR(panel + v * LANES) = LOAD(from + v * LANES);
    } else {
      for (int j = 0; j < width; ++j) panel[j] = LOAD1(from, j);
    }
  }
}

// panel[n][NR] = the transpose of from[width][n], whose rows are ld apart.
static inline void pack_columns(reader from, long ld, int n, int width, scratch panel) {
  int q = 0;
  for (; q + LANES <= n; q += LANES) {
    for (int v = 0; v * LANES < width; ++v)
      transpose_square(from + v * LANES * ld + q, ld, width - v * LANES,
                       panel + q * NR + v * LANES);
  }
  for (; q < n; ++q) {
    for (int j = 0; j < width; ++j) panel[q * NR + j] = LOAD1(from, j * ld + q);
  }
}

// The vector of columns of a row, `at` columns after the tile's first, of which n exist.
static inline vec finish(vec value, const epilogue* e, int at, int n) {
#if SCALES || SHIFTS
  if (n >= LANES) {
#if SCALES
    value *= VLOAD_REAL(e->scales + at);
#endif
#if SHIFTS
    value += VLOAD_REAL(e->shifts + at);
#endif
  } else {
    real lanes[LANES];
    *(vec*)lanes = value;
    for (int j = 0; j < n; ++j) {
#if SCALES
      lanes[j] *= e->scales[at + j];
#endif
#if SHIFTS
      lanes[j] += e->shifts[at + j];
#endif
    }
    value = *(vec*)lanes;
  }
#endif
  return ACTIVATE(value, vec);
}

// Writes the rows of a finished block: what is in scratch is added unless it is the first part, and
// the first n rows go to to[], `width` columns of each.
static inline void store_block(const block* sum, scratch sums, bool first, int n, int width,
                               const result_pointer* to, const epilogue* e) {
#pragma unroll
  for (int r = 0; r < MR; ++r) {
    if (r < n) {
#pragma unroll
      for (int v = 0; v < NV; ++v) {
        scratch at = sums + r * NR + v * LANES;
        const vec whole = first ? sum->at[r][v] : VECTOR(at) + sum->at[r][v];
        const vec value = finish(whole, e, v * LANES, width - v * LANES);
        if (width == NR) STORE_RESULT(value, to[r] + v * LANES);
        else VECTOR(at) = value;
      }
      if (width < NR) {
        for (int j = 0; j < width; ++j) STORE1_RESULT(sums[r * NR + j], to[r], j);
      }
    }
  }
}

static inline void store_zeros(int width, pointer to) {
  for (int j = 0; j < width; ++j) STORE1((real)0, to, j);
}
