// Convolution as a product of pixels by filter: a tile of `rows` pixels x NR channels per work
// item. Without TO_INPUT: pixels of y from x. With it: the gradient of x from y, whose pixels are
// walked by phase (their position modulo the stride), since all of a phase meet the same taps.
//
// The product sums over `depth` channels of each tap of the filter. The channels of a pixel are
// contiguous, so a row of the operand is a pointer per tap; a tap outside of the image is zeros.
// INSIDE, for few channels: no tap is outside (the image comes padded), and an element of a window
// lies at a distance from the pixel that is the same for all pixels.

#include "convolution/window.cl"
#include "gemm/cpu_block.cl"

#define TAPS 128  // in scratch at a time
#define OUTSIDE (-(1 << 29))
#define ITSELF(q) q
#define OF_WINDOW(q) distance[q]

typedef struct {
  int y, x;    // from the pixel's origin
  int filter;  // the tap's number
} tap;

typedef struct {
  int y, x;   // of tap (0, 0), perhaps outside of the image
  long from;  // its place in the operand
  long to;    // the pixel's place in the result
} pixel;

// Grid: column panels, row tiles, groups times phases.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void convolve(
    HR_IN(T, all_from), HR_IN(T, all_filter), HR_OUT(T, all_to), window w,
    int rows EPILOGUE_PARAMETERS) {
  EPILOGUE_INPUTS;
  HR_INPUT(T, all_from);
  HR_INPUT(T, all_filter);
  HR_OUTPUT(T, all_to);
  __local real panel[KC * NR] __attribute__((aligned(64)));
  __local real sums[MC * NR] __attribute__((aligned(64)));
  __local pixel pixels[MC + MR];
#ifdef INSIDE
  __local int distance[KC];
#else
  __local tap taps[TAPS];
  __local real zeros[KC] __attribute__((aligned(64)));
  for (int q = 0; q < KC; ++q) zeros[q] = 0;
#endif
#ifdef TO_INPUT
  const int phases = w.stride_h * w.stride_w;
  const int group = get_group_id(2) / phases, phase = get_group_id(2) % phases;
  const int phase_y = phase / w.stride_w, phase_x = phase % w.stride_w;
  const int step_h = w.stride_h, step_w = w.stride_w;  // between the pixels of a phase
  const int walk_h = 1, walk_w = 1;                    // of the operand, for one of them
  const int origin_h = 0, origin_w = 0;
#else
  const int group = get_group_id(2), phase_y = 0, phase_x = 0, step_h = 1, step_w = 1;
  const int walk_h = w.stride_h, walk_w = w.stride_w, origin_h = -w.low_h, origin_w = -w.low_w;
#endif
  const int high = (w.out_h - phase_y + step_h - 1) / step_h;
  const int wide = (w.out_w - phase_x + step_w - 1) / step_w;
  const int m = w.batch * high * wide, i0 = get_group_id(1) * rows;
  if (i0 >= m) return;
  const int count = min(rows, m - i0);
  const int j0 = get_group_id(0) * NR, width = min(NR, w.columns - j0);
  const epilogue e = EPILOGUE_OF(group * w.columns + j0);
  reader from = all_from + group * w.depth;
  pointer result = all_to + (group * w.columns + j0);
#ifdef TO_INPUT
  reader filter = all_filter + (group * w.depth + (long)j0 * w.in_pitch);
#else
  reader filter = all_filter + (group * w.columns + j0);
#endif

  {
    int n = i0 / (high * wide), y = i0 / wide % high, x = i0 % wide;
    for (int i = 0; i < count; ++i) {
      pixels[i].y = y * walk_h + origin_h;
      pixels[i].x = x * walk_w + origin_w;
      pixels[i].from = (((long)n * w.in_h + pixels[i].y) * w.in_w + pixels[i].x) * w.in_pitch;
      pixels[i].to = (((long)n * w.out_h + y * step_h + phase_y) * w.out_w + x * step_w + phase_x) *
                     w.out_pitch;
      if (++x == wide) {
        x = 0;
        if (++y == high) y = 0, ++n;
      }
    }
    for (int i = count; i < count + MR; ++i) {
      pixels[i] = pixels[count - 1];
#ifndef INSIDE
      pixels[i].y = OUTSIDE;
#endif
    }
  }

#ifdef INSIDE
  const int length = w.size_h * w.size_w * w.depth;
  int ky = 0, kx = 0, c = 0;
  for (int k0 = 0; k0 < length; k0 += KC) {
    const int deep = min(KC, length - k0);
    for (int q = 0; q < deep; ++q) {
      distance[q] = (ky * w.dilation_h * w.in_w + kx * w.dilation_w) * w.in_pitch + c;
      if (++c == w.depth) {
        c = 0;
        if (++kx == w.size_w) kx = 0, ++ky;
      }
    }
    pack_rows(filter + (long)k0 * w.out_pitch, w.out_pitch, deep, width, panel);
    for (int i = 0; i < count; i += MR) {
      block sum;
      clear(&sum);
      reader at[MR];
      pointer to[MR];
#pragma unroll
      for (int r = 0; r < MR; ++r) {
        at[r] = from + pixels[i + r].from;
        to[r] = result + pixels[i + r].to;
      }
      MULTIPLY(&sum, at, deep, panel, OF_WINDOW)
      if (k0 + KC < length) keep(&sum, sums + i * NR, k0 == 0);
      else store_block(&sum, sums + i * NR, k0 == 0, count - i, width, to, &e);
    }
  }
#else
  bool first = true;
  int next = 0;
  const int all = w.size_h * w.size_w;
  while (next < all) {
    int n_taps = 0;
    for (; next < all && n_taps < TAPS; ++next) {
      const int ky = next / w.size_w * w.dilation_h, kx = next % w.size_w * w.dilation_w;
#ifdef TO_INPUT
      const int y = phase_y + w.low_h - ky, x = phase_x + w.low_w - kx;
      if (y % w.stride_h || x % w.stride_w) continue;
      taps[n_taps].y = y / w.stride_h;
      taps[n_taps].x = x / w.stride_w;
#else
      taps[n_taps].y = ky;
      taps[n_taps].x = kx;
#endif
      taps[n_taps++].filter = next;
    }
    for (int c0 = 0; c0 < w.depth; c0 += KC) {
      const int deep = min(KC, w.depth - c0), at_once = KC / deep;
      for (int t0 = 0; t0 < n_taps; t0 += at_once) {
        const int t1 = min(n_taps, t0 + at_once);
        for (int t = t0; t < t1; ++t) {
#ifdef TO_INPUT
          pack_columns(filter + ((long)taps[t].filter * w.columns * w.in_pitch + c0), w.in_pitch,
                       deep, width, panel + (t - t0) * deep * NR);
#else
          pack_rows(filter + ((long)taps[t].filter * w.depth + c0) * w.out_pitch, w.out_pitch, deep,
                    width, panel + (t - t0) * deep * NR);
#endif
        }
        const bool last = next == all && c0 + KC >= w.depth && t1 == n_taps;
        for (int i = 0; i < count; i += MR) {
          block sum;
          clear(&sum);
          for (int t = t0; t < t1; ++t) {
            const int ty = taps[t].y, tx = taps[t].x;
            const long shift = ((long)ty * w.in_w + tx) * w.in_pitch + c0;
            reader at[MR];
#pragma unroll
            for (int r = 0; r < MR; ++r) {
              const int y = pixels[i + r].y + ty, x = pixels[i + r].x + tx;
              const bool inside = (uint)y < (uint)w.in_h && (uint)x < (uint)w.in_w;
              at[r] = inside ? from + (pixels[i + r].from + shift) : AS_READER(zeros);
            }
            MULTIPLY(&sum, at, deep, panel + (t - t0) * deep * NR, ITSELF)
          }
          if (last) {
            pointer to[MR];
#pragma unroll
            for (int r = 0; r < MR; ++r) to[r] = result + pixels[i + r].to;
            store_block(&sum, sums + i * NR, first, count - i, width, to, &e);
          } else {
            keep(&sum, sums + i * NR, first);
          }
        }
        first = false;
      }
    }
    if (n_taps == 0 && next == all) {  // the phase meets no tap, or none of the last ones
      for (int i = 0; i < count; ++i) {
        if (first) store_zeros(width, result + pixels[i].to);
        else
          for (int j = 0; j < width; ++j) STORE1(sums[i * NR + j], result + pixels[i].to, j);
      }
    }
  }
#endif
}

// Copies an image into one that is larger by zeros, or smaller. Grid: lines of the result.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pad_image(HR_IN(T, image),
                                                                       HR_OUT(T, padded), int in_h,
                                                                       int in_w, int depth,
                                                                       int out_h, int out_w,
                                                                       int low_h, int low_w) {
  HR_INPUT(T, image);
  HR_OUTPUT(T, padded);
  const int line = get_group_id(0), y = line % out_h - low_h;
  pointer to = padded + (long)line * out_w * depth;
  const int begin = min(low_w, out_w) * depth, end = min(low_w + in_w, out_w) * depth;
  const bool inside = y >= 0 && y < in_h;
  reader from = image + ((long)(line / out_h) * in_h + y) * in_w * depth - begin;
  for (int i = 0; i < out_w * depth; ++i) {
    const bool copies = inside && i >= begin && i < end;
    STORE1(copies ? LOAD1(from, i) : (real)0, to, i);
  }
}
