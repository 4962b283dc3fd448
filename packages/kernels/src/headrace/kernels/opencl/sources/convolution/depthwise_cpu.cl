// Depthwise convolution for CPUs, each output channel c * MULTIPLIER + m from input channel c, and
// its gradients. Channels lie in the lanes of vectors.

#include "convolution/window.cl"
#include "gemm/cpu_lanes.cl"

#ifndef MULTIPLIER
#define MULTIPLIER 1
#endif
#define PIXELS 8

// The input channels of LANES output channels from j on, of which n exist.
static inline vec load_input(reader pixel, int j, int n) {
#if MULTIPLIER == 1
  return load_lanes(pixel + j, n);
#else
  real lanes[LANES];
  for (int i = 0; i < LANES; ++i) lanes[i] = i < n ? LOAD1(pixel, (j + i) / MULTIPLIER) : (real)0;
  return *(vec*)lanes;
#endif
}

// The products of n input channels from c on with their weights, summed over the multiplier.
static inline vec load_products(reader pixel, reader weights, int c, int n) {
#if MULTIPLIER == 1
  return load_lanes(pixel + c, n) * load_lanes(weights + c, n);
#else
  real lanes[LANES];
  for (int i = 0; i < LANES; ++i) {
    lanes[i] = 0;
    for (int m = 0; m < MULTIPLIER && i < n; ++m) {
      const int at = (c + i) * MULTIPLIER + m;
      lanes[i] += LOAD1(pixel, at) * LOAD1(weights, at);
    }
  }
  return *(vec*)lanes;
#endif
}

// Grid: lines of y.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void depthwise(HR_IN(T, x),
                                                                       HR_IN(T, filter),
                                                                       HR_OUT(T, y), window w) {
  HR_INPUT(T, x);
  HR_INPUT(T, filter);
  HR_OUTPUT(T, y);
  const int line = get_group_id(0), top = line % w.out_h * w.stride_h - w.low_h;
  reader image = x + (long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch;
  pointer to = y + (long)line * w.out_w * w.out_pitch;
  const int step = w.stride_w * w.in_pitch;
  for (int ox = 0; ox < w.out_w; ox += PIXELS) {
    const int left = ox * w.stride_w - w.low_w;
    const int right = left + (PIXELS - 1) * w.stride_w + (w.size_w - 1) * w.dilation_w;
    const bool inside = left >= 0 && right < w.in_w;
    for (int j = 0; j < w.out_pitch; j += LANES) {
      const int n = w.out_pitch - j;
      const bool whole = MULTIPLIER == 1 && n >= LANES && inside;
      vec sum[PIXELS];
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) sum[p] = (vec)(0);
      for (int ky = 0; ky < w.size_h; ++ky) {
        const int iy = top + ky * w.dilation_h;
        if (iy < 0 || iy >= w.in_h) continue;
        reader row = image + (long)iy * w.in_w * w.in_pitch;
        reader weights = filter + ((long)ky * w.size_w * w.out_pitch + j);
        if (whole) {
          reader at = row + ((long)left * w.in_pitch + j);
          for (int kx = 0; kx < w.size_w; ++kx) {
            const vec weight = LOAD(weights);
#pragma unroll
            for (int p = 0; p < PIXELS; ++p) sum[p] = fma(LOAD(at + p * step), weight, sum[p]);
            at += w.dilation_w * w.in_pitch;
            weights += w.out_pitch;
          }
          continue;
        }
        for (int kx = 0; kx < w.size_w; ++kx, weights += w.out_pitch) {
          const vec weight = load_lanes(weights, n);
#pragma unroll
          for (int p = 0; p < PIXELS; ++p) {
            const int ix = left + kx * w.dilation_w + p * w.stride_w;
            if (ix >= 0 && ix < w.in_w)
              sum[p] = fma(load_input(row + (long)ix * w.in_pitch, j, n), weight, sum[p]);
          }
        }
      }
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        if (ox + p < w.out_w) store_lanes(sum[p], to + ((long)(ox + p) * w.out_pitch + j), n);
      }
    }
  }
}

// The gradient of x; in and out are x and y as above. Grid: lines of x.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void depthwise_to_input(HR_IN(T, filter),
                                                                                HR_IN(T, y),
                                                                                HR_OUT(T, x),
                                                                                window w) {
  HR_INPUT(T, filter);
  HR_INPUT(T, y);
  HR_OUTPUT(T, x);
  const int line = get_group_id(0), iy = line % w.in_h;
  reader image = y + (long)(line / w.in_h) * w.out_h * w.out_w * w.out_pitch;
  pointer to = x + (long)line * w.in_w * w.in_pitch;
  // Pixels of one phase, which meet the same taps.
  for (int phase = 0; phase < w.stride_w; ++phase) {
    const int count = (w.in_w - phase + w.stride_w - 1) / w.stride_w;
    for (int p0 = 0; p0 < count; p0 += PIXELS) {
      for (int c = 0; c < w.in_pitch; c += LANES) {
        const int n = w.in_pitch - c;
        vec sum[PIXELS];
#pragma unroll
        for (int p = 0; p < PIXELS; ++p) sum[p] = (vec)(0);
        for (int ky = 0; ky < w.size_h; ++ky) {
          const int bottom = iy + w.low_h - ky * w.dilation_h;
          if (bottom < 0 || bottom % w.stride_h || bottom / w.stride_h >= w.out_h) continue;
          reader row = image + (long)(bottom / w.stride_h) * w.out_w * w.out_pitch;
          for (int kx = 0; kx < w.size_w; ++kx) {
            const int right = phase + w.low_w - kx * w.dilation_w;
            if (right % w.stride_w) continue;
            const int ox = right / w.stride_w + p0;
            reader weights = filter + (long)(ky * w.size_w + kx) * w.out_pitch;
            if (MULTIPLIER == 1 && n >= LANES && ox >= 0 && ox + PIXELS <= w.out_w) {
              reader at = row + ((long)ox * w.out_pitch + c);
              const vec weight = LOAD(weights + c);
#pragma unroll
              for (int p = 0; p < PIXELS; ++p)
                sum[p] = fma(LOAD(at + p * w.out_pitch), weight, sum[p]);
            } else {
#pragma unroll
              for (int p = 0; p < PIXELS; ++p) {
                if (ox + p >= 0 && ox + p < w.out_w)
                  sum[p] += load_products(row + (long)(ox + p) * w.out_pitch, weights, c, n);
              }
            }
          }
        }
#pragma unroll
        for (int p = 0; p < PIXELS; ++p) {
          if (p0 + p < count)
            store_lanes(sum[p], to + ((long)((p0 + p) * w.stride_w + phase) * w.in_pitch + c), n);
        }
      }
    }
  }
}

#define TAPS 32   // whose sums are in scratch at a time
#define VECTORS 4  // of channels in an item

// The gradient of the filter from part_lines lines of y, to part number get_group_id(1).
// Grid: blocks of VECTORS * LANES channels of y, parts.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void depthwise_to_filter(
    HR_IN(T, x), HR_IN(T, y), HR_OUT(R, filter), window w, int part_lines) {
  HR_INPUT(T, x);
  HR_INPUT(T, y);
  HR_OUTPUT(R, filter);
  __local real sums[TAPS * VECTORS * LANES] __attribute__((aligned(64)));
  const int j0 = get_group_id(0) * VECTORS * LANES;
  const int j1 = min(w.out_pitch, j0 + VECTORS * LANES);
  const int begin = get_group_id(1) * part_lines, end = min(w.batch * w.out_h, begin + part_lines);
  const int all = w.size_h * w.size_w, step = w.stride_w * w.in_pitch;
  result_pointer to = filter + (long)get_group_id(1) * all * w.out_pitch;
  for (int first = 0; first < all; first += TAPS) {
    const int taps = min(TAPS, all - first);
    for (int i = 0; i < taps * VECTORS; ++i) VECTOR(sums + i * LANES) = (vec)(0);
    for (int line = begin; line < end; ++line) {
      reader grad = y + (long)line * w.out_w * w.out_pitch;
      for (int t = 0; t < taps; ++t) {
        const int ky = (first + t) / w.size_w, kx = (first + t) % w.size_w;
        const int iy = line % w.out_h * w.stride_h + ky * w.dilation_h - w.low_h;
        if (iy < 0 || iy >= w.in_h) continue;
        const int left = kx * w.dilation_w - w.low_w;
        const int x0 = first_inside(left, w.stride_w);
        const int x1 = after_inside(left, w.stride_w, w.in_w, w.out_w);
        reader from = x + ((long)(line / w.out_h) * w.in_h + iy) * w.in_w * w.in_pitch +
                      (long)left * w.in_pitch;
        scratch total = sums + t * VECTORS * LANES;
        for (int j = j0; j < j1; j += LANES, total += LANES) {
          const int n = w.out_pitch - j;
          vec sum[4];  // of pixels in turn: one sum alone would wait for itself
#pragma unroll
          for (int s = 0; s < 4; ++s) sum[s] = (vec)(0);
          int ox = x0;
          if (MULTIPLIER == 1 && n >= LANES) {
            for (; ox + 4 <= x1; ox += 4) {
#pragma unroll
              for (int s = 0; s < 4; ++s)
                sum[s] = fma(LOAD(from + ((long)(ox + s) * step + j)),
                             LOAD(grad + ((long)(ox + s) * w.out_pitch + j)), sum[s]);
            }
          }
          for (; ox < x1; ++ox)
            sum[0] = fma(load_input(from + (long)ox * step, j, n),
                         load_lanes(grad + ((long)ox * w.out_pitch + j), n), sum[0]);
          VECTOR(total) += (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
      }
    }
    for (int t = 0; t < taps; ++t) {
      for (int j = j0; j < j1; j += LANES)
        store_results(VECTOR(sums + t * VECTORS * LANES + (j - j0)),
                      to + ((long)(first + t) * w.out_pitch + j), w.out_pitch - j);
    }
  }
}
