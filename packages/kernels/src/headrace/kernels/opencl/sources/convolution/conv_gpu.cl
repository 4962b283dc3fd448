// Convolution for GPUs as a product whose first operand is read out of the image (implicit GEMM):
//
//   forward       y[pixel, columns] = window of x [pixel, taps * depth] * filter[.., columns]
//   TO_INPUT = 1  x[pixel, columns] = window of y [pixel, taps * depth] * filter transposed, for
//   the
//                 pixels of one phase (position modulo the stride): all of a phase meet the same
//                 taps
//
// ALIGNED: depth, columns and both pitches are multiples of four.

#include "convolution/window.cl"
#include "gemm/gpu_elements.cl"

#define A_ALONG_K 1
#define B_ALONG_K TO_INPUT

#include "gemm/gpu_tile.cl"

// The taps of one direction that a pixel meets: `first`, and every `step`-th after it.
typedef struct {
  int first, step, count;
} taps;

// Of a pixel at `phase` in its stride: (phase + low - tap * dilation) is a multiple of stride.
static inline taps taps_of_phase(int phase, int low, int dilation, int stride, int size) {
  taps t = {0, 0, 0};
  for (int tap = 0; tap < size; ++tap) {
    if ((phase + low - tap * dilation) % stride) continue;
    if (t.count == 0) t.first = tap;
    if (t.count == 1) t.step = tap - t.first;
    ++t.count;
  }
  return t;
}

// One row of a: a pixel, whose windows' elements come in the order [y, x, channel].
typedef struct {
  reader image;        // of the pixel's group
  int inside;          // whether the row exists
  int y, x;            // of the pixel's tap (0, 0)
  int move_y, move_x;  // from one tap to the next
  int ky, kx, c;       // where in the window
} window_row;

typedef struct {
  window w;
  int taps_h, taps_w;
  window_row row;
  reader filter;
  int column;
#if !TO_INPUT
  int ky, kx, c;  // of b; going back it has the k of a
#endif
  taps down, across;
} operand;

static inline void advance_window(int* ky, int* kx, int* c, int depth, int taps_w, int by) {
  *c += by;
  while (*c >= depth) {
    *c -= depth;
    if (++*kx == taps_w) {
      *kx = 0;
      ++*ky;
    }
  }
}

// Where in the window element k of a sum is.
static inline void place_in_window(int* ky, int* kx, int* c, int depth, int taps_w, int k) {
  const int tap = k / depth;
  *c = k - tap * depth;
  *ky = taps_w ? tap / taps_w : 0;
  *kx = taps_w ? tap % taps_w : 0;
}

static inline real at_window(const operand* o, int ky, int kx, int c) {
  const int y = o->row.y + ky * o->row.move_y, x = o->row.x + kx * o->row.move_x;
  const bool inside =
      o->row.inside && ky < o->taps_h && y >= 0 && y < o->w.in_h && x >= 0 && x < o->w.in_w;
  return inside ? LOAD1(o->row.image, ((long)y * o->w.in_w + x) * o->w.in_pitch + c) : (real)0;
}

static inline real4 load_a(const operand* o) {
#if ALIGNED
  const int y = o->row.y + o->row.ky * o->row.move_y, x = o->row.x + o->row.kx * o->row.move_x;
  const bool inside =
      o->row.inside && o->row.ky < o->taps_h && y >= 0 && y < o->w.in_h && x >= 0 && x < o->w.in_w;
  return inside ? LOAD4(o->row.image + (((long)y * o->w.in_w + x) * o->w.in_pitch + o->row.c))
                : (real4)(0);
#else
  int ky = o->row.ky, kx = o->row.kx, c = o->row.c;
  real4 v;
  v.s0 = at_window(o, ky, kx, c);
  advance_window(&ky, &kx, &c, o->w.depth, o->taps_w, 1);
  v.s1 = at_window(o, ky, kx, c);
  advance_window(&ky, &kx, &c, o->w.depth, o->taps_w, 1);
  v.s2 = at_window(o, ky, kx, c);
  advance_window(&ky, &kx, &c, o->w.depth, o->taps_w, 1);
  v.s3 = at_window(o, ky, kx, c);
  return v;
#endif
}
static inline void advance_a(operand* o) {
  advance_window(&o->row.ky, &o->row.kx, &o->row.c, o->w.depth, o->taps_w, TK);
}

static inline long filter_tap(const operand* o, int ky, int kx) {
  return (long)(o->down.first + ky * o->down.step) * o->w.size_w + o->across.first +
         kx * o->across.step;
}

#if !TO_INPUT

// Four columns of one element of the window.
static inline real4 load_b(const operand* o) {
  if (o->ky >= o->taps_h) return (real4)(0);
  return load_four(o->filter + ((filter_tap(o, o->ky, o->kx) * o->w.depth + o->c) * o->w.out_pitch),
                   o->w.columns - o->column);
}
static inline void advance_b(operand* o) {
  advance_window(&o->ky, &o->kx, &o->c, o->w.depth, o->taps_w, TK);
}

#else

// Four elements of the window of one column: filter is [tap][columns][channels of y].
static inline real filter_at(const operand* o, int ky, int kx, int c) {
  const bool inside = ky < o->taps_h && o->column < o->w.columns;
  return inside ? LOAD1(o->filter, filter_tap(o, ky, kx) * o->w.columns * o->w.in_pitch + c)
                : (real)0;
}
static inline real4 load_b(const operand* o) {
#if ALIGNED
  const bool inside = o->row.ky < o->taps_h && o->column < o->w.columns;
  return inside ? LOAD4(o->filter +
                        (filter_tap(o, o->row.ky, o->row.kx) * o->w.columns * o->w.in_pitch +
                         o->row.c))
                : (real4)(0);
#else
  int ky = o->row.ky, kx = o->row.kx, c = o->row.c;
  real4 v;
  v.s0 = filter_at(o, ky, kx, c);
  advance_window(&ky, &kx, &c, o->w.depth, o->taps_w, 1);
  v.s1 = filter_at(o, ky, kx, c);
  advance_window(&ky, &kx, &c, o->w.depth, o->taps_w, 1);
  v.s2 = filter_at(o, ky, kx, c);
  advance_window(&ky, &kx, &c, o->w.depth, o->taps_w, 1);
  v.s3 = filter_at(o, ky, kx, c);
  return v;
#endif
}

static inline void advance_b(operand* o) {}

#endif

#include "gemm/gpu_multiply.cl"

// Grid: tiles of pixels, tiles of columns, groups times phases times parts of the windows.
TILED void convolve(HR_IN(T, all_from), HR_IN(T, all_filter), HR_OUT(R, all_to), window w,
                    int parts EPILOGUE_PARAMETERS) {
  EPILOGUE_INPUTS;
  HR_INPUT(T, all_from);
  HR_INPUT(T, all_filter);
  HR_OUTPUT(R, all_to);
  LOCAL_SLICES;
  const int product = get_group_id(2) / parts, part = get_group_id(2) % parts;
#if TO_INPUT
  const int phases = w.stride_h * w.stride_w;
  const int group = product / phases, phase = product % phases;
  const int phase_y = phase / w.stride_w, phase_x = phase % w.stride_w;
  const int step_h = w.stride_h, step_w = w.stride_w;
  const taps down = taps_of_phase(phase_y, w.low_h, w.dilation_h, w.stride_h, w.size_h);
  const taps across = taps_of_phase(phase_x, w.low_w, w.dilation_w, w.stride_w, w.size_w);
#else
  const int group = product, phase_y = 0, phase_x = 0, step_h = 1, step_w = 1;
  const taps down = {0, 1, w.size_h}, across = {0, 1, w.size_w};
#endif
  const int high = (w.out_h - phase_y + step_h - 1) / step_h;
  const int wide = (w.out_w - phase_x + step_w - 1) / step_w;
  const int m = w.batch * high * wide;
  const int i0 = get_group_id(0) * TILE, j0 = get_group_id(1) * TILE;
  if (i0 >= m) return;

  operand o;
  o.w = w;
  o.down = down;
  o.across = across;
  o.taps_h = across.count ? down.count : 0;
  o.taps_w = across.count;
  // Phases differ in how long their sums are: some may have nothing for the last parts.
  const int length = o.taps_h * o.taps_w * w.depth;
  const int part_length = (length + parts * TK - 1) / (parts * TK) * TK, begin = part * part_length;
  {
    const int i = i0 + A_ROW, n = i / (high * wide), y = i / wide % high, x = i % wide;
    o.row.inside = i < m;
    o.row.image = all_from + ((long)n * w.in_h * w.in_w * w.in_pitch + group * w.depth);
#if TO_INPUT
    o.row.y = y + (phase_y + w.low_h - down.first * w.dilation_h) / w.stride_h;
    o.row.x = x + (phase_x + w.low_w - across.first * w.dilation_w) / w.stride_w;
    o.row.move_y = -(down.step * w.dilation_h / w.stride_h);
    o.row.move_x = -(across.step * w.dilation_w / w.stride_w);
#else
    o.row.y = y * w.stride_h - w.low_h;
    o.row.x = x * w.stride_w - w.low_w;
    o.row.move_y = w.dilation_h;
    o.row.move_x = w.dilation_w;
#endif
    place_in_window(&o.row.ky, &o.row.kx, &o.row.c, w.depth, o.taps_w, begin + A_K);
#if !TO_INPUT
    place_in_window(&o.ky, &o.kx, &o.c, w.depth, o.taps_w, begin + B_K);
#endif
    o.column = j0 + B_COLUMN;
#if TO_INPUT
    o.filter = all_filter + ((long)o.column * w.in_pitch + group * w.depth);
#else
    o.filter = all_filter + (group * w.columns + o.column);
#endif
  }
  const epilogue e = EPILOGUE_OF(group * w.columns);
  sums result;
  multiply_tile(&result, &o, &o, min(part_length, length - begin), slices_a, slices_b);
#pragma unroll
  for (int h = 0; h < GROUPS; ++h) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = i0 + ITEM_ROW(h) + r;
      if (i >= m) continue;
      const int n = i / (high * wide), y = i / wide % high * step_h + phase_y,
                x = i % wide * step_w + phase_x;
      writer to =
          all_to + (((((long)part * w.batch + n) * w.out_h + y) * w.out_w + x) * w.out_pitch +
                    group * w.columns);
#pragma unroll
      for (int g = 0; g < GROUPS; ++g)
        store_four(result.at[4 * h + r][g], to, j0 + ITEM_COLUMN(g), w.columns, &e);
    }
  }
}
