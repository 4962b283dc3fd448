// The gradient of a filter: a tile of `rows` (tap, channel) x NR output channels per work item,
// summed over pixels of which KC at a time are in scratch.
//
// A tile has one tap, and skips the pixels where that is outside of the image. PATCH, for few
// channels: it has several taps, whose windows are copied to scratch.

#define PITCH (MC + LANES)

// Grid: column panels, row tiles, groups times parts of the lines of y. end: elements of x.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void filter_gradient(
    TENSOR(const T, x_), TENSOR(const T, y_), TENSOR(T, filter_), long end, int batch, int in_h,
    int in_w, int in_pitch, int depth, int out_h, int out_w, int out_pitch, int columns,
    int size_h, int size_w, int stride_h, int stride_w, int low_h, int low_w, int dilation_h,
    int dilation_w, int rows, int parts, int part_lines) {
  __local real panel[KC * NR] __attribute__((aligned(64)));
  __local real sums[MC * NR] __attribute__((aligned(64)));
  const int group = get_group_id(2) / parts, part = get_group_id(2) % parts;
  const int j0 = get_group_id(0) * NR, width = min(NR, columns - j0);
  reader x = AT(const T, x_) + group * depth;
  reader y = AT(const T, y_) + group * columns + j0;
#ifdef PATCH
  __local T patch[KC * PITCH] __attribute__((aligned(64)));
  __local tap taps[TAPS];
  const image in = {in_h, in_w, in_pitch, depth, end - group * depth};
  const int first_tap = get_group_id(1) * (rows / depth);
  const int n_taps = min(rows / depth,
                         list_taps(first_tap, size_h, size_w, dilation_h, dilation_w, taps));
  const int count = n_taps * depth;
  const long first_row = (long)first_tap * depth;
  const int tap_y = 0, tap_x = 0, y0 = 0, y1 = out_h, x0 = 0, x1 = out_w;
#else
  __local long at_pixel[KC];
  const int tiles = (depth + rows - 1) / rows;
  const int tap = get_group_id(1) / tiles, c0 = get_group_id(1) % tiles * rows;
  const int count = min(rows, depth - c0);
  const long first_row = (long)tap * depth + c0;
  const int tap_y = tap / size_w * dilation_h - low_h, tap_x = tap % size_w * dilation_w - low_w;
  // Lines and columns of y where the tap is inside.
  const int y0 = (max(0, -tap_y) + stride_h - 1) / stride_h;
  const int y1 = min(out_h, (in_h - tap_y + stride_h - 1) / stride_h);
  const int x0 = (max(0, -tap_x) + stride_w - 1) / stride_w;
  const int x1 = min(out_w, (in_w - tap_x + stride_w - 1) / stride_w);
#endif
  bool first = true;
  int line = part * part_lines, at_x = x0;
  const int last_line = min(batch * out_h, line + part_lines);
  while (line < last_line) {
    int n = 0;
    while (line < last_line && n < KC) {
      const int image_number = line / out_h, oy = line % out_h;
      if (oy < y0 || oy >= y1 || at_x >= x1) {
        ++line;
        at_x = x0;
        continue;
      }
      const int span = min(KC - n, x1 - at_x);
      pack_rows(y + ((long)line * out_w + at_x) * out_pitch, out_pitch, span, width,
                panel + n * NR);
      for (int i = 0; i < span; ++i, ++n, ++at_x) {
#ifdef PATCH
        pixel p;
        p.y = oy * stride_h - low_h;
        p.x = at_x * stride_w - low_w;
        p.from = (((long)image_number * in_h + p.y) * in_w + p.x) * in_pitch;
        copy_window(x, &in, p, taps, 0, n_taps, patch + n * PITCH);
#else
        at_pixel[n] = (((long)image_number * in_h + oy * stride_h + tap_y) * in_w +
                       at_x * stride_w + tap_x) * in_pitch;
#endif
      }
    }
    for (int i = 0; i < count; i += MR) {
      block sum;
      clear(&sum);
      reader at[MR];
#ifdef PATCH
#pragma unroll
      for (int r = 0; r < MR; ++r) at[r] = AS_READER(patch + i + r);
#define OF_PIXEL(q) (q) * PITCH
#else
#pragma unroll
      for (int r = 0; r < MR; ++r) at[r] = x + c0 + min(i + r, count - 1);
#define OF_PIXEL(q) at_pixel[q]
#endif
      MULTIPLY(&sum, at, n, panel, OF_PIXEL)
      keep(&sum, sums + i * NR, first);
    }
    first = false;
  }
  if (first) {
    for (int i = 0; i < count * NR; ++i) sums[i] = 0;
  }
  pointer to = AT(T, filter_) + (long)part * size_h * size_w * depth * out_pitch +
               first_row * out_pitch + group * columns + j0;
  for (int i = 0; i < count; ++i) store_row(sums + i * NR, width, to + (long)i * out_pitch);
}
