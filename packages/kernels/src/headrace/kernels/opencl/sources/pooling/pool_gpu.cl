// Pooling for GPUs: one result for each work item, channels next to each other. Of a window in the
// image's border only the part inside counts.

#include "convolution/window.cl"
#include "gemm/gpu_elements.cl"

#define ITEMWISE kernel __attribute__((reqd_work_group_size(64, 1, 1)))

// What a window covers inside the image.
typedef struct {
  int y0, y1, x0, x1;
} box;

static inline box window_box(window w, int oy, int ox) {
  const int y = oy * w.stride_h - w.low_h, x = ox * w.stride_w - w.low_w;
  const box b = {max(y, 0), min(y + w.size_h, w.in_h), max(x, 0), min(x + w.size_w, w.in_w)};
  return b;
}

// The maximum, and the first NaN if there is one.
static inline bool exceeds(real value, real best) { return !(value <= best) && best == best; }

// The maximum of a window, and where in the image it is first.
static inline real maximum(reader image, window w, box b, int* winner) {
  real best = -INFINITY;
  *winner = b.y0 * w.in_w + b.x0;
  for (int iy = b.y0; iy < b.y1; ++iy) {
    for (int ix = b.x0; ix < b.x1; ++ix) {
      const real value = LOAD1(image, ((long)iy * w.in_w + ix) * w.in_pitch);
      if (!exceeds(value, best)) continue;
      best = value;
      *winner = iy * w.in_w + ix;
    }
  }
  return best;
}

// Grid: elements of y.
ITEMWISE void max_pool(HR_IN(T, x), HR_OUT(T, y), window w) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, y);
  const long i = get_global_id(0);
  if (i >= (long)w.batch * w.out_h * w.out_w * w.out_pitch) return;
  const int c = i % w.out_pitch, ox = i / w.out_pitch % w.out_w, line = i / w.out_pitch / w.out_w;
  reader image = x + ((long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch + c);
  int winner;
  STORE1(maximum(image, w, window_box(w, line % w.out_h, ox), &winner), y, i);
}

// Grid: elements of y.
ITEMWISE void average_pool(HR_IN(T, x), HR_OUT(T, y), window w) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, y);
  const long i = get_global_id(0);
  if (i >= (long)w.batch * w.out_h * w.out_w * w.out_pitch) return;
  const int c = i % w.out_pitch, ox = i / w.out_pitch % w.out_w, line = i / w.out_pitch / w.out_w;
  reader image = x + ((long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch + c);
  const box b = window_box(w, line % w.out_h, ox);
  real sum = 0;
  for (int iy = b.y0; iy < b.y1; ++iy) {
    for (int ix = b.x0; ix < b.x1; ++ix) sum += LOAD1(image, ((long)iy * w.in_w + ix) * w.in_pitch);
  }
  STORE1(sum / (real)max(1, (b.y1 - b.y0) * (b.x1 - b.x0)), y, i);
}

// The windows along one axis that a position lies in.
static inline int first_window(int at, int size, int stride) {
  return at < size ? 0 : (at - size) / stride + 1;
}
static inline int after_window(int at, int stride, int out) { return min(at / stride + 1, out); }

// Where in its image the first maximum of each window is. Grid: elements of y.
ITEMWISE void find_winners(HR_IN(T, x), HR_OUT(int, winners), window w) {
  HR_INPUT(T, x);
  HR_OUTPUT(int, winners);
  const long i = get_global_id(0);
  if (i >= (long)w.batch * w.out_h * w.out_w * w.out_pitch) return;
  const int c = i % w.out_pitch, ox = i / w.out_pitch % w.out_w, line = i / w.out_pitch / w.out_w;
  reader image = x + ((long)(line / w.out_h) * w.in_h * w.in_w * w.in_pitch + c);
  int winner;
  maximum(image, w, window_box(w, line % w.out_h, ox), &winner);
  winners[i] = winner;
}

// The gradient of x: those of the windows whose winner the element is. Grid: elements of x.
ITEMWISE void max_pool_gradient(HR_IN(int, winners), HR_IN(T, grad), HR_OUT(T, to), window w) {
  HR_INPUT(int, winners);
  HR_INPUT(T, grad);
  HR_OUTPUT(T, to);
  const long i = get_global_id(0);
  if (i >= (long)w.batch * w.in_h * w.in_w * w.in_pitch) return;
  const int c = i % w.in_pitch, ix = i / w.in_pitch % w.in_w, line = i / w.in_pitch / w.in_w;
  const int iy = line % w.in_h;
  const long outs = (long)(line / w.in_h) * w.out_h * w.out_w * w.out_pitch + c;
  reader from = grad + outs;
  const int oy1 = after_window(iy + w.low_h, w.stride_h, w.out_h);
  const int ox1 = after_window(ix + w.low_w, w.stride_w, w.out_w);
  real sum = 0;
  for (int oy = first_window(iy + w.low_h, w.size_h, w.stride_h); oy < oy1; ++oy) {
    for (int ox = first_window(ix + w.low_w, w.size_w, w.stride_w); ox < ox1; ++ox) {
      const long at = ((long)oy * w.out_w + ox) * w.out_pitch;
      if (winners[outs + at] == iy * w.in_w + ix) sum += LOAD1(from, at);
    }
  }
  STORE1(sum, to, i);
}

// The gradient of x: each window's gradient over its size. Grid: elements of x.
ITEMWISE void average_pool_gradient(HR_IN(T, grad), HR_OUT(T, to), window w) {
  HR_INPUT(T, grad);
  HR_OUTPUT(T, to);
  const long i = get_global_id(0);
  if (i >= (long)w.batch * w.in_h * w.in_w * w.in_pitch) return;
  const int c = i % w.in_pitch, ix = i / w.in_pitch % w.in_w, line = i / w.in_pitch / w.in_w;
  const int iy = line % w.in_h;
  reader from = grad + ((long)(line / w.in_h) * w.out_h * w.out_w * w.out_pitch + c);
  const int oy1 = after_window(iy + w.low_h, w.stride_h, w.out_h);
  const int ox1 = after_window(ix + w.low_w, w.stride_w, w.out_w);
  real sum = 0;
  for (int oy = first_window(iy + w.low_h, w.size_h, w.stride_h); oy < oy1; ++oy) {
    for (int ox = first_window(ix + w.low_w, w.size_w, w.stride_w); ox < ox1; ++ox) {
      const box b = window_box(w, oy, ox);
      sum += LOAD1(from, ((long)oy * w.out_w + ox) * w.out_pitch) /
             (real)((b.y1 - b.y0) * (b.x1 - b.x0));
    }
  }
  STORE1(sum, to, i);
}
