#include "ops/pooling/max_pool_lanes.hpp"

#include "processor/processor_level.hpp"
#ifdef HR_X86_LEVELS
#include <immintrin.h>
#endif

namespace hr::pooling {
namespace {

constexpr int64_t kMostAcross = 3;  // of a window: its rows and columns are unrolled
constexpr int64_t kAhead = 512;     // elements between a load and what is fetched with it

// Windows side by side, all of the same extent. Strides count elements: of a row and a column of
// the image, and from one window to the next. `number` is that of the first position among those of
// the whole window, whose rows have `across`.
struct Run {
  int64_t row, column, step, channels, count, number, across;
};

using Maxima = bool (*)(const float* x, const Run& run, float* y);
using Indexed = bool (*)(const float* x, const Run& run, float* y, uint8_t* index);
using IndexedGradient = void (*)(const uint8_t* index, const Run& run, float* dx, const float* dy);
using Gradient = bool (*)(const float* x, const Run& run, float* dx, const float* dy);

// By rows and columns of the window, less one.
struct Level {
  Maxima maxima[kMostAcross][kMostAcross];
  Indexed indexed[kMostAcross][kMostAcross];
  Gradient tiled[kMostAcross][kMostAcross], summed[kMostAcross][kMostAcross];
  IndexedGradient indexed_tiled[kMostAcross][kMostAcross];
  IndexedGradient indexed_summed[kMostAcross][kMostAcross];
};

#define HR_EXTENTS(X) \
  { {X(1, 1), X(1, 2), X(1, 3)}, {X(2, 1), X(2, 2), X(2, 3)}, {X(3, 1), X(3, 2), X(3, 3)} }

// Functions on lanes for any processor; AVX-512 keeps masks in registers made for them.
#define HR_LANE_FUNCTIONS                                                                      \
  typedef float lanes __attribute__((vector_size(HR_LANES * 4), aligned(4), may_alias));       \
  typedef int32_t mask __attribute__((vector_size(HR_LANES * 4)));                             \
  HR_TARGET HR_INLINE mask no_lanes() { return mask{}; }                                       \
  HR_TARGET HR_INLINE mask is_nan(const lanes& v) { return v != v; }                           \
  HR_TARGET HR_INLINE mask is_number(const lanes& v) { return v == v; }                        \
  HR_TARGET HR_INLINE mask either(const mask& a, const mask& b) { return a | b; }              \
  HR_TARGET HR_INLINE mask without(const mask& a, const mask& b) { return a & ~b; }            \
  HR_TARGET HR_INLINE mask equal(const mask& where, const lanes& a, const lanes& b) {          \
    return where & (a == b);                                                                   \
  }                                                                                            \
  HR_TARGET HR_INLINE lanes added(const lanes& v, const mask& where, const lanes& more) {      \
    return where ? v + more : v;                                                               \
  }                                                                                            \
  typedef mask numbers;                                                                        \
  typedef uint8_t number_bytes __attribute__((vector_size(HR_LANES), aligned(1), may_alias));  \
  HR_TARGET HR_INLINE mask equal(const lanes& a, const lanes& b) { return a == b; }            \
  HR_TARGET HR_INLINE numbers all_are(int64_t number) { return mask{} + int32_t(number); }     \
  HR_TARGET HR_INLINE numbers chosen(const mask& where, int64_t number, const numbers& b) {    \
    return where ? all_are(number) : b;                                                        \
  }                                                                                            \
  HR_TARGET HR_INLINE void store(uint8_t* to, const numbers& n) {                              \
    *reinterpret_cast<number_bytes*>(to) = __builtin_convertvector(n, number_bytes);           \
  }                                                                                            \
  HR_TARGET HR_INLINE numbers load(const uint8_t* from) {                                      \
    return __builtin_convertvector(*reinterpret_cast<const number_bytes*>(from), numbers);     \
  }                                                                                            \
  HR_TARGET HR_INLINE mask are(const numbers& n, int64_t number) { return n == all_are(number); } \
  HR_TARGET HR_INLINE bool is_any(const mask& m) {                                             \
    int32_t any = 0;                                                                           \
    for (int i = 0; i < HR_LANES; ++i) any |= m[i];                                            \
    return any != 0;                                                                           \
  }

namespace any {
#define HR_TARGET
#define HR_LANES 4
HR_LANE_FUNCTIONS
#include "ops/pooling/max_pool_windows.inc"
}  // namespace any
#ifdef HR_X86_LEVELS
namespace v3 {
#define HR_TARGET [[gnu::target("arch=x86-64-v3")]]
#define HR_LANES 8
HR_LANE_FUNCTIONS
#include "ops/pooling/max_pool_windows.inc"
}  // namespace v3
namespace v4 {
#define HR_TARGET [[gnu::target("arch=x86-64-v4")]]
#define HR_LANES 16
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef __mmask16 mask;
HR_TARGET HR_INLINE mask no_lanes() { return 0; }
HR_TARGET HR_INLINE mask is_nan(const lanes& v) {
  return _mm512_cmp_ps_mask(__m512(v), __m512(v), _CMP_UNORD_Q);
}
HR_TARGET HR_INLINE mask is_number(const lanes& v) {
  return _mm512_cmp_ps_mask(__m512(v), __m512(v), _CMP_ORD_Q);
}
HR_TARGET HR_INLINE mask either(mask a, mask b) { return _kor_mask16(a, b); }
HR_TARGET HR_INLINE mask without(mask a, mask b) { return _kandn_mask16(b, a); }
HR_TARGET HR_INLINE mask equal(mask where, const lanes& a, const lanes& b) {
  return _mm512_mask_cmp_ps_mask(where, __m512(a), __m512(b), _CMP_EQ_OQ);
}
HR_TARGET HR_INLINE lanes added(const lanes& v, mask where, const lanes& more) {
  return lanes(_mm512_mask_add_ps(__m512(v), where, __m512(v), __m512(more)));
}
HR_TARGET HR_INLINE bool is_any(mask m) { return m != 0; }
typedef __m128i numbers;
HR_TARGET HR_INLINE mask equal(const lanes& a, const lanes& b) {
  return _mm512_cmp_ps_mask(__m512(a), __m512(b), _CMP_EQ_OQ);
}
HR_TARGET HR_INLINE numbers all_are(int64_t number) { return _mm_set1_epi8(char(number)); }
HR_TARGET HR_INLINE numbers chosen(mask where, int64_t number, const numbers& b) {
  return _mm_mask_mov_epi8(b, where, all_are(number));
}
HR_TARGET HR_INLINE numbers load(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
HR_TARGET HR_INLINE mask are(const numbers& n, int64_t number) {
  return _mm_cmpeq_epi8_mask(n, all_are(number));
}
HR_TARGET HR_INLINE void store(uint8_t* to, const numbers& n) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), n);
}
#include "ops/pooling/max_pool_windows.inc"
}  // namespace v4
#endif

// Null where the channels fill no registers.
const Level* level_for(int64_t channels) {
#ifdef HR_X86_LEVELS
  const ProcessorLevel best = processor_level();
  if (best >= ProcessorLevel::v4 && channels % 16 == 0) return &v4::level;
  if (best >= ProcessorLevel::v3 && channels % 8 == 0) return &v3::level;
#endif
  return channels % 4 == 0 ? &any::level : nullptr;
}

// One axis: the extent of the window at output `o` inside the image, and where it begins.
struct Extent {
  int64_t first, n;
};
Extent extent(const Shape& s, int axis, int64_t o) {
  const int64_t from = o * s.stride[axis] - s.low[axis], first = std::max<int64_t>(0, from);
  return {first, std::min(s.in[axis], from + s.size[axis]) - first};
}

// Calls f(rows, columns, position of the first window, its output, run) for output positions
// [begin, end) of one image.
template <class F>
void over_runs(const Shape& s, int64_t begin, int64_t end, F&& f) {
  Run run{s.in[2] * s.channels, s.channels, s.stride[2] * s.channels, s.channels, 1, 0, s.size[2]};
  while (begin < end) {
    const int64_t i = begin / s.out[2], j = begin % s.out[2];
    const int64_t stop = std::min(s.out[2], j + end - begin);
    const Extent rows = extent(s, 1, i), columns = extent(s, 2, j);
    run.count = 1;
    run.number = (rows.first - i * s.stride[1] + s.low[1]) * run.across + columns.first -
                 j * s.stride[2] + s.low[2];
    // A window cut on the left stands alone: the next begins less than a stride to its right.
    if (j * s.stride[2] >= s.low[2])
      while (j + run.count < stop && extent(s, 2, j + run.count).n == columns.n) ++run.count;
    f(rows.n - 1, columns.n - 1, rows.first * s.in[2] + columns.first, begin, run);
    begin += run.count;
  }
}

// What a run leaves out, channel by channel: those whose sum is NaN, in the order it is taken
// there.
void add_lost_gradients(int64_t rows, int64_t columns, const float* x, const Run& r, float* dx,
                        const float* dy) {
  for (int64_t i = 0; i < r.count; ++i, x += r.step, dx += r.step, dy += r.channels) {
    for (int64_t c = 0; c < r.channels; ++c) {
      float largest = x[c], sum = -0.0f;
      int64_t at = 0;
      for (int64_t h = 0; h < rows; ++h) {
        for (int64_t w = 0; w < columns; ++w) {
          const int64_t to = h * r.row + w * r.column;
          const float v = x[to + c];
          sum += v;
          const bool better = v > largest || (v != v && largest == largest);
          largest = better ? v : largest;
          at = better ? to : at;
        }
      }
      if (sum != sum) dx[at + c] += dy[c];
    }
  }
}

// Every position is in exactly one window, which therefore need not read what it adds to.
bool tiles(const Shape& s) {
  for (int d = 1; d < 3; ++d) {
    if (s.size[d] != s.stride[d] || s.out[d] * s.size[d] - s.low[d] < s.in[d]) return false;
  }
  return true;
}

}  // namespace

bool has_lanes(const Shape& s) {
  if (s.in[0] != 1 || s.size[0] != 1 || !level_for(s.channels)) return false;
  for (int d = 1; d < 3; ++d) {
    // A window that covers nothing but padding has no maximum to take.
    const int64_t last = (s.out[d] - 1) * s.stride[d] - s.low[d];
    if (s.size[d] > kMostAcross || s.low[d] >= s.size[d] || last >= s.in[d]) return false;
  }
  return true;
}

bool lane_maxima(const Shape& s, const float* image, float* y, uint8_t* index, int64_t begin,
                 int64_t end) {
  const Level& level = *level_for(s.channels);
  bool any = false;
  over_runs(s, begin, end, [&](int64_t h, int64_t w, int64_t from, int64_t to, const Run& run) {
    const float* x = image + from * s.channels;
    const int64_t at = to * s.channels;
    any |= index ? level.indexed[h][w](x, run, y + at, index + at)
                 : level.maxima[h][w](x, run, y + at);
  });
  return !any;
}

void lane_max_gradient(const Shape& s, const float* image, float* dx, const float* dy) {
  const Level& level = *level_for(s.channels);
  const bool once = tiles(s);
  if (!once) std::fill_n(dx, s.in_positions() * s.channels, 0.0f);
  const auto& gradient = once ? level.tiled : level.summed;
  over_runs(s, 0, s.out_positions(),
            [&](int64_t h, int64_t w, int64_t from, int64_t to, const Run& run) {
              const float* x = image + from * s.channels;
              float* at = dx + from * s.channels;
              if (gradient[h][w](x, run, at, dy + to * s.channels))
                add_lost_gradients(h + 1, w + 1, x, run, at, dy + to * s.channels);
            });
}

void lane_gradient_by_index(const Shape& s, const uint8_t* index, float* dx, const float* dy) {
  const Level& level = *level_for(s.channels);
  const bool once = tiles(s);
  const auto& gradient = once ? level.indexed_tiled : level.indexed_summed;
  const int64_t row = s.in[2] * s.channels;
  int64_t zeroed = 0;  // rows: just before a window adds to them, while they stay in the cache
  auto zero_until = [&](int64_t end) {
    if (end > zeroed) std::fill(dx + zeroed * row, dx + end * row, 0.0f);
    zeroed = std::max(zeroed, end);
  };
  for (int64_t i = 0; i < s.out[1]; ++i) {
    const Extent rows = extent(s, 1, i);
    if (!once) zero_until(rows.first + rows.n);
    over_runs(s, i * s.out[2], (i + 1) * s.out[2],
              [&](int64_t h, int64_t w, int64_t from, int64_t to, const Run& run) {
                const int64_t at = to * s.channels;
                gradient[h][w](index + at, run, dx + from * s.channels, dy + at);
              });
  }
  if (!once) zero_until(s.in[1]);
}

}  // namespace hr::pooling
