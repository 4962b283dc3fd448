// The gradient of a filter: a tile of `rows` (tap, channel) x NR output channels per work item,
// summed over pixels, KC at a time.
//
// A tile has one tap, and skips the pixels where that is outside of the image. INSIDE, for few
// channels: no tap is outside (the image comes padded), and a tile has several.

#include "convolution/window.cl"
#include "gemm/cpu_block.cl"

#define OF_PIXEL(q) at_pixel[q]

// Grid: column panels, row tiles, groups times parts of the lines of y.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void filter_gradient(
    HR_IN(T, all_x), HR_IN(T, all_y), HR_OUT(R, all_filter), window w, int rows, int parts,
    int part_lines) {
  HR_INPUT(T, all_x);
  HR_INPUT(T, all_y);
  HR_OUTPUT(R, all_filter);
  __local real panel[KC * NR] __attribute__((aligned(64)));
  __local real sums[MC * NR] __attribute__((aligned(64)));
  __local long at_pixel[KC];
  const int group = get_group_id(2) / parts, part = get_group_id(2) % parts;
  const int j0 = get_group_id(0) * NR, width = min(NR, w.columns - j0);
  reader x = all_x + group * w.depth;
  reader y = all_y + (group * w.columns + j0);
#ifdef INSIDE
  __local int distance[MC + MR];
  const int first_row = get_group_id(1) * rows;
  const int count = min(rows, w.size_h * w.size_w * w.depth - first_row);
  for (int i = 0; i < count + MR; ++i) {
    const int row = first_row + min(i, count - 1), tap = row / w.depth;
    distance[i] =
        (tap / w.size_w * w.dilation_h * w.in_w + tap % w.size_w * w.dilation_w) * w.in_pitch +
        row % w.depth;
  }
  const int tap_y = 0, tap_x = 0, y0 = 0, y1 = w.out_h, x0 = 0, x1 = w.out_w;
#else
  const int tiles = (w.depth + rows - 1) / rows;
  const int tap = get_group_id(1) / tiles, c0 = get_group_id(1) % tiles * rows;
  const int count = min(rows, w.depth - c0), first_row = tap * w.depth + c0;
  const int tap_y = tap / w.size_w * w.dilation_h - w.low_h,
            tap_x = tap % w.size_w * w.dilation_w - w.low_w;
  // Lines and w.columns of y where the tap is inside.
  const int y0 = (max(0, -tap_y) + w.stride_h - 1) / w.stride_h;
  const int y1 = min(w.out_h, (w.in_h - tap_y + w.stride_h - 1) / w.stride_h);
  const int x0 = (max(0, -tap_x) + w.stride_w - 1) / w.stride_w;
  const int x1 = min(w.out_w, (w.in_w - tap_x + w.stride_w - 1) / w.stride_w);
#endif
  result_pointer tile = all_filter +
                   ((long)part * w.size_h * w.size_w * w.depth + first_row) * w.out_pitch +
                   group * w.columns + j0;
  const epilogue e = EPILOGUE_OF(0);
  bool first = true;
  int line = part * part_lines, column = x0;
  const int last_line = min(w.batch * w.out_h, line + part_lines);
  do {
    int n = 0;
    while (line < last_line && n < KC) {
      const int image = line / w.out_h, oy = line % w.out_h;
      const bool skip = oy < y0 || oy >= y1;
      const int span = skip ? 0 : min(KC - n, x1 - column);
      if (span > 0) {
        pack_rows(y + ((long)line * w.out_w + column) * w.out_pitch, w.out_pitch, span, width,
                  panel + n * NR);
        long at = (((long)image * w.in_h + oy * w.stride_h + tap_y) * w.in_w + column * w.stride_w +
                   tap_x) *
                  w.in_pitch;
        for (int i = 0; i < span; ++i, at += w.stride_w * w.in_pitch) at_pixel[n + i] = at;
        n += span;
        column += span;
      }
      if (skip || column >= x1) {
        ++line;
        column = x0;
      }
    }
    const bool last = line >= last_line;
    for (int i = 0; i < count; i += MR) {
      block sum;
      clear(&sum);
      reader at[MR];
#pragma unroll
      for (int r = 0; r < MR; ++r) {
#ifdef INSIDE
        at[r] = x + distance[i + r];
#else
        at[r] = x + (c0 + min(i + r, count - 1));
#endif
      }
      MULTIPLY(&sum, at, n, panel, OF_PIXEL)
      if (last) {
        result_pointer to[MR];
#pragma unroll
        for (int r = 0; r < MR; ++r) to[r] = tile + (long)(i + r) * w.out_pitch;
        store_block(&sum, sums + i * NR, first, count - i, width, to, &e);
      } else {
        keep(&sum, sums + i * NR, first);
      }
    }
    first = false;
  } while (line < last_line);
}
