#include "loops/narrow_floats.hpp"

#include "processor/processor_level.hpp"
#include "processor/simd.hpp"

#ifdef HR_X86_LEVELS
#include <immintrin.h>
#endif

namespace hr {
namespace {

template <class From, class To> HR_INLINE void convert(const From* from, To* to, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = To(from[i]);
}
template <class From, class To> HR_CLONES void cloned(const From* from, To* to, int64_t n) {
  convert(from, to, n);
}
template <class T> HR_CLONES void rounded(float* values, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) values[i] = float(T(values[i]));
}

#ifdef HR_X86_LEVELS

// Compilers do not find these instructions in the arithmetic of element_types.hpp. Round to nearest
// even is part of the instruction; a NaN keeps its sign and its leading bits.
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

[[gnu::target("arch=x86-64-v4")]] void widen_v4(const half* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)(from + i))));
  convert(from + i, to + i, n - i);
}
[[gnu::target("arch=x86-64-v4")]] void narrow_v4(const float* from, half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256((__m256i*)(to + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), kNearest));
  convert(from + i, to + i, n - i);
}
[[gnu::target("arch=x86-64-v4")]] void round_v4(float* values, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(values + i,
                     _mm512_cvtph_ps(_mm512_cvtps_ph(_mm512_loadu_ps(values + i), kNearest)));
  for (; i < n; ++i) values[i] = float(half(values[i]));
}

[[gnu::target("arch=x86-64-v3")]] void widen_v3(const half* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + i))));
  convert(from + i, to + i, n - i);
}
[[gnu::target("arch=x86-64-v3")]] void narrow_v3(const float* from, half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i*)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kNearest));
  convert(from + i, to + i, n - i);
}
[[gnu::target("arch=x86-64-v3")]] void round_v3(float* values, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(values + i,
                     _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(values + i), kNearest)));
  for (; i < n; ++i) values[i] = float(half(values[i]));
}

#define HR_BY_LEVEL(function, ...)                                              \
  if (processor_level() == ProcessorLevel::v4) return function##_v4(__VA_ARGS__); \
  if (processor_level() == ProcessorLevel::v3) return function##_v3(__VA_ARGS__)
#else
#define HR_BY_LEVEL(function, ...)
#endif

}  // namespace

void widen(const half* from, float* to, int64_t n) {
  HR_BY_LEVEL(widen, from, to, n);
  cloned(from, to, n);
}
void narrow(const float* from, half* to, int64_t n) {
  HR_BY_LEVEL(narrow, from, to, n);
  cloned(from, to, n);
}
void round_to_half(float* values, int64_t n) {
  HR_BY_LEVEL(round, values, n);
  rounded<half>(values, n);
}

void widen(const bfloat16* from, float* to, int64_t n) { cloned(from, to, n); }
void narrow(const float* from, bfloat16* to, int64_t n) { cloned(from, to, n); }
void round_to_bfloat16(float* values, int64_t n) { rounded<bfloat16>(values, n); }

}  // namespace hr
