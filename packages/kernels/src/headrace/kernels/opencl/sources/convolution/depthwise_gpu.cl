// Depthwise convolution for GPUs, each output channel c * MULTIPLIER + m from input channel c, and
// its gradients: one result for each work item, channels next to each other.

#include "convolution/window.cl"
#include "gemm/gpu_elements.cl"

#ifndef MULTIPLIER
#define MULTIPLIER 1
#endif
#define ITEMWISE kernel __attribute__((reqd_work_group_size(64, 1, 1)))

// Grid: elements of y.
ITEMWISE void depthwise(HR_IN(T, x), HR_IN(T, filter), HR_OUT(T, y), window w) {
  HR_INPUT(T, x);
  HR_INPUT(T, filter);
  HR_OUTPUT(T, y);
  const long i = get_global_id(0);
  if (i >= (long)w.batch * w.out_h * w.out_w * w.out_pitch) return;
  const int j = i % w.out_pitch;
  const int ox = i / w.out_pitch % w.out_w, line = i / w.out_pitch / w.out_w;
  const int top = line % w.out_h * w.stride_h - w.low_h, left = ox * w.stride_w - w.low_w;
  reader image = x + ((long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch + j / MULTIPLIER);
  real sum = 0;
  for (int ky = 0; ky < w.size_h; ++ky) {
    const int iy = top + ky * w.dilation_h;
    if (iy < 0 || iy >= w.in_h) continue;
    for (int kx = 0; kx < w.size_w; ++kx) {
      const int ix = left + kx * w.dilation_w;
      if (ix < 0 || ix >= w.in_w) continue;
      sum = fma((real)LOAD1(image, ((long)iy * w.in_w + ix) * w.in_pitch),
                (real)LOAD1(filter, (long)(ky * w.size_w + kx) * w.out_pitch + j), sum);
    }
  }
  STORE1(sum, y, i);
}

// Grid: elements of x.
ITEMWISE void depthwise_to_input(HR_IN(T, filter), HR_IN(T, y), HR_OUT(T, x), window w) {
  HR_INPUT(T, filter);
  HR_INPUT(T, y);
  HR_OUTPUT(T, x);
  const long i = get_global_id(0);
  if (i >= (long)w.batch * w.in_h * w.in_w * w.in_pitch) return;
  const int c = i % w.in_pitch;
  const int ix = i / w.in_pitch % w.in_w, line = i / w.in_pitch / w.in_w;
  reader image = y + (long)(line / w.in_h) * w.out_h * w.out_w * w.out_pitch;
  real sum = 0;
  for (int ky = 0; ky < w.size_h; ++ky) {
    const int bottom = line % w.in_h + w.low_h - ky * w.dilation_h, oy = bottom / w.stride_h;
    if (bottom < 0 || bottom % w.stride_h || oy >= w.out_h) continue;
    for (int kx = 0; kx < w.size_w; ++kx) {
      const int right = ix + w.low_w - kx * w.dilation_w, ox = right / w.stride_w;
      if (right < 0 || right % w.stride_w || ox >= w.out_w) continue;
      for (int m = 0; m < MULTIPLIER; ++m) {
        const int j = c * MULTIPLIER + m;
        sum = fma((real)LOAD1(image, ((long)oy * w.out_w + ox) * w.out_pitch + j),
                  (real)LOAD1(filter, (long)(ky * w.size_w + kx) * w.out_pitch + j), sum);
      }
    }
  }
  STORE1(sum, x, i);
}

// The gradient of the filter from part_lines lines of y, to part number get_global_id(1).
// Grid: elements of the filter, parts.
ITEMWISE void depthwise_to_filter(HR_IN(T, x), HR_IN(T, y), HR_OUT(R, filter), window w,
                                  int part_lines) {
  HR_INPUT(T, x);
  HR_INPUT(T, y);
  HR_OUTPUT(R, filter);
  const int i = get_global_id(0), size = w.size_h * w.size_w * w.out_pitch;
  if (i >= size) return;
  const int j = i % w.out_pitch, tap = i / w.out_pitch;
  const int top = tap / w.size_w * w.dilation_h - w.low_h;
  const int left = tap % w.size_w * w.dilation_w - w.low_w;
  // Positions of y whose element of the window is inside of a line of x.
  const int first = max(0, -left + w.stride_w - 1) / w.stride_w;
  const int last = left < w.in_w ? min(w.out_w - 1, (w.in_w - left - 1) / w.stride_w) : -1;
  const int begin = get_global_id(1) * part_lines, end = min(w.batch * w.out_h, begin + part_lines);
  real sum = 0;
  for (int line = begin; line < end; ++line) {
    const int iy = line % w.out_h * w.stride_h + top;
    if (iy < 0 || iy >= w.in_h) continue;
    reader row = x + ((((long)(line / w.out_h) * w.in_h + iy) * w.in_w + left) * w.in_pitch +
                      j / MULTIPLIER);
    reader grad = y + ((long)line * w.out_w * w.out_pitch + j);
    for (int ox = first; ox <= last; ++ox)
      sum = fma((real)LOAD1(row, (long)ox * w.stride_w * w.in_pitch),
                (real)LOAD1(grad, (long)ox * w.out_pitch), sum);
  }
  STORE1_RESULT(sum, filter, (long)get_global_id(1) * size + i);
}
