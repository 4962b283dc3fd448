// n rows and their numbers, sorted by row, and by number where rows are equal: a bitonic network of
// `width` places, a power of two. Those from n on come last. I is the type of rows.

#define GROUP 256
#define BLOCK 2048

static int precedes(I a, int i, I b, int j, int n) {
  if (i >= n || j >= n || a == b) return i < j;
  return a < b;
}

#define KEY I
#define PRECEDES precedes
#include "bitonic.cl"

// Orders pairs within blocks of BLOCK places, in local memory. With first = 2, it takes `rows`, and
// runs of up to `last` places are in order afterwards. With first = last = run, it does the
// distances of a run that are less than BLOCK. Grid: width / BLOCK groups.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void order_blocks(
    HR_IN(I, rows), HR_OUT(I, keys), HR_OUT(int, numbers), const int n, const int first,
    const int last) {
  HR_INPUT(I, rows);
  HR_OUTPUT(I, keys);
  HR_OUTPUT(int, numbers);
  local I key[BLOCK];
  local int number[BLOCK];
  const int item = get_local_id(0), begin = get_group_id(0) * BLOCK;
  for (int at = item; at < BLOCK; at += GROUP) {
    const int from = begin + at;
    number[at] = first == 2 ? from : numbers[from];
    key[at] = first != 2 ? keys[from] : from < n ? rows[from] : 0;
  }
  order_block(key, number, begin, n, first, last);
  for (int at = item; at < BLOCK; at += GROUP) {
    keys[begin + at] = key[at];
    numbers[begin + at] = number[at];
  }
}

// Orders the pairs at a distance of BLOCK or more. Grid: width / 2.
kernel void order_pairs(HR_OUT(I, keys), HR_OUT(int, numbers), const int n, const int run,
                        const int distance) {
  HR_OUTPUT(I, keys);
  HR_OUTPUT(int, numbers);
  const int a = place(get_global_id(0), distance), b = a + distance;
  const I key_a = keys[a], key_b = keys[b];
  const int number_a = numbers[a], number_b = numbers[b];
  if (precedes(key_a, number_a, key_b, number_b, n) == ((a & run) == 0)) return;
  keys[a] = key_b;
  keys[b] = key_a;
  numbers[a] = number_b;
  numbers[b] = number_a;
}
