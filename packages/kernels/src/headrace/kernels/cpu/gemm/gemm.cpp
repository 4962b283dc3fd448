#include "gemm/gemm.hpp"

#include "gemm/gemm_tile.hpp"
#include "processor/processor_level.hpp"

namespace hr::gemm {
namespace {

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
      transpose(p.b, p.ldb, p.n, p.k, packed, p.n);
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

#define HR_LEVEL(NAME, TARGET, W32, R, V)                                                 \
  TARGET void small_##NAME(const Problem<float>& p) { small_loops<float, W32, R, V>(p); } \
  TARGET void small_##NAME(const Problem<double>& p) { small_loops<double, W32 / 2, R, V>(p); }

#ifdef HR_X86_LEVELS
HR_LEVEL(v4, [[gnu::target("arch=x86-64-v4")]], 16, 8, 2)
HR_LEVEL(v3, [[gnu::target("arch=x86-64-v3")]], 8, 6, 2)
#endif
HR_LEVEL(any, , 4, 4, 2)

template <class T>
using Small = void (*)(const Problem<T>&);

template <class T>
Small<T> best_level() {
#ifdef HR_X86_LEVELS
  if (processor_level() == ProcessorLevel::v4) return small_v4;
  if (processor_level() == ProcessorLevel::v3) return small_v3;
#endif
  return small_any;
}

const Small<float> float_level = best_level<float>();
const Small<double> double_level = best_level<double>();

}  // namespace

void small(const Problem<float>& p) { float_level(p); }
void small(const Problem<double>& p) { double_level(p); }

}  // namespace hr::gemm
