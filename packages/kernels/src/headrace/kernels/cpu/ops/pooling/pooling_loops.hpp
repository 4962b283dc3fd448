// Pooling loops over channels, which are contiguous (NCHW is pooled plane by plane).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "library/window.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr::pooling {

// Always three spatial axes; `images` of [in..., channels].
struct Shape {
  int64_t images, channels;
  int64_t in[3], out[3], size[3], stride[3], low[3];
  int64_t in_positions() const { return in[0] * in[1] * in[2]; }
  int64_t out_positions() const { return out[0] * out[1] * out[2]; }
};

constexpr int64_t kChunk =
    256;  // channels at a time: what is made of them stays in the first cache

template <class T> HR_INLINE bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>) return v != v;
  return false;
}

// What a window covers inside the image: its first position, how many along each axis, and the
// number of the first one among the positions of the whole window.
struct Box {
  int64_t first, n[3], number;
};

// Calls f(output position, box) for output positions in [begin, end).
template <class F>
HR_INLINE void over_windows(const Shape& s, int64_t begin, int64_t end, F&& f) {
  int64_t at[3] = {begin / s.out[2] / s.out[1], begin / s.out[2] % s.out[1], begin % s.out[2]};
  for (int64_t o = begin; o < end; ++o) {
    int64_t low[3];
    Box box{};
    for (int d = 0; d < 3; ++d) {
      const int64_t from = at[d] * s.stride[d] - s.low[d];
      low[d] = std::max<int64_t>(0, from);
      box.n[d] = std::min(s.in[d], from + s.size[d]) - low[d];
      box.number = box.number * s.size[d] + low[d] - from;
    }
    box.first = (low[0] * s.in[1] + low[1]) * s.in[2] + low[2];
    // A window that lies in the padding alone; what reads "the first position" must find one.
    if (box.n[0] <= 0 || box.n[1] <= 0 || box.n[2] <= 0) box = {0, {0, 0, 0}, 0};
    f(o, box);
    if (++at[2] < s.out[2]) continue;
    at[2] = 0;
    if (++at[1] < s.out[1]) continue;
    at[1] = 0;
    ++at[0];
  }
}

// Calls f(position, its number in the whole window) for all positions of the box, in memory's
// order.
template <class F>
HR_INLINE void over_numbered_box(const Shape& s, const Box& box, F&& f) {
  for (int64_t i = 0; i < box.n[0]; ++i) {
    for (int64_t j = 0; j < box.n[1]; ++j) {
      const int64_t row = box.first + (i * s.in[1] + j) * s.in[2];
      const int64_t number = box.number + (i * s.size[1] + j) * s.size[2];
      for (int64_t k = 0; k < box.n[2]; ++k) f(row + k, number + k);
    }
  }
}
template <class F>
HR_INLINE void over_box(const Shape& s, const Box& box, F&& f) {
  over_numbered_box(s, box, [&](int64_t p, int64_t) HR_INLINE_LAMBDA { f(p); });
}

// Windows are read some positions at a time, so that what is made of them stays in registers: 4,
// which a 2x2 window has, or 9. `Group` points at the positions' channels.
constexpr int kSmall = 4, kLarge = 9;
template <class T> struct Group {
  T* at[kLarge];
};

// Calls f(group, count, first group?) for the box's positions; `count` is a constant, and places
// without a position hold `filler`.
template <class T, class F>
HR_INLINE void by_group(const Shape& s, const Box& box, T* image, T* filler, F&& f) {
  Group<T> group;
  int n = 0;
  bool first = true;
  over_box(s, box, [&](int64_t p) HR_INLINE_LAMBDA {
    if (n == kLarge) {
      f(group, std::integral_constant<int, kLarge>{}, first);
      first = false;
      n = 0;
    }
    group.at[n++] = image + p * s.channels;
  });
  for (int k = n; k < kLarge; ++k) group.at[k] = filler;
  if (n <= kSmall) {
    f(group, std::integral_constant<int, kSmall>{}, first);
  } else {
    f(group, std::integral_constant<int, kLarge>{}, first);
  }
}

// best = the largest of best (unless first) and the group. NaN wins.
template <int count, class T>
HR_INLINE void group_maxima(const Group<const T>& group, bool first, Compute<T>* best, int64_t n) {
  const Group<const T> g = group;
  const Compute<T>* before = best;
  for (int64_t j = 0; first && j < n; ++j) best[j] = Compute<T>(g.at[0][j]);
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    Compute<T> largest = before[j];
#pragma GCC unroll 9
    for (int t = 0; t < count; ++t) {
      const Compute<T> v = Compute<T>(g.at[t][j]);
      largest = (v > largest) | is_nan(v) ? v : largest;
    }
    best[j] = largest;
  }
}

// The same for floats, in half the time; returns whether a sum was NaN: then a value may be, and
// the maxima are to be taken again.
template <int count, bool first, class T>
HR_INLINE bool group_maxima_of_numbers(const Group<const T>& group, T* best, int64_t n) {
  const Group<const T> g = group;
  const T* before = best;
  int32_t any = 0;
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    T largest = first ? g.at[0][j] : before[j], sum = first ? T(0) : largest;
#pragma GCC unroll 9
    for (int t = 0; t < count; ++t) {
      const T v = g.at[t][j];
      largest = v > largest ? v : largest;
      sum += v;
    }
    best[j] = largest;
    any |= sum != sum;
  }
  return any != 0;
}

template <class T>
HR_INLINE void box_maxima(const Shape& s, const Box& box, const T* image, int64_t n,
                          Compute<T>* best) {
  const T* filler = image + box.first * s.channels;  // once more changes no maximum
  by_group(s, box, image, filler,
           [&](const Group<const T>& group, auto count, bool first)
               HR_INLINE_LAMBDA { group_maxima<count(), T>(group, first, best, n); });
}

template <class T>
HR_INLINE void maxima(const Shape& s, const T* image, T* y, int64_t begin, int64_t end) {
  over_windows(s, begin, end, [&](int64_t o, const Box& box) HR_INLINE_LAMBDA {
    for (int64_t c = 0; c < s.channels; c += kChunk) {
      const int64_t n = std::min(kChunk, s.channels - c);
      T* to = y + o * s.channels + c;
      if constexpr (std::is_same_v<T, Compute<T>>) {
        box_maxima(s, box, image + c, n, to);
      } else {
        Compute<T> best[kChunk];
        box_maxima(s, box, image + c, n, best);
        for (int64_t j = 0; j < n; ++j) to[j] = T(best[j]);
      }
    }
  });
}

// Whether maxima_of_rows() takes such windows: few channels would leave registers half empty.
inline bool has_rows(const Shape& s) {
  if (s.channels >= 64 || s.stride[2] > (s.channels < 16 ? 16 : 4)) return false;
  for (int d = 0; d < 3; ++d) {
    if (s.low[d] >= s.size[d] || (s.out[d] - 1) * s.stride[d] - s.low[d] >= s.in[d]) return false;
  }
  return true;
}

// The same. Windows that are whole along the last axis are pooled as one row of positions times
// channels, as if the stride was 1; of that row the channels of each window are kept.
template <class T>
HR_INLINE void maxima_of_rows(const Shape& s, const T* image, T* y, int64_t begin, int64_t end) {
  constexpr int64_t kRow = 1024, kBlock = 16 / int64_t(sizeof(T));  // the latter are copied at once
  const int64_t step = s.stride[2] * s.channels;
  const int64_t first = (s.low[2] + s.stride[2] - 1) / s.stride[2];
  const int64_t last = s.in[2] + s.low[2] < s.size[2]
                           ? 0
                           : std::min(s.out[2], (s.in[2] + s.low[2] - s.size[2]) / s.stride[2] + 1);
  const int64_t most = std::max<int64_t>(1, kRow / step);
  const int64_t in_blocks = (s.channels + kBlock - 1) / kBlock * kBlock;
  T best[kRow + 64 + 16];
  for (int64_t o = begin; o < end;) {
    const int64_t column = o % s.out[2];
    if (column < first || column >= last) {
      maxima(s, image, y, o, o + 1);
      ++o;
      continue;
    }
    const int64_t windows = std::min({last - column, end - o, most});
    over_windows(s, o, o + 1, [&](int64_t, const Box& box) HR_INLINE_LAMBDA {
      int64_t n = (windows - 1) * step + s.channels;
      // Whole registers, where what lies behind is of the image, too.
      const int64_t end_of_box =
          box.first + ((box.n[0] - 1) * s.in[1] + box.n[1] - 1) * s.in[2] + box.n[2] - 1;
      if ((s.in_positions() - end_of_box) * s.channels >= n + 15) n = (n + 15) / 16 * 16;
      bool again = false;
      by_group(s, box, image, image + box.first * s.channels,
               [&](const Group<const T>& group, auto count, bool first) HR_INLINE_LAMBDA {
                 again |= first ? group_maxima_of_numbers<count(), true>(group, best, n)
                                : group_maxima_of_numbers<count(), false>(group, best, n);
               });
      if (again) box_maxima(s, box, image, n, best);
    });
    T* to = y + o * s.channels;
    const T* from = best;
    int64_t i = 0;
    // What is written too much belongs to windows that follow, here.
    for (; (windows - i) * s.channels >= in_blocks; ++i, to += s.channels, from += step)
      for (int64_t c = 0; c < s.channels; c += kBlock) __builtin_memcpy(to + c, from + c, 16);
    for (; i < windows; ++i, to += s.channels, from += step) std::copy_n(from, s.channels, to);
    o += windows;
  }
}

// Calls f(first channel, width) for all channels, 64 or 16 at a time while they last: loops over a
// constant width are unrolled and need no remainders. For integers, which are rare, one loop of any
// width compiles in a third of the time.
template <class T, class F>
HR_INLINE void by_width(int64_t channels, F&& f) {
  int64_t c = 0;
  if constexpr (is_integer<T>) {
    for (; c < channels; c += 64) f(c, std::min<int64_t>(64, channels - c));
  } else {
    for (; c + 64 <= channels; c += 64) f(c, std::integral_constant<int64_t, 64>{});
    for (; c + 16 <= channels; c += 16) f(c, std::integral_constant<int64_t, 16>{});
    if (c < channels) f(c, channels - c);
  }
}

// Calls f(output position, first channel, width, best, at) for output positions in [begin, end):
// best[j] is the window's maximum in channel j, at[j] the position of the first that has it or, if
// `numbered`, its number among the window's positions. NaN wins.
template <bool numbered, class T, class F>
HR_INLINE void over_maxima(const Shape& s, const T* image, int64_t begin, int64_t end, F&& f) {
  over_windows(s, begin, end, [&](int64_t o, const Box& box) HR_INLINE_LAMBDA {
    by_width<T>(s.channels, [&](int64_t c, auto width) HR_INLINE_LAMBDA {
      Compute<T> best[64];
      int32_t at[64];
      const int64_t n = width;
      for (int64_t j = 0; j < n; ++j) {
        best[j] = Compute<T>(image[box.first * s.channels + c + j]);
        at[j] = int32_t(numbered ? box.number : box.first);
      }
      over_numbered_box(s, box, [&](int64_t p, int64_t number) HR_INLINE_LAMBDA {
        const T* x = image + p * s.channels + c;
        const int32_t here = int32_t(numbered ? number : p);
        HR_INDEPENDENT
        for (int64_t j = 0; j < n; ++j) {
          const Compute<T> v = Compute<T>(x[j]);
          const bool better = (v > best[j]) | (is_nan(v) & !is_nan(best[j]));
          best[j] = better ? v : best[j];
          at[j] = better ? here : at[j];
        }
      });
      f(o, c, n, best, at);
    });
  });
}

// Maxima, and for each the number, among its window's positions, of the first that has it. NaN
// wins. No window has more than 256 positions or lies in the padding alone.
template <class T>
HR_INLINE void maxima_with_index(const Shape& s, const T* image, T* y, uint8_t* index,
                                 int64_t begin, int64_t end) {
  over_maxima<true>(s, image, begin, end,
                    [&](int64_t o, int64_t c, int64_t n, const Compute<T>* best, const int32_t* at)
                        HR_INLINE_LAMBDA {
                          const int64_t to = o * s.channels + c;
                          for (int64_t j = 0; j < n; ++j) y[to + j] = T(best[j]);
                          for (int64_t j = 0; j < n; ++j) index[to + j] = uint8_t(at[j]);
                        });
}

// dx: one image, zeroed. Each window's gradient goes to the first of its maxima.
template <class T>
HR_INLINE void max_gradient(const Shape& s, const T* image, T* dx, const T* dy) {
  over_maxima<false>(s, image, 0, s.out_positions(),
                     [&](int64_t o, int64_t c, int64_t n, const Compute<T>*, const int32_t* at)
                         HR_INLINE_LAMBDA {
                           const T* from = dy + o * s.channels + c;
                           for (int64_t j = 0; j < n; ++j) {
                             T& v = dx[at[j] * s.channels + c + j];
                             v = T(v + from[j]);
                           }
                         });
}

template <int count, class T>
HR_INLINE void group_sums(const Group<const T>& group, bool first, Compute<T>* sum, int64_t n) {
  const Group<const T> g = group;
  const Compute<T>* before = sum;
  for (int64_t j = 0; first && j < n; ++j) sum[j] = Compute<T>(0);
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) {
    Compute<T> total = before[j];
#pragma GCC unroll 9
    for (int t = 0; t < count; ++t) total += Compute<T>(g.at[t][j]);
    sum[j] = total;
  }
}

template <class T>
HR_INLINE void averages(const Shape& s, const T* image, T* y, int64_t begin, int64_t end) {
  const T zeros[kChunk] = {};
  over_windows(s, begin, end, [&](int64_t o, const Box& box) HR_INLINE_LAMBDA {
    const int64_t count = box.n[0] * box.n[1] * box.n[2];
    const Compute<T> divisor = Compute<T>(count ? count : 1);
    for (int64_t c = 0; c < s.channels; c += kChunk) {
      const int64_t n = std::min(kChunk, s.channels - c);
      Compute<T> sum[kChunk];
      by_group(s, box, image + c, zeros,
               [&](const Group<const T>& group, auto places, bool first)
                   HR_INLINE_LAMBDA { group_sums<places(), T>(group, first, sum, n); });
      T* to = y + o * s.channels + c;
      for (int64_t j = 0; j < n; ++j) to[j] = T(sum[j] / divisor);
    }
  });
}

// dx: one image, zeroed.
template <class T>
HR_INLINE void average_gradient(const Shape& s, Compute<T>* dx, const T* dy) {
  over_windows(s, 0, s.out_positions(), [&](int64_t o, const Box& box) HR_INLINE_LAMBDA {
    const int64_t count = box.n[0] * box.n[1] * box.n[2];
    const Compute<T> scale = Compute<T>(1) / Compute<T>(count ? count : 1);
    const T* from = dy + o * s.channels;
    over_box(s, box, [&](int64_t p) HR_INLINE_LAMBDA {
      Compute<T>* to = dx + p * s.channels;
      HR_INDEPENDENT
      for (int64_t j = 0; j < s.channels; ++j) to[j] += Compute<T>(from[j]) * scale;
    });
  });
}

// Calls f(hit, input position, output position, channel) for every element of every window; `hit`
// where it equals y.
template <class T, class F>
HR_INLINE void over_equal(const Shape& s, const T* x, const T* y, F&& f) {
  over_windows(s, 0, s.out_positions(), [&](int64_t o, const Box& box) HR_INLINE_LAMBDA {
    over_box(s, box, [&](int64_t p) HR_INLINE_LAMBDA {
      for (int64_t j = 0; j < s.channels; ++j)
        f(x[p * s.channels + j] == y[o * s.channels + j], p, o, j);
    });
  });
}

// The same; `hit` for the first one, per channel, that equals y. NaN equals nothing.
template <class T, class F>
HR_INLINE void over_first_equal(const Shape& s, const T* x, const T* y, F&& f) {
  over_windows(s, 0, s.out_positions(), [&](int64_t o, const Box& box) HR_INLINE_LAMBDA {
    for (int64_t c = 0; c < s.channels; c += kChunk) {
      const int64_t n = std::min(kChunk, s.channels - c);
      const T* requested = y + o * s.channels + c;
      bool open[kChunk];
      std::fill_n(open, n, true);
      over_box(s, box, [&](int64_t p) HR_INLINE_LAMBDA {
        const T* from = x + p * s.channels + c;
        for (int64_t j = 0; j < n; ++j) {
          const bool hit = open[j] & (from[j] == requested[j]);
          open[j] &= !hit;
          f(hit, p, o, c + j);
        }
      });
    }
  });
}

}  // namespace hr::pooling
