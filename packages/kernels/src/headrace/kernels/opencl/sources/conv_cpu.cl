// Convolution as a product of pixels by filter: a tile of `rows` pixels x NR channels per work
// item. Without TO_INPUT: pixels of y from x. With it: the gradient of x from y, whose pixels are
// walked by phase (their position modulo the stride), since all of a phase meet the same taps.
//
// The product sums over `depth` channels of each tap of the filter. The channels of a pixel are
// contiguous, so a row of the operand is a pointer per tap; a tap outside of the image is zeros.
// PATCH, for few channels: the windows of a block of pixels are first copied to scratch. All taps
// of a row of the filter fit into KC.

#define ITSELF(q) q

// Grid: column panels, row tiles, groups times phases. end: elements of `from`.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void convolve(
    TENSOR(const T, from_), TENSOR(const T, filter_), TENSOR(T, to_), long end, int batch, int in_h, int in_w,
    int in_pitch, int depth, int out_h, int out_w, int out_pitch, int columns, int size_h,
    int size_w, int stride_h, int stride_w, int low_h, int low_w, int dilation_h, int dilation_w,
    int rows) {
  __local real panel[KC * NR] __attribute__((aligned(64)));
  __local real sums[MC * NR] __attribute__((aligned(64)));
  __local pixel pixels[MC];
  __local tap taps[TAPS];
#ifdef PATCH
  __local T patch[MR * (KC + LANES)] __attribute__((aligned(64)));
#else
  __local T zeros[KC] __attribute__((aligned(64)));
  for (int q = 0; q < KC; ++q) zeros[q] = 0;
#endif
#ifdef TO_INPUT
  const int phases = stride_h * stride_w;
  const int group = get_group_id(2) / phases, phase = get_group_id(2) % phases;
  const int phase_y = phase / stride_w, phase_x = phase % stride_w;
  const int step_h = stride_h, step_w = stride_w;  // between the pixels of a phase
  const int walk_h = 1, walk_w = 1;                // of the operand, for one of them
  const int origin_h = 0, origin_w = 0;
#else
  const int group = get_group_id(2), phase_y = 0, phase_x = 0, step_h = 1, step_w = 1;
  const int walk_h = stride_h, walk_w = stride_w, origin_h = -low_h, origin_w = -low_w;
#endif
  const int high = (out_h - phase_y + step_h - 1) / step_h;
  const int wide = (out_w - phase_x + step_w - 1) / step_w;
  const int m = batch * high * wide, i0 = get_group_id(1) * rows;
  if (i0 >= m) return;
  const int count = min(rows, m - i0);
  const int j0 = get_group_id(0) * NR, width = min(NR, columns - j0);
  reader from = AT(const T, from_) + group * depth;
  pointer to = AT(T, to_) + group * columns + j0;
#ifdef TO_INPUT
  reader filter = AT(const T, filter_) + group * depth + (long)j0 * in_pitch;
#else
  reader filter = AT(const T, filter_) + group * columns + j0;
#endif

#ifdef PATCH
  const image in = {in_h, in_w, in_pitch, depth, end - group * depth};
#endif

  {
    int n = i0 / (high * wide), y = i0 / wide % high, x = i0 % wide;
    for (int i = 0; i < count; ++i) {
      pixels[i].y = y * walk_h + origin_h;
      pixels[i].x = x * walk_w + origin_w;
      pixels[i].from = (((long)n * in_h + pixels[i].y) * in_w + pixels[i].x) * in_pitch;
      pixels[i].to =
          (((long)n * out_h + y * step_h + phase_y) * out_w + x * step_w + phase_x) * out_pitch;
      if (++x == wide) {
        x = 0;
        if (++y == high) y = 0, ++n;
      }
    }
    for (int i = count; i < up_to_multiple(count, MR); ++i) pixels[i].y = OUTSIDE;
  }

  bool first = true;
  int next = 0;
  while (next < size_h * size_w) {
#ifdef TO_INPUT
    int n_taps = 0;
    for (; next < size_h * size_w && n_taps < TAPS; ++next) {
      const int ky = next / size_w * dilation_h, kx = next % size_w * dilation_w;
      const int y = phase_y + low_h - ky, x = phase_x + low_w - kx;
      if (y % stride_h || x % stride_w) continue;
      taps[n_taps].y = y / stride_h;
      taps[n_taps].x = x / stride_w;
      taps[n_taps++].filter = next;
    }
#else
    const int n_taps = list_taps(next, size_h, size_w, dilation_h, dilation_w, taps);
    next += n_taps;
#endif
    for (int c0 = 0; c0 < depth; c0 += KC) {
      const int deep = min(KC, depth - c0), at_once = KC / deep;
      for (int t0 = 0; t0 < n_taps; t0 += at_once) {
        const int t1 = min(n_taps, t0 + at_once);
        for (int t = t0; t < t1; ++t) {
#ifdef TO_INPUT
          pack_columns(filter + (long)taps[t].filter * columns * in_pitch + c0, in_pitch, deep,
                       width, panel + (t - t0) * deep * NR);
#else
          pack_rows(filter + ((long)taps[t].filter * depth + c0) * out_pitch, out_pitch, deep,
                    width, panel + (t - t0) * deep * NR);
#endif
        }
        for (int i = 0; i < count; i += MR) {
          block sum;
          clear(&sum);
          reader at[MR];
#ifdef PATCH
#pragma unroll
          for (int r = 0; r < MR; ++r) {
            copy_window(from, &in, pixels[i + r], taps, t0, t1, patch + r * (KC + LANES));
            at[r] = AS_READER(patch + r * (KC + LANES));
          }
          MULTIPLY(&sum, at, (t1 - t0) * deep, panel, ITSELF)
#else
          for (int t = t0; t < t1; ++t) {
            const int ty = taps[t].y, tx = taps[t].x;
            const long shift = ((long)ty * in_w + tx) * in_pitch + c0;
#pragma unroll
            for (int r = 0; r < MR; ++r) {
              const int y = pixels[i + r].y + ty, x = pixels[i + r].x + tx;
              const bool inside = (uint)y < (uint)in_h && (uint)x < (uint)in_w;
              at[r] = inside ? from + (pixels[i + r].from + shift) : AS_READER(zeros);
            }
            MULTIPLY(&sum, at, deep, panel + (t - t0) * deep * NR, ITSELF)
          }
#endif
          keep(&sum, sums + i * NR, first);
        }
        first = false;
      }
    }
  }
  if (first) {  // a phase that meets no tap
    for (int i = 0; i < count * NR; ++i) sums[i] = 0;
  }
  for (int i = 0; i < count; ++i) store_row(sums + i * NR, width, to + pixels[i].to);
}
