// Running sums and products along the middle dimension of [outer, n, inner].
//
// A line of n elements is cut into segments of `length`. With several, each segment starts with the
// folds of those before it, which fold_segments computes first: on a GPU, scan_folds of scan_tiles.cl
// then folds those. The sizes alone decide where lines
// are cut: equal inputs give equal bits.
//
// PRODUCT, EXCLUSIVE and REVERSE are 1 or 0. A unit of work is WIDTH neighbouring lines of one
// segment. Grid: units, `per_item` by each item.

#include "scan_folds.cl"

typedef struct {
  long outer, n, inner, segments, length, per_item;
} Lines;

// The element at a place of a line, in the order in which it is folded.
static long element(Lines s, long line, long i) {
  return (line * s.n + (REVERSE ? s.n - 1 - i : i)) * s.inner;
}

#define FOR_EACH_UNIT(s)                                                                        \
  const long blocks = (s.inner + WIDTH - 1) / WIDTH, units = s.segments * s.outer * blocks;     \
  const long first_unit = get_global_id(0) * s.per_item;                                        \
  for (long unit = first_unit; unit < min(first_unit + s.per_item, units); ++unit)

// Defines where a unit is: columns from `column` on, of a line, and elements [begin, end) of it.
#define PLACE_OF_UNIT(s)                                                                        \
  const long column = unit % blocks * WIDTH, line = unit / blocks % s.outer;                    \
  const long segment = unit / blocks / s.outer;                                                 \
  const int width = min((long)WIDTH, s.inner - column);                                         \
  const long begin = segment * s.length, end = min(begin + s.length, s.n);                      \
  C total[WIDTH]

// folds: [segments, outer, inner].
kernel void fold_segments(HR_IN(T, x), HR_OUT(C, folds), const Lines s) {
  HR_INPUT(T, x);
  HR_OUTPUT(C, folds);
  FOR_EACH_UNIT(s) {
    PLACE_OF_UNIT(s);
    for (int j = 0; j < width; ++j) total[j] = START;
    for (long i = begin; i < end; ++i) {
      global const T *from = x + element(s, line, i) + column;
      HR_VECTORIZE
      for (int j = 0; j < width; ++j) total[j] = FOLD(total[j], LOAD(from[j]));
    }
    global C *to = folds + (segment * s.outer + line) * s.inner + column;
    for (int j = 0; j < width; ++j) to[j] = total[j];
  }
}

// y may lie over x. folds is not read if there is one segment; on a GPU it has what segments start
// with.
kernel void scan(HR_IN_SHARED(T, x), HR_IN_SHARED(C, folds), HR_OUT_SHARED(T, y), const Lines s) {
  HR_INPUT(T, x);
  HR_INPUT(C, folds);
  HR_OUTPUT(T, y);
  FOR_EACH_UNIT(s) {
    PLACE_OF_UNIT(s);
    for (int j = 0; j < width; ++j) total[j] = START;
#if HR_IS_CPU
    for (long before = 0; before < segment; ++before) {
      global const C *fold = folds + (before * s.outer + line) * s.inner + column;
      for (int j = 0; j < width; ++j) total[j] = FOLD(total[j], fold[j]);
    }
#else
    global const C *start = folds + (segment * s.outer + line) * s.inner + column;
    for (int j = 0; segment && j < width; ++j) total[j] = start[j];
#endif
    for (long i = begin; i < end; ++i) {
      const long at = element(s, line, i) + column;
      HR_VECTORIZE
      for (int j = 0; j < width; ++j) {
        const C next = FOLD(total[j], LOAD(x[at + j]));
        y[at + j] = STORE(EXCLUSIVE ? total[j] : next);
        total[j] = next;
      }
    }
  }
}
