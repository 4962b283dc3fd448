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

#ifndef BLOCK
// For small k: finds the first, then the first of those after it, ... by a group of GROUP items,
// each of which keeps the first of its own elements, and looks for the next where that is found.

typedef struct {
  C values[GROUP];
  int places[GROUP];  // -1: none
} Best;

// The first of an item's elements after the one found: of places [begin, end) of the row, or of the
// row's elements at `numbers` of these places, where -1 is none.
static int next_of_item(global const T *row, global const int *numbers, int begin, int end, C found,
                        int found_at, C *value) {
  int at = -1;
  for (uint i = begin + get_local_id(0); i < (uint)end; i += GROUP) {
    const int number = numbers ? numbers[i] : (int)i;
    if (number < 0) continue;
    const C here = LOAD(row[number]);
    const int remains = found_at < 0 || precedes(found, found_at, here, number);
    if (remains && (at < 0 || precedes(here, number, *value, at))) {
      *value = here;
      at = number;
    }
  }
  return at;
}

// The first of what the items have.
static int first_of_group(local Best *best, C value, int at, C *found) {
  const int item = get_local_id(0);
  best->values[item] = value;
  best->places[item] = at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = GROUP / 2; half_way > 0; half_way /= 2) {
    if (item < half_way) {
      const int other = item + half_way;
      if (best->places[other] >= 0 &&
          (best->places[item] < 0 || precedes(best->values[other], best->places[other],
                                              best->values[item], best->places[item]))) {
        best->values[item] = best->values[other];
        best->places[item] = best->places[other];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  *found = best->values[0];
  const int found_at = best->places[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return found_at;
}

// Of each piece of `length` elements of a row, the numbers of the k first, in order. Grid: a group
// for each piece. numbers: [rows, pieces, k].
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void top_of_pieces(
    HR_IN(T, x), HR_OUT(int, numbers), const int n, const int k, const int pieces,
    const int length) {
  HR_INPUT(T, x);
  HR_OUTPUT(int, numbers);
  local Best best;
  global const T *row = x + get_group_id(0) / pieces * n;
  const int begin = get_group_id(0) % pieces * length, end = begin + min(length, n - begin);
  global int *to = numbers + get_group_id(0) * k;
  C found = 0, value = 0;
  int at = next_of_item(row, 0, begin, end, 0, -1, &value);
  for (int nth = 0; nth < k; ++nth) {
    // A piece of less than k elements ends with -1.
    const int found_at = first_of_group(&best, value, at, &found);
    if (get_local_id(0) == 0) to[nth] = found_at;
    if (at >= 0 && at == found_at)
      at = next_of_item(row, 0, begin, end, found, found_at, &value);
  }
}

// Grid: a group for each row. Takes all n elements of a row, or those of `candidates` numbers.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void top_k(
    HR_IN(T, x), HR_OUT(T, values), HR_OUT(I, indices), HR_IN(int, numbers), const int n,
    const int k, const int candidates) {
  HR_INPUT(T, x);
  HR_OUTPUT(T, values);
  HR_OUTPUT(I, indices);
  HR_INPUT(int, numbers);
  local Best best;
  const long line = get_group_id(0);
  global const T *row = x + line * n;
  global const int *of_row = candidates ? numbers + line * candidates : 0;
  const int end = candidates ? candidates : n;
  C found = 0, value = 0;
  int at = next_of_item(row, of_row, 0, end, 0, -1, &value);
  for (int nth = 0; nth < k; ++nth) {
    const int found_at = first_of_group(&best, value, at, &found);
    if (get_local_id(0) == 0) {
      values[line * k + nth] = row[found_at];
      indices[line * k + nth] = found_at;
    }
    if (at == found_at) at = next_of_item(row, of_row, 0, end, found, found_at, &value);
  }
}

#else
// For large k: sorts the numbers of a row's elements by a bitonic network. order: [rows, width],
// where width is a power of two, n or more; numbers from n on come last.

static int padded_precedes(C a, int i, C b, int j, int n) {
  return i >= n || j >= n ? i < j : precedes(a, i, b, j);
}

#define KEY C
#define PRECEDES padded_precedes
#include "bitonic.cl"

// Orders pairs within blocks of BLOCK places, as order_block() says; with first = 2 of numbers that
// it makes up. Grid: a group for each block.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void order_blocks(
    HR_IN(T, x), HR_OUT(int, order), const int n, const int width, const int first,
    const int last) {
  HR_INPUT(T, x);
  HR_OUTPUT(int, order);
  local C key[BLOCK];
  local int number[BLOCK];
  const int item = get_local_id(0), blocks = width / BLOCK;
  const long line = get_group_id(0) / blocks;
  const int begin = get_group_id(0) % blocks * BLOCK;
  global const T *row = x + line * n;
  global int *block = order + line * width + begin;
  for (int at = item; at < BLOCK; at += GROUP) {
    number[at] = first == 2 ? begin + at : block[at];
    key[at] = number[at] < n ? LOAD(row[number[at]]) : 0;
  }
  order_block(key, number, begin, n, first, last);
  for (int at = item; at < BLOCK; at += GROUP) block[at] = number[at];
}

// Orders the pairs at a distance of BLOCK or more. Grid: pairs.
kernel void order_pairs(HR_IN(T, x), HR_OUT(int, order), const long pairs, const int n,
                        const int width, const int run, const int distance) {
  HR_INPUT(T, x);
  HR_OUTPUT(int, order);
  const long pair = get_global_id(0);
  if (pair >= pairs) return;
  const long line = pair / (width / 2);
  global const T *row = x + line * n;
  const int i = place(pair & (width / 2 - 1), distance);
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

#endif
