// The inner loops of matrix products for any vector width: they hold a tile of the result in
// registers and pack panels of an operand for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "processor/simd.hpp"

namespace hr::gemm {

// W elements that may lie anywhere an element may.
template <class T, int W>
struct Lane {
  typedef T type __attribute__((vector_size(W * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <class T>
struct Lane<T, 1> {
  typedef T type;
};

// By measurement: rows of B that are fetched before they are used.
constexpr int64_t rows_ahead = 24;

// c[R, V * W] (+)= a[R, k] * b[k, V * W]; a's strides are free, so that it may be transposed.
template <class T, int W, int R, int V>
HR_INLINE void tile(const T* a, int64_t ai, int64_t ak, const T* b, int64_t ldb, T* c, int64_t ldc,
                    int64_t k, bool add) {
  typedef typename Lane<T, W>::type lane;
  lane sum[R][V] = {};
  for (int64_t p = 0; p < k; ++p) {
    lane bv[V];
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) bv[j] = *reinterpret_cast<const lane*>(b + p * ldb + j * W);
    // A row further down may begin a page of its own, where no hardware looks ahead.
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) __builtin_prefetch(b + (p + rows_ahead) * ldb + j * W);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      T av = a[i * ai + p * ak];
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) sum[i][j] += av * bv[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) {
      lane* to = reinterpret_cast<lane*>(c + i * ldc + j * W);
      *to = add ? *to + sum[i][j] : sum[i][j];
    }
  }
}

// The same for 1 to R rows, known only now.
template <class T, int W, int R, int V>
HR_INLINE void tile_of(int64_t rows, const T* a, int64_t ai, int64_t ak, const T* b, int64_t ldb,
                       T* c, int64_t ldc, int64_t k, bool add) {
  if constexpr (R > 1) {
    if (rows < R) return tile_of<T, W, R - 1, V>(rows, a, ai, ak, b, ldb, c, ldc, k, add);
  }
  tile<T, W, R, V>(a, ai, ak, b, ldb, c, ldc, k, add);
}

// to[k, ldt] = transposed from[n, k], four by four.
template <class T>
HR_INLINE void transpose(const T* from, int64_t ld, int64_t n, int64_t k, T* to, int64_t ldt) {
  typedef typename Lane<T, 4>::type quad;
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
      const T* at = from + j * ld + p;
      quad r0 = *reinterpret_cast<const quad*>(at), r1 = *reinterpret_cast<const quad*>(at + ld);
      quad r2 = *reinterpret_cast<const quad*>(at + 2 * ld);
      quad r3 = *reinterpret_cast<const quad*>(at + 3 * ld);
      quad t0 = HR_SHUFFLE(r0, r1, 0, 4, 1, 5);
      quad t1 = HR_SHUFFLE(r0, r1, 2, 6, 3, 7);
      quad t2 = HR_SHUFFLE(r2, r3, 0, 4, 1, 5);
      quad t3 = HR_SHUFFLE(r2, r3, 2, 6, 3, 7);
      T* out = to + p * ldt + j;
      *reinterpret_cast<quad*>(out) = HR_SHUFFLE(t0, t2, 0, 1, 4, 5);
      *reinterpret_cast<quad*>(out + ldt) = HR_SHUFFLE(t0, t2, 2, 3, 6, 7);
      *reinterpret_cast<quad*>(out + 2 * ldt) = HR_SHUFFLE(t1, t3, 0, 1, 4, 5);
      *reinterpret_cast<quad*>(out + 3 * ldt) = HR_SHUFFLE(t1, t3, 2, 3, 6, 7);
    }
    for (; p < k; ++p) {
      for (int64_t q = j; q < j + 4; ++q) to[p * ldt + q] = from[q * ld + p];
    }
  }
  for (; j < n; ++j) {
    for (int64_t p = 0; p < k; ++p) to[p * ldt + j] = from[j * ld + p];
  }
}

// Sixteen rows of sixteen floats at a time: a quarter of the shuffles.
typedef Lane<float, 16>::type row16;

// Of two rows of sixteen, in each group of four or eight: what goes together.
#define HR_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define HR_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define HR_LOW_PAIRS 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HR_HIGH_PAIRS 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define HR_EVEN_FOURS 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define HR_ODD_FOURS 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31

// Writes its rows in order, so that ldt may be below 16: each row then covers the last one's rest.
HR_INLINE void transpose16(const float* from, int64_t ld, float* to, int64_t ldt) {
  row16 r[16], t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = *reinterpret_cast<const row16*>(from + i * ld);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = HR_SHUFFLE(r[i], r[i + 1], HR_LOW);
    t[i + 1] = HR_SHUFFLE(r[i], r[i + 1], HR_HIGH);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {  // r[i + c]: column c of each group of four, rows i to i + 3
    r[i] = HR_SHUFFLE(t[i], t[i + 2], HR_LOW_PAIRS);
    r[i + 1] = HR_SHUFFLE(t[i], t[i + 2], HR_HIGH_PAIRS);
    r[i + 2] = HR_SHUFFLE(t[i + 1], t[i + 3], HR_LOW_PAIRS);
    r[i + 3] = HR_SHUFFLE(t[i + 1], t[i + 3], HR_HIGH_PAIRS);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const row16 e01 = HR_SHUFFLE(r[c], r[4 + c], HR_EVEN_FOURS);
    const row16 o01 = HR_SHUFFLE(r[c], r[4 + c], HR_ODD_FOURS);
    const row16 e23 = HR_SHUFFLE(r[8 + c], r[12 + c], HR_EVEN_FOURS);
    const row16 o23 = HR_SHUFFLE(r[8 + c], r[12 + c], HR_ODD_FOURS);
    t[c] = HR_SHUFFLE(e01, e23, HR_EVEN_FOURS);
    t[4 + c] = HR_SHUFFLE(o01, o23, HR_EVEN_FOURS);
    t[8 + c] = HR_SHUFFLE(e01, e23, HR_ODD_FOURS);
    t[12 + c] = HR_SHUFFLE(o01, o23, HR_ODD_FOURS);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) *reinterpret_cast<row16*>(to + i * ldt) = t[i];
}

#undef HR_LOW
#undef HR_HIGH
#undef HR_LOW_PAIRS
#undef HR_HIGH_PAIRS
#undef HR_EVEN_FOURS
#undef HR_ODD_FOURS

// to[k, width] = transposed from[n, k] for n <= width; the other columns are 0. `readable`: rows
// that `from` has from here on.
template <class T, int W>
HR_INLINE void pack_transposed(const T* from, int64_t ld, int64_t n, int64_t readable, int64_t k,
                               T* to, int64_t width) {
  if (n < width) std::fill(to, to + k * width, T(0));
  if constexpr (W == 16 && sizeof(T) == 4) {
    if (n > 8 && n < 16 && width == n && readable >= 16) {
      int64_t p = 0;
      for (; p + 32 <= k; p += 16) transpose16(from + p, ld, to + p * n, n);
      return transpose(from + p, ld, n, k - p, to + p * n, n);
    }
    int64_t j = 0;
    const int64_t whole_k = k / 16 * 16;
    for (; j + 16 <= n; j += 16) {
      for (int64_t p = 0; p < whole_k; p += 16)
        transpose16(from + j * ld + p, ld, to + p * width + j, width);
      for (int64_t p = whole_k; p < k; ++p) {
        for (int64_t q = j; q < j + 16; ++q) to[p * width + q] = from[q * ld + p];
      }
    }
    transpose(from + j * ld, ld, n - j, k, to + j, width);
  } else {
    transpose(from, ld, n, k, to, width);
  }
}

// to[k, width] = from[k, n] for n <= width; the other columns are 0.
template <class T, int W>
HR_INLINE void pack_rows(const T* from, int64_t ld, int64_t n, int64_t k, T* to, int64_t width) {
  typedef typename Lane<T, W>::type lane;
  if (n == width && width % W == 0) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < width; j += W)
        *reinterpret_cast<lane*>(to + p * width + j) =
            *reinterpret_cast<const lane*>(from + p * ld + j);
    }
    return;
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < width; ++j) to[p * width + j] = j < n ? from[p * ld + j] : T(0);
  }
}

}  // namespace hr::gemm
