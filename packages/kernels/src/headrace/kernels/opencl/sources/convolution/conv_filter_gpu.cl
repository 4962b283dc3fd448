// The gradient of a filter for GPUs, as a product whose first operand is read out of the image:
// filter[taps * depth, columns] = window of x transposed [taps * depth, pixels] * y[pixels,
// columns].
//
// ALIGNED: depth, columns and both pitches are multiples of four.

#include "convolution/window.cl"
#include "gemm/gpu_elements.cl"

#define A_ALONG_K 0
#define B_ALONG_K 0

#include "gemm/gpu_tile.cl"

// A pixel of y, as k.
typedef struct {
  int n, y, x;
} place;

typedef struct {
  window w;
  reader x, y;
  int row;      // of a: (tap, channel)
  int k, last;  // pixels
  int tap_y, tap_x, channel;
  int column;
  place a_at, b_at;
  int b_k;
} operand;

static inline place place_of(int pixel, window w) {
  const place p = {pixel / (w.out_h * w.out_w), pixel / w.out_w % w.out_h, pixel % w.out_w};
  return p;
}
static inline void advance_place(place* p, const window* w) {
  p->x += TK;
  while (p->x >= w->out_w) {
    p->x -= w->out_w;
    if (++p->y == w->out_h) {
      p->y = 0;
      ++p->n;
    }
  }
}

static inline reader window_at(const operand* o, int tap_y, int tap_x, int channel, bool* inside) {
  const int y = o->a_at.y * o->w.stride_h + tap_y, x = o->a_at.x * o->w.stride_w + tap_x;
  *inside = o->k < o->last && y >= 0 && y < o->w.in_h && x >= 0 && x < o->w.in_w;
  return o->x + ((((long)o->a_at.n * o->w.in_h + y) * o->w.in_w + x) * o->w.in_pitch + channel);
}

static inline real window_element(const operand* o, int row) {
  const int rows = o->w.size_h * o->w.size_w * o->w.depth, tap = row / o->w.depth;
  bool inside;
  reader p = window_at(o, tap / o->w.size_w * o->w.dilation_h - o->w.low_h,
                       tap % o->w.size_w * o->w.dilation_w - o->w.low_w, row % o->w.depth, &inside);
  return inside && row < rows ? LOAD1(p, 0) : (real)0;
}

static inline real4 load_a(const operand* o) {
#if ALIGNED
  bool inside;
  reader p = window_at(o, o->tap_y, o->tap_x, o->channel, &inside);
  return inside && o->row < o->w.size_h * o->w.size_w * o->w.depth ? LOAD4(p) : (real4)(0);
#else
  return (real4)(window_element(o, o->row), window_element(o, o->row + 1),
                 window_element(o, o->row + 2), window_element(o, o->row + 3));
#endif
}
static inline void advance_a(operand* o) {
  o->k += TK;
  advance_place(&o->a_at, &o->w);
}
static inline real4 load_b(const operand* o) {
  return load_four(o->y + (long)o->b_k * o->w.out_pitch,
                   o->b_k < o->last ? o->w.columns - o->column : 0);
}
static inline void advance_b(operand* o) { o->b_k += TK; }

#include "gemm/gpu_multiply.cl"

// Grid: tiles of (tap, channel), tiles of columns, groups times parts of the pixels of y.
TILED void filter_gradient(HR_IN(T, all_x), HR_IN(T, all_y), HR_OUT(R, all_filter), window w,
                           int parts, int part_pixels) {
  HR_INPUT(T, all_x);
  HR_INPUT(T, all_y);
  HR_OUTPUT(R, all_filter);
  LOCAL_SLICES;
  const int group = get_group_id(2) / parts, part = get_group_id(2) % parts;
  const int i0 = get_group_id(0) * TILE, j0 = get_group_id(1) * TILE;
  const int rows = w.size_h * w.size_w * w.depth;
  const int k0 = part * part_pixels, k1 = min(w.batch * w.out_h * w.out_w, k0 + part_pixels);
  operand o;
  o.w = w;
  o.x = all_x + group * w.depth;
  o.column = j0 + B_COLUMN;
  o.y = all_y + (group * w.columns + o.column);
  o.row = i0 + A_ROW;
  o.last = k1;
  o.k = k0 + A_K;
  o.b_k = k0 + B_K;
  o.a_at = place_of(o.k, w);
  const int tap = o.row / w.depth;
  o.tap_y = tap / w.size_w * w.dilation_h - w.low_h;
  o.tap_x = tap % w.size_w * w.dilation_w - w.low_w;
  o.channel = o.row % w.depth;
  sums result;
  multiply_tile(&result, &o, &o, k1 - k0, slices_a, slices_b);
  const epilogue e = EPILOGUE_OF(0);
  writer filter = all_filter + ((long)part * rows * w.out_pitch + group * w.columns);
#pragma unroll
  for (int h = 0; h < GROUPS; ++h) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = i0 + ITEM_ROW(h) + r;
      if (i >= rows) continue;
#pragma unroll
      for (int g = 0; g < GROUPS; ++g)
        store_four(result.at[4 * h + r][g], filter + (long)i * w.out_pitch, j0 + ITEM_COLUMN(g),
                   w.columns, &e);
    }
  }
}
