#include "gemm.hpp"

#include <algorithm>

#include "simd.hpp"

#if HR_WITH_OPENBLAS
#include <cblas.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define HR_X86_LEVELS 1
#endif

namespace hr::gemm {
namespace {

// W elements that may lie anywhere an element may.
template <class T, int W>
struct Lane {
  typedef T type __attribute__((vector_size(W * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <class T>
struct Lane<T, 1> {
  typedef T type;
};

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
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      T av = a[i * ai + p * ak];
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) sum[i][j] += av * bv[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) {
      lane* to = reinterpret_cast<lane*>(c + i * ldc + j * W);
      *to = add ? *to + sum[i][j] : sum[i][j];
    }
  }
}

// All rows of one strip of V * W columns.
template <class T, int W, int R, int V>
HR_INLINE void strip(const Problem<T>& p, int64_t ai, int64_t ak, const T* b, int64_t ldb, T* c) {
  int64_t i = 0;
  for (; i + R <= p.m; i += R)
    tile<T, W, R, V>(p.a + i * ai, ai, ak, b, ldb, c + i * p.ldc, p.ldc, p.k, false);
  if (R > 4 && i + 4 <= p.m) {
    tile<T, W, 4, V>(p.a + i * ai, ai, ak, b, ldb, c + i * p.ldc, p.ldc, p.k, false);
    i += 4;
  }
  if (R > 2 && i + 2 <= p.m) {
    tile<T, W, 2, V>(p.a + i * ai, ai, ak, b, ldb, c + i * p.ldc, p.ldc, p.k, false);
    i += 2;
  }
  if (i < p.m) tile<T, W, 1, V>(p.a + i * ai, ai, ak, b, ldb, c + i * p.ldc, p.ldc, p.k, false);
}

// to[k, n] = transposed from[n, k], four by four.
template <class T>
HR_INLINE void transpose(const T* from, int64_t ld, int64_t n, int64_t k, T* to) {
  typedef typename Lane<T, 4>::type quad;
  typedef decltype(quad{} < quad{}) index;
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
      const T* at = from + j * ld + p;
      quad r0 = *reinterpret_cast<const quad*>(at), r1 = *reinterpret_cast<const quad*>(at + ld);
      quad r2 = *reinterpret_cast<const quad*>(at + 2 * ld);
      quad r3 = *reinterpret_cast<const quad*>(at + 3 * ld);
      quad t0 = __builtin_shuffle(r0, r1, index{0, 4, 1, 5});
      quad t1 = __builtin_shuffle(r0, r1, index{2, 6, 3, 7});
      quad t2 = __builtin_shuffle(r2, r3, index{0, 4, 1, 5});
      quad t3 = __builtin_shuffle(r2, r3, index{2, 6, 3, 7});
      T* out = to + p * n + j;
      *reinterpret_cast<quad*>(out) = __builtin_shuffle(t0, t2, index{0, 1, 4, 5});
      *reinterpret_cast<quad*>(out + n) = __builtin_shuffle(t0, t2, index{2, 3, 6, 7});
      *reinterpret_cast<quad*>(out + 2 * n) = __builtin_shuffle(t1, t3, index{0, 1, 4, 5});
      *reinterpret_cast<quad*>(out + 3 * n) = __builtin_shuffle(t1, t3, index{2, 3, 6, 7});
    }
    for (; p < k; ++p) {
      for (int64_t q = j; q < j + 4; ++q) to[p * n + q] = from[q * ld + p];
    }
  }
  for (; j < n; ++j) {
    for (int64_t p = 0; p < k; ++p) to[p * n + j] = from[j * ld + p];
  }
}

template <class T, int W, int R, int V>
HR_INLINE void small_loops(const Problem<T>& p) {
  int64_t ai = p.transpose_a ? 1 : p.lda, ak = p.transpose_a ? p.lda : 1;
  T packed[max_packed];
  const T* b = p.b;
  int64_t ldb = p.ldb;
  if (p.transpose_b) {
    if (p.n == 1) {
      ldb = 1;
    } else {
      transpose(p.b, p.ldb, p.n, p.k, packed);
      b = packed;
      ldb = p.n;
    }
  }
  int64_t j = 0;
  for (; j + V * W <= p.n; j += V * W) strip<T, W, R, V>(p, ai, ak, b + j, ldb, p.c + j);
  if (V > 1 && j + W <= p.n) {
    strip<T, W, R, 1>(p, ai, ak, b + j, ldb, p.c + j);
    j += W;
  }
  if constexpr (W > 8) {
    if (j + 8 <= p.n) {
      strip<T, 8, R, 1>(p, ai, ak, b + j, ldb, p.c + j);
      j += 8;
    }
  }
  if constexpr (W > 4) {
    if (j + 4 <= p.n) {
      strip<T, 4, R, 1>(p, ai, ak, b + j, ldb, p.c + j);
      j += 4;
    }
  }
  if constexpr (W > 2) {
    if (j + 2 <= p.n) {
      strip<T, 2, R, 1>(p, ai, ak, b + j, ldb, p.c + j);
      j += 2;
    }
  }
  if (j < p.n) strip<T, 1, R, 1>(p, ai, ak, b + j, ldb, p.c + j);
}

// Blocks of k by columns of B in panels of `panel` columns, zero-padded, so that every inner
// loop reads B in order.
constexpr int64_t block_k = 256, block_n = 2048;
constexpr int panel = 32;

template <class T>
void pack(const Problem<T>& p, int64_t k0, int64_t k1, int64_t j0, int64_t j1, T* to) {
  for (int64_t j = j0; j < j1; j += panel) {
    int64_t width = std::min<int64_t>(panel, p.n - j);
    T* at = to + (j / panel - j0 / panel) * (k1 - k0) * panel;
    for (int64_t q = k0; q < k1; ++q, at += panel) {
      if (p.transpose_b) {
        for (int64_t i = 0; i < width; ++i) at[i] = p.b[(j + i) * p.ldb + q];
      } else {
        for (int64_t i = 0; i < width; ++i) at[i] = p.b[q * p.ldb + j + i];
      }
      for (int64_t i = width; i < panel; ++i) at[i] = T(0);
    }
  }
}

template <class T>
struct Block {
  const Problem<T>* p;
  const T* packed;
  int64_t k0, k1, j0, j1;
  bool add;
};

template <class T, int W, int R, int V>
HR_INLINE void block_rows(const Block<T>& block, int64_t i0, int64_t i1) {
  const Problem<T>& p = *block.p;
  int64_t ai = p.transpose_a ? 1 : p.lda, ak = p.transpose_a ? p.lda : 1;
  int64_t k = block.k1 - block.k0;
  // A's rows side by side: rows a power of two apart would fight for the same cache lines.
  T rows_of_a[R * block_k];
  for (int64_t i = i0; i < i1; i += R) {
    int64_t rows = std::min<int64_t>(R, i1 - i);
    const T* from = p.a + i * ai + block.k0 * ak;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t q = 0; q < k; ++q) rows_of_a[q * R + r] = from[r * ai + q * ak];
    }
    const T* a = rows_of_a;
    for (int64_t j = block.j0; j < block.j1; j += V * W) {
      const T* b = block.packed + (j - block.j0) / panel * k * panel + j % panel;
      T* c = p.c + i * p.ldc + j;
      if (rows == R && j + V * W <= p.n) {
        tile<T, W, R, V>(a, 1, R, b, panel, c, p.ldc, k, block.add);
        continue;
      }
      T edge[R * V * W];
      if (rows == R) {
        tile<T, W, R, V>(a, 1, R, b, panel, edge, V * W, k, false);
      } else {
        for (int64_t r = 0; r < rows; ++r) {
          tile<T, W, 1, V>(a + r, 1, R, b, panel, edge + r * V * W, V * W, k, false);
        }
      }
      int64_t width = std::min<int64_t>(V * W, p.n - j);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t q = 0; q < width; ++q) {
          T* to = c + r * p.ldc + q;
          *to = block.add ? *to + edge[r * V * W + q] : edge[r * V * W + q];
        }
      }
    }
  }
}

#define HR_LEVEL(NAME, TARGET, W32, R, V)                                                       \
  TARGET void small_##NAME(const Problem<float>& p) { small_loops<float, W32, R, V>(p); }       \
  TARGET void small_##NAME(const Problem<double>& p) { small_loops<double, W32 / 2, R, V>(p); } \
  TARGET void rows_##NAME(const Block<float>& b, int64_t i0, int64_t i1) {                      \
    block_rows<float, W32, R, V>(b, i0, i1);                                                    \
  }                                                                                             \
  TARGET void rows_##NAME(const Block<double>& b, int64_t i0, int64_t i1) {                     \
    block_rows<double, W32 / 2, R, V>(b, i0, i1);                                               \
  }

#ifdef HR_X86_LEVELS
HR_LEVEL(v4, [[gnu::target("arch=x86-64-v4")]], 16, 8, 2)
HR_LEVEL(v3, [[gnu::target("arch=x86-64-v3")]], 8, 6, 2)
#endif
HR_LEVEL(any, , 4, 4, 2)

template <class T>
struct Level {
  void (*small)(const Problem<T>&);
  void (*rows)(const Block<T>&, int64_t, int64_t);
};

template <class T>
Level<T> best_level() {
#ifdef HR_X86_LEVELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    return {small_v4, rows_v4};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {small_v3, rows_v3};
#endif
  return {small_any, rows_any};
}

const Level<float> float_level = best_level<float>();
const Level<double> double_level = best_level<double>();

template <class T>
void run_blocked(hr_ctx* ctx, const Problem<T>& p, T* packed, const Level<T>& level) {
  for (int64_t j0 = 0; j0 < p.n; j0 += block_n) {
    for (int64_t k0 = 0; k0 < p.k; k0 += block_k) {
      Block<T> block{
          &p, packed, k0, std::min(k0 + block_k, p.k), j0, std::min(j0 + block_n, p.n), k0 > 0};
      pack(p, block.k0, block.k1, block.j0, block.j1, packed);
      struct Call {
        const Block<T>* block;
        void (*rows)(const Block<T>&, int64_t, int64_t);
      } call{&block, level.rows};
      // Pieces of eight rows, so that threads end on whole tiles.
      ctx->api->parallel_for(
          ctx, (p.m + 7) / 8, 4,
          [](void* argument, int64_t begin, int64_t end) {
            Call* it = static_cast<Call*>(argument);
            it->rows(*it->block, begin * 8, std::min(end * 8, it->block->p->m));
          },
          &call);
    }
  }
}

}  // namespace

void small(const Problem<float>& p) { float_level.small(p); }
void small(const Problem<double>& p) { double_level.small(p); }

int64_t packed_elements(int64_t n, int64_t k) {
  int64_t columns = std::min((n + panel - 1) / panel * panel, block_n);
  return columns * std::min(k, block_k);
}

#if HR_WITH_OPENBLAS
// The library splits the product over threads of its own, which sleep between calls.
void blocked(hr_ctx*, const Problem<float>& p, float*) {
  scipy_cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
                    p.transpose_b ? CblasTrans : CblasNoTrans, int(p.m), int(p.n), int(p.k), 1, p.a,
                    int(p.lda), p.b, int(p.ldb), 0, p.c, int(p.ldc));
}
void blocked(hr_ctx*, const Problem<double>& p, double*) {
  scipy_cblas_dgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
                    p.transpose_b ? CblasTrans : CblasNoTrans, int(p.m), int(p.n), int(p.k), 1, p.a,
                    int(p.lda), p.b, int(p.ldb), 0, p.c, int(p.ldc));
}
#else
void blocked(hr_ctx* ctx, const Problem<float>& p, float* packed) {
  run_blocked(ctx, p, packed, float_level);
}
void blocked(hr_ctx* ctx, const Problem<double>& p, double* packed) {
  run_blocked(ctx, p, packed, double_level);
}
#endif

}  // namespace hr::gemm
