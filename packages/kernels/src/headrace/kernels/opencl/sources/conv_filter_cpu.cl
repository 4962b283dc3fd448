// The gradient of a filter: a tile of `rows` (tap, channel) x NR output channels per work item,
// summed over pixels, KC at a time.
//
// A tile has one tap, and skips the pixels where that is outside of the image. INSIDE, for few
// channels: no tap is outside (the image comes padded), and a tile has several.

#define OF_PIXEL(q) at_pixel[q]

// Grid: column panels, row tiles, groups times parts of the lines of y.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void filter_gradient(
    TENSOR(const T, x_), TENSOR(const T, y_), TENSOR(T, filter_), int batch, int in_h, int in_w,
    int in_pitch, int depth, int out_h, int out_w, int out_pitch, int columns, int size_h,
    int size_w, int stride_h, int stride_w, int low_h, int low_w, int dilation_h, int dilation_w,
    int rows, int parts, int part_lines) {
  __local real panel[KC * NR] __attribute__((aligned(64)));
  __local real sums[MC * NR] __attribute__((aligned(64)));
  __local long at_pixel[KC];
  const int group = get_group_id(2) / parts, part = get_group_id(2) % parts;
  const int j0 = get_group_id(0) * NR, width = min(NR, columns - j0);
  reader x = AT(const T, x_) + group * depth;
  reader y = AT(const T, y_) + (group * columns + j0);
#ifdef INSIDE
  __local int distance[MC + MR];
  const int first_row = get_group_id(1) * rows;
  const int count = min(rows, size_h * size_w * depth - first_row);
  for (int i = 0; i < count + MR; ++i) {
    const int row = first_row + min(i, count - 1), tap = row / depth;
    distance[i] = (tap / size_w * dilation_h * in_w + tap % size_w * dilation_w) * in_pitch +
                  row % depth;
  }
  const int tap_y = 0, tap_x = 0, y0 = 0, y1 = out_h, x0 = 0, x1 = out_w;
#else
  const int tiles = (depth + rows - 1) / rows;
  const int tap = get_group_id(1) / tiles, c0 = get_group_id(1) % tiles * rows;
  const int count = min(rows, depth - c0), first_row = tap * depth + c0;
  const int tap_y = tap / size_w * dilation_h - low_h, tap_x = tap % size_w * dilation_w - low_w;
  // Lines and columns of y where the tap is inside.
  const int y0 = (max(0, -tap_y) + stride_h - 1) / stride_h;
  const int y1 = min(out_h, (in_h - tap_y + stride_h - 1) / stride_h);
  const int x0 = (max(0, -tap_x) + stride_w - 1) / stride_w;
  const int x1 = min(out_w, (in_w - tap_x + stride_w - 1) / stride_w);
#endif
  pointer result = AT(T, filter_) + ((long)part * size_h * size_w * depth + first_row) * out_pitch +
                   group * columns + j0;
  bool first = true;
  int line = part * part_lines, column = x0;
  const int last_line = min(batch * out_h, line + part_lines);
  do {
    int n = 0;
    while (line < last_line && n < KC) {
      const int image = line / out_h, oy = line % out_h;
      const bool skip = oy < y0 || oy >= y1;
      const int span = skip ? 0 : min(KC - n, x1 - column);
      if (span > 0) {
        pack_rows(y + ((long)line * out_w + column) * out_pitch, out_pitch, span, width,
                  panel + n * NR);
        long at = (((long)image * in_h + oy * stride_h + tap_y) * in_w + column * stride_w +
                   tap_x) * in_pitch;
        for (int i = 0; i < span; ++i, at += stride_w * in_pitch) at_pixel[n + i] = at;
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
        pointer to[MR];
#pragma unroll
        for (int r = 0; r < MR; ++r) to[r] = result + (long)(i + r) * out_pitch;
        store_block(&sum, sums + i * NR, first, count - i, width, to);
      } else {
        keep(&sum, sums + i * NR, first);
      }
    }
    first = false;
  } while (line < last_line);
}
