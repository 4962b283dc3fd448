// Local response normalisation over the channels of a pixel, and its gradient:
//
//     norm = bias + alpha * the sum of the squares of x, `radius` channels to both sides
//     y = x * norm^-beta
//     dx = dy * norm^-beta - 2 * alpha * beta * x * the same kind of sum of y * dy / norm
//
// Sums are in float, in memory of their own. A CPU device's item has `per_item` pixels, and passes
// over the channels once for each neighbour, in vectors; a GPU's has one channel.
#include "values.cl"

// BETA: four times beta, for values without pow, which would keep loops from becoming vectors; or 0.
static C inverse_power(C norm, C beta) {
#if BETA == 2
  return 1 / sqrt(norm);
#elif BETA == 3
  return 1 / (sqrt(norm) * sqrt(sqrt(norm)));
#elif BETA == 4
  return 1 / norm;
#else
  return pow(norm, -beta);
#endif
}

#if HR_IS_CPU

// sums[n] += the elements of `terms` up to `radius` places to both sides.
static void add_neighbours(global const C *restrict terms, global C *restrict sums, int n,
                           int radius) {
  for (int d = -radius; d <= radius; ++d) {
    const int begin = max(0, -d), end = min(n, n - d);
    HR_VECTORIZE
    for (int c = begin; c < end; ++c) sums[c] += terms[c + d];
  }
}

static void norms_of(global const T *restrict x, global C *restrict squares,
                     global C *restrict norms, int n, int radius, C bias, C alpha) {
  HR_VECTORIZE
  for (int c = 0; c < n; ++c) {
    const C value = LOAD(x[c]);
    squares[c] = value * value;
    norms[c] = 0;
  }
  add_neighbours(squares, norms, n, radius);
  HR_VECTORIZE
  for (int c = 0; c < n; ++c) norms[c] = bias + alpha * norms[c];
}

// Grid: blocks of per_item pixels. scratch: two pixels of C for each block.
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void lrn(
    HR_IN(T, all_x), HR_OUT(T, all_y), HR_OUT(C, scratch), const int pixels, const int per_item,
    const int n, const int radius, const float bias, const float alpha, const float beta) {
  HR_INPUT(T, all_x);
  HR_OUTPUT(T, all_y);
  HR_OUTPUT(C, scratch);
  const int first = get_group_id(0) * per_item, last = min(pixels, first + per_item);
  global C *squares = scratch + (long)get_group_id(0) * 2 * n, *norms = squares + n;
  for (int p = first; p < last; ++p) {
    global const T *x = all_x + (long)p * n;
    global T *y = all_y + (long)p * n;
    norms_of(x, squares, norms, n, radius, bias, alpha);
    HR_VECTORIZE
    for (int c = 0; c < n; ++c) y[c] = STORE(LOAD(x[c]) * inverse_power(norms[c], beta));
  }
}

// Grid: blocks of per_item pixels. scratch: three pixels of C for each block.
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void lrn_gradient(
    HR_IN(T, all_dy), HR_IN(T, all_x), HR_IN(T, all_y), HR_OUT(T, all_dx), HR_OUT(C, scratch),
    const int pixels, const int per_item, const int n, const int radius, const float bias,
    const float alpha, const float beta) {
  HR_INPUT(T, all_dy);
  HR_INPUT(T, all_x);
  HR_INPUT(T, all_y);
  HR_OUTPUT(T, all_dx);
  HR_OUTPUT(C, scratch);
  const int first = get_group_id(0) * per_item, last = min(pixels, first + per_item);
  global C *terms = scratch + (long)get_group_id(0) * 3 * n, *norms = terms + n, *sums = norms + n;
  const C factor = -2 * alpha * beta;
  for (int p = first; p < last; ++p) {
    const long at = (long)p * n;
    global const T *dy = all_dy + at, *x = all_x + at, *y = all_y + at;
    global T *dx = all_dx + at;
    norms_of(x, terms, norms, n, radius, bias, alpha);
    HR_VECTORIZE
    for (int c = 0; c < n; ++c) {
      terms[c] = LOAD(y[c]) * LOAD(dy[c]) / norms[c];
      sums[c] = 0;
    }
    add_neighbours(terms, sums, n, radius);
    HR_VECTORIZE
    for (int c = 0; c < n; ++c)
      dx[c] = STORE(LOAD(dy[c]) * inverse_power(norms[c], beta) + factor * LOAD(x[c]) * sums[c]);
  }
}

#else

// Grid: elements.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void lrn(
    HR_IN(T, x), HR_OUT(T, y), HR_OUT(C, norms), const int pixels, const int per_item, const int n,
    const int radius, const float bias, const float alpha, const float beta) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, y);
  HR_OUTPUT(C, norms);
  const long i = get_global_id(0), pixel = i / n;
  if (pixel >= pixels) return;
  const int c = i - pixel * n;
  C sum = 0;
  for (int j = max(0, c - radius); j <= min(n - 1, c + radius); ++j) {
    const C value = LOAD(x[pixel * n + j]);
    sum += value * value;
  }
  const C norm = bias + alpha * sum;
  norms[i] = norm;  // for lrn_gradient
  y[i] = STORE(LOAD(x[i]) * inverse_power(norm, beta));
}

// Grid: elements. norms: those that lrn left.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void lrn_gradient(
    HR_IN(T, dy), HR_IN(T, x), HR_IN(T, y), HR_OUT(T, dx), HR_IN(C, norms), const int pixels,
    const int per_item, const int n, const int radius, const float bias, const float alpha,
    const float beta) {
  HR_INPUT(T, dy);
  HR_INPUT(T, x);
  HR_INPUT(T, y);
  HR_OUTPUT(T, dx);
  HR_INPUT(C, norms);
  const long i = get_global_id(0), pixel = i / n;
  if (pixel >= pixels) return;
  const int c = i - pixel * n;
  C sum = 0;
  for (int j = max(0, c - radius); j <= min(n - 1, c + radius); ++j) {
    const long k = pixel * n + j;
    sum += LOAD(y[k]) * LOAD(dy[k]) / norms[k];
  }
  dx[i] = STORE(LOAD(dy[i]) * inverse_power(norms[i], beta) -
                2 * alpha * beta * LOAD(x[i]) * sum);
}

#endif
