// Pooling for CPUs, with channels in the lanes of vectors. Of a window in the image's border only
// the part inside counts.

#include "convolution/window.cl"
#include "gemm/cpu_lanes.cl"

#if LANES == 16
typedef int16 mask;
#else
typedef long8 mask;
#endif

// The maximum, and the first NaN if there is one.
static inline mask exceeds(vec value, vec best) { return (~(value <= best)) & (best == best); }

// What a window covers inside the image.
typedef struct {
  int y0, y1, x0, x1;
} box;

static inline box window_box(window w, int oy, int ox) {
  const int y = oy * w.stride_h - w.low_h, x = ox * w.stride_w - w.low_w;
  const box b = {max(y, 0), min(y + w.size_h, w.in_h), max(x, 0), min(x + w.size_w, w.in_w)};
  return b;
}

static inline vec window_max(reader image, window w, box b, int n) {
  vec best = (vec)(-INFINITY);
  for (int y = b.y0; y < b.y1; ++y) {
    for (int x = b.x0; x < b.x1; ++x) {
      const vec value = load_lanes(image + ((long)y * w.in_w + x) * w.in_pitch, n);
      best = select(best, value, exceeds(value, best));
    }
  }
  return best;
}

// Grid: lines of y.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void max_pool(HR_IN(T, x), HR_OUT(T, y),
                                                                      window w) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, y);
  const int line = get_group_id(0);
  reader image = x + (long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch;
  // Maxima of numbers, then, if a sum was NaN and so an element may be, those that respect NaN.
  vec check = (vec)(0);
  for (int ox = 0; ox < w.out_w; ++ox) {
    pointer to = y + ((long)line * w.out_w + ox) * w.out_pitch;
    const box b = window_box(w, line % w.out_h, ox);
    for (int c = 0; c < w.in_pitch; c += LANES) {
      const int n = w.in_pitch - c;
      vec best = (vec)(-INFINITY);
      for (int iy = b.y0; iy < b.y1; ++iy) {
        for (int ix = b.x0; ix < b.x1; ++ix) {
          const vec value = load_lanes(image + (((long)iy * w.in_w + ix) * w.in_pitch + c), n);
          best = select(value, best, best > value);
          check += value;
        }
      }
      store_lanes(best, to + c, n);
    }
  }
  if (!any(check != check)) return;
  for (int ox = 0; ox < w.out_w; ++ox) {
    pointer to = y + ((long)line * w.out_w + ox) * w.out_pitch;
    const box b = window_box(w, line % w.out_h, ox);
    for (int c = 0; c < w.in_pitch; c += LANES)
      store_lanes(window_max(image + c, w, b, w.in_pitch - c), to + c, w.in_pitch - c);
  }
}

// Grid: lines of y.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void average_pool(HR_IN(T, x), HR_OUT(T, y),
                                                                          window w) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, y);
  const int line = get_group_id(0);
  reader image = x + (long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch;
  for (int ox = 0; ox < w.out_w; ++ox) {
    pointer to = y + ((long)line * w.out_w + ox) * w.out_pitch;
    const box b = window_box(w, line % w.out_h, ox);
    const real share = (real)1 / (real)max(1, (b.y1 - b.y0) * (b.x1 - b.x0));
    for (int c = 0; c < w.in_pitch; c += LANES) {
      const int n = w.in_pitch - c;
      vec sum = (vec)(0);
      for (int iy = b.y0; iy < b.y1; ++iy) {
        for (int ix = b.x0; ix < b.x1; ++ix)
          sum += load_lanes(image + (((long)iy * w.in_w + ix) * w.in_pitch + c), n);
      }
      store_lanes(sum * share, to + c, n);
    }
  }
}

// The gradient of x: that of y, to the first maximum of each window. An item has LANES channels of
// an image, so that windows may overlap. Grid: blocks of channels, images.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void max_pool_gradient(HR_IN(T, x),
                                                                               HR_IN(T, grad),
                                                                               HR_OUT(T, to),
                                                                               window w) {
  HR_INPUT(T, x);
  HR_INPUT(T, grad);
  HR_OUTPUT(T, to);
  const int c = get_group_id(0) * LANES, n = w.in_pitch - c;
  const long begin = (long)get_group_id(1) * w.in_h * w.in_w * w.in_pitch + c;
  reader image = x + begin;
  pointer sums = to + begin;
  reader from = grad + (long)get_group_id(1) * w.out_h * w.out_w * w.out_pitch + c;
  for (int p = 0; p < w.in_h * w.in_w; ++p) store_lanes((vec)(0), sums + (long)p * w.in_pitch, n);
  for (int oy = 0; oy < w.out_h; ++oy) {
    for (int ox = 0; ox < w.out_w; ++ox, from += w.out_pitch) {
      const box b = window_box(w, oy, ox);
      const vec value = load_lanes(from, n);
      vec best = (vec)(-INFINITY);
      mask winner = (mask)(0);  // the first position, should none exceed minus infinity
      int position = 0;
      for (int y = b.y0; y < b.y1; ++y) {
        for (int x_at = b.x0; x_at < b.x1; ++x_at, ++position) {
          const vec here = load_lanes(image + ((long)y * w.in_w + x_at) * w.in_pitch, n);
          const mask exceeding = exceeds(here, best);
          best = select(best, here, exceeding);
          winner = select(winner, (mask)(position), exceeding);
        }
      }
      position = 0;
      for (int y = b.y0; y < b.y1; ++y) {
        for (int x_at = b.x0; x_at < b.x1; ++x_at, ++position) {
          pointer at = sums + ((long)y * w.in_w + x_at) * w.in_pitch;
          const vec share = select((vec)(0), value, winner == (mask)(position));
          store_lanes(share + load_lanes(at, n), at, n);
        }
      }
    }
  }
}

// The same for windows that do not overlap, where a line of y has lines of x of its own: they stay
// in the nearest cache, and what all windows cover needs no zeros before. Grid: lines of y.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void max_pool_gradient_apart(HR_IN(T, x),
                                                                                     HR_IN(T, grad),
                                                                                     HR_OUT(T, to),
                                                                                     window w) {
  HR_INPUT(T, x);
  HR_INPUT(T, grad);
  HR_OUTPUT(T, to);
  const int line = get_group_id(0), oy = line % w.out_h;
  const long begin = (long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch;
  reader image = x + begin;
  pointer sums = to + begin;
  reader from = grad + (long)line * w.out_w * w.out_pitch;
  const int next = (oy + 1) * w.stride_h - w.low_h;
  const int first_line = oy == 0 ? 0 : clamp(next - w.stride_h, 0, w.in_h);
  const int last_line = oy == w.out_h - 1 ? w.in_h : clamp(next, 0, w.in_h);
  const box all = window_box(w, oy, 0);
  const bool covered = w.stride_w == w.size_w && w.out_w * w.stride_w - w.low_w >= w.in_w &&
                       all.y0 <= first_line && all.y1 >= last_line;
  if (!covered) {
    for (int p = first_line * w.in_w; p < last_line * w.in_w; ++p) {
      for (int c = 0; c < w.in_pitch; c += LANES)
        store_lanes((vec)(0), sums + ((long)p * w.in_pitch + c), w.in_pitch - c);
    }
  }
  for (int ox = 0; ox < w.out_w; ++ox, from += w.out_pitch) {
    const box b = window_box(w, oy, ox);
    for (int c = 0; c < w.in_pitch; c += LANES) {
      const int n = w.in_pitch - c;
      const vec value = load_lanes(from + c, n);
      vec best = (vec)(-INFINITY);
      mask winner = (mask)(0);  // the first position, should none exceed minus infinity
      int position = 0;
      for (int y = b.y0; y < b.y1; ++y) {
        for (int x_at = b.x0; x_at < b.x1; ++x_at, ++position) {
          const vec here = load_lanes(image + (((long)y * w.in_w + x_at) * w.in_pitch + c), n);
          const mask exceeding = exceeds(here, best);
          best = select(best, here, exceeding);
          winner = select(winner, (mask)(position), exceeding);
        }
      }
      position = 0;
      for (int y = b.y0; y < b.y1; ++y) {
        for (int x_at = b.x0; x_at < b.x1; ++x_at, ++position) {
          store_lanes(select((vec)(0), value, winner == (mask)(position)),
                      sums + (((long)y * w.in_w + x_at) * w.in_pitch + c), n);
        }
      }
    }
  }
}

// The gradient of x: each window's gradient over its size. Grid: lines of x.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void average_pool_gradient(HR_IN(T, grad),
                                                                                   HR_OUT(T, to),
                                                                                   window w) {
  HR_INPUT(T, grad);
  HR_OUTPUT(T, to);
  const int line = get_group_id(0), iy = line % w.in_h + w.low_h;
  reader image = grad + (long)(line / w.in_h) * w.out_h * w.out_w * w.out_pitch;
  const int oy0 = iy < w.size_h ? 0 : (iy - w.size_h) / w.stride_h + 1;
  const int oy1 = min(iy / w.stride_h + 1, w.out_h);
  for (int ix = 0; ix < w.in_w; ++ix) {
    const int right = ix + w.low_w;
    const int ox0 = right < w.size_w ? 0 : (right - w.size_w) / w.stride_w + 1;
    const int ox1 = min(right / w.stride_w + 1, w.out_w);
    for (int c = 0; c < w.in_pitch; c += LANES) {
      const int n = w.in_pitch - c;
      vec sum = (vec)(0);
      for (int oy = oy0; oy < oy1; ++oy) {
        for (int ox = ox0; ox < ox1; ++ox) {
          const box b = window_box(w, oy, ox);
          const real share = (real)1 / (real)((b.y1 - b.y0) * (b.x1 - b.x0));
          sum += load_lanes(image + (((long)oy * w.out_w + ox) * w.out_pitch + c), n) * share;
        }
      }
      store_lanes(sum, to + (((long)line * w.in_w + ix) * w.in_pitch + c), n);
    }
  }
}
