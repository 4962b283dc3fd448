// Rows folded by segment. MEAN, PRODUCT, MIN or MAX is 1; none: the sum.

#include "values.cl"

#if PRODUCT
#define FOLD(a, b) ((a) * (b))
#elif MIN  // of numbers with one that is not: that one
#define FOLD(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#elif MAX
#define FOLD(a, b) ((a) < (b) || (b) != (b) ? (b) : (a))
#else
#define FOLD(a, b) ((a) + (b))
#endif

// Sorted ids: run k, rows runs[k].begin to runs[k + 1].begin of x [rows, inner], is segment
// runs[k].id of y. A unit of work is WIDTH neighbouring columns of a run. Grid: units, `per_item` by
// each item.
typedef struct {
  long id, begin;
} Run;

kernel void fold_runs(HR_IN(T, x), HR_IN(Run, runs), HR_OUT(T, y), const long n_runs,
                      const long inner, const long per_item) {
  HR_INPUT(T, x);
  HR_INPUT(Run, runs);
  HR_OUTPUT(T, y);
  const long blocks = (inner + WIDTH - 1) / WIDTH, first = get_global_id(0) * per_item;
  for (long unit = first; unit < min(first + per_item, n_runs * blocks); ++unit) {
    const long k = unit / blocks, column = unit % blocks * WIDTH;
    const int width = min((long)WIDTH, inner - column);
    const long begin = runs[k].begin, end = runs[k + 1].begin;
    global const T *from = x + begin * inner + column;
    global T *to = y + runs[k].id * inner + column;
    C total[WIDTH];
    for (int j = 0; j < width; ++j) total[j] = LOAD(from[j]);
    for (long i = begin + 1; i < end; ++i) {
      from += inner;
      HR_VECTORIZE
      for (int j = 0; j < width; ++j) total[j] = FOLD(total[j], LOAD(from[j]));
    }
#if MEAN
    for (int j = 0; j < width; ++j) total[j] /= end - begin;
#endif
    for (int j = 0; j < width; ++j) to[j] = STORE(total[j]);
  }
}

#if UNSORTED
// Unsorted ids: rows are folded by updates (update_rule.hpp) of totals of type C, which are BLANK
// where there is no row.

#if defined(T_half)
#define GREATEST 65504.0f
#elif defined(T_bfloat16)
#define GREATEST 0x1.fep127f
#elif defined(T_double)
#define GREATEST DBL_MAX
#elif defined(T_int64)
#define GREATEST LONG_MAX
#else
#define GREATEST FLT_MAX
#endif
#if MIN
#define BLANK GREATEST
#elif MAX && defined(T_int64)
#define BLANK LONG_MIN
#elif MAX
#define BLANK -GREATEST
#elif PRODUCT
#define BLANK 1
#else
#define BLANK 0
#endif

kernel void fill_blank(HR_OUT(C, totals), const long all) {
  HR_OUTPUT(C, totals);
  const long i = get_global_id(0);
  if (i < all) totals[i] = BLANK;
}

kernel void store_totals(HR_IN(C, totals), HR_OUT(T, y), const long all) {
  HR_INPUT(C, totals);
  HR_OUTPUT(T, y);
  const long i = get_global_id(0);
  if (i < all) y[i] = STORE(totals[i]);
}
#endif
