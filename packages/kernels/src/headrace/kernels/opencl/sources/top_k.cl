// The k largest elements of each row, in order, and where they are. I is the type of indices.

#include "values.cl"

// Larger first, among equals the lower index; what is not a number last. No two elements are equal.
static int precedes(C a, int i, C b, int j) {
  const int no_a = a != a, no_b = b != b;
  if (no_a | no_b) return no_a == no_b ? i < j : no_b;
  return a > b || (a == b && i < j);
}

static int row_precedes(global const T *row, int i, int j) {
  return precedes(LOAD(row[i]), i, LOAD(row[j]), j);
}

#if HR_IS_CPU

// Moves what is at the root of a heap below those that it precedes: the last in order is on top.
static void sift(global const T *row, global int *heap, int root, int size) {
  const int moved = heap[root];
  for (int child; (child = 2 * root + 1) < size; root = child) {
    if (child + 1 < size && row_precedes(row, heap[child], heap[child + 1])) ++child;
    if (!row_precedes(row, moved, heap[child])) break;
    heap[root] = heap[child];
  }
  heap[root] = moved;
}

// Grid: rows. heaps: [rows, k].
kernel void top_k(HR_IN(T, x), HR_OUT(T, values), HR_OUT(I, indices), HR_OUT(int, heaps),
                  const int n, const int k) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, values);
  HR_OUTPUT(I, indices);
  HR_OUTPUT(int, heaps);
  const long begin = (long)get_global_id(0) * k;
  global const T *row = x + (long)get_global_id(0) * n;
  global int *heap = heaps + begin;
  for (int i = 0; i < k; ++i) heap[i] = i;
  for (int i = k / 2; i-- > 0;) sift(row, heap, i, k);
  C least = LOAD(row[heap[0]]);
  for (int i = k; i < n; ++i) {
    if (!precedes(LOAD(row[i]), i, least, heap[0])) continue;
    heap[0] = i;
    sift(row, heap, 0, k);
    least = LOAD(row[heap[0]]);
  }
  for (int i = k - 1; i > 0; --i) {
    const int last = heap[0];
    heap[0] = heap[i];
    heap[i] = last;
    sift(row, heap, 0, i);
  }
  for (int i = 0; i < k; ++i) {
    values[begin + i] = row[heap[i]];
    indices[begin + i] = heap[i];
  }
}

#else

#ifdef GROUP
// For small k: finds the first, then the first of those after it, ... Grid: a work-group a row.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void top_k(HR_IN(T, x), HR_OUT(T, values),
                                                                     HR_OUT(I, indices),
                                                                     const int n, const int k) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, values);
  HR_OUTPUT(I, indices);
  local C best[GROUP];
  local int places[GROUP];  // -1: none
  const int item = get_local_id(0);
  global const T *row = x + (long)get_group_id(0) * n;
  C found = 0;
  int found_at = -1;
  for (int nth = 0; nth < k; ++nth) {
    C value = 0;
    int at = -1;
    for (uint i = item; i < (uint)n; i += GROUP) {
      const C here = LOAD(row[i]);
      const int remains = found_at < 0 || precedes(found, found_at, here, i);
      if (remains && (at < 0 || precedes(here, i, value, at))) {
        value = here;
        at = i;
      }
    }
    best[item] = value;
    places[item] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = GROUP / 2; half_way > 0; half_way /= 2) {
      if (item < half_way) {
        const int other = item + half_way;
        if (places[other] >= 0 &&
            (places[item] < 0 || precedes(best[other], places[other], best[item], places[item]))) {
          best[item] = best[other];
          places[item] = places[other];
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    found = best[0];
    found_at = places[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
      values[(long)get_group_id(0) * k + nth] = row[found_at];
      indices[(long)get_group_id(0) * k + nth] = found_at;
    }
  }
}
#endif

// For large k: sorts the numbers of a row's elements by a bitonic network. order: [rows, width],
// where width is a power of two, n or more.

// Grid: elements of order.
kernel void number_elements(HR_OUT(int, order), const long all, const int width) {
  HR_OUTPUT(int, order);
  const long i = get_global_id(0);
  if (i < all) order[i] = i & (width - 1);
}

// Orders the pairs at a distance. Runs of `run` elements are in order afterwards, after distances
// of run / 2, run / 4, ... 1. Grid: pairs.
kernel void order_pairs(HR_IN(T, x), HR_OUT(int, order), const long pairs, const int n,
                        const int width, const int run, const int distance) {
  HR_INPUT(T, x);
  HR_OUTPUT(int, order);
  const long pair = get_global_id(0);
  if (pair >= pairs) return;
  const int in_row = pair & (width / 2 - 1);
  const long line = pair / (width / 2);
  global const T *row = x + line * n;
  const int i = in_row / distance * 2 * distance + in_row % distance;
  global int *first = order + (line * width + i), *second = first + distance;
  const int a = *first, b = *second;
  const int in_order = a < n && b < n ? row_precedes(row, a, b) : a < b;
  if (in_order == ((i & run) == 0)) return;
  *first = b;
  *second = a;
}

// Grid: elements of values.
kernel void take_first(HR_IN(T, x), HR_OUT(T, values), HR_OUT(I, indices), HR_IN(int, order),
                       const long all, const int n, const int k, const int width) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, values);
  HR_OUTPUT(I, indices);
  HR_INPUT(int, order);
  const long i = get_global_id(0);
  if (i >= all) return;
  const long row = i / k;
  const int at = order[row * width + i % k];
  values[i] = x[row * n + at];
  indices[i] = at;
}

#endif
