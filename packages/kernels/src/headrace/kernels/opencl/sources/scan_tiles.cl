// Running sums and products by work-groups of a GPU: long lines of neighbouring elements, and the
// folds of segments. A group of GROUP items scans a tile of GROUP * PER elements in local memory,
// then the next tile, starting with what it has.
//
// PRODUCT, EXCLUSIVE and REVERSE are 1 or 0. A line of n elements is cut into segments of `length`.

#include "scan_folds.cl"

#define PER 8
#define TILE (GROUP * PER)
// A gap after the elements of an item, so that items use different banks.
#define PLACE(at) ((at) + (at) / PER)

#define OF_GROUP kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))

typedef struct {
  C elements[PLACE(TILE)];
  C folds[GROUP];
} Tile;

// Scans the tile, which starts with what was folded before it. Gives what the next starts with.
static C scan_tile(local Tile *tile, C before, int exclusive) {
  const int item = get_local_id(0);
  local C *own = tile->elements + PLACE(item * PER);
  barrier(CLK_LOCAL_MEM_FENCE);
  C fold = START;
  for (int i = 0; i < PER; ++i) fold = FOLD(fold, own[i]);
  tile->folds[item] = fold;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int distance = 1; distance < GROUP; distance *= 2) {
    if (item >= distance) fold = FOLD(tile->folds[item - distance], fold);
    barrier(CLK_LOCAL_MEM_FENCE);
    tile->folds[item] = fold;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C total = item ? FOLD(before, tile->folds[item - 1]) : before;
  for (int i = 0; i < PER; ++i) {
    const C next = FOLD(total, own[i]);
    own[i] = exclusive ? total : next;
    total = next;
  }
  const C after = FOLD(before, tile->folds[GROUP - 1]);
  barrier(CLK_LOCAL_MEM_FENCE);
  return after;
}

// The element at a place of a line, in the order in which it is folded.
#define ELEMENT(i) (REVERSE ? n - 1 - (i) : (i))

// Grid: a group for each segment. folds: [segments, lines].
OF_GROUP void fold_segments(HR_IN(T, x), HR_OUT(C, folds), const long lines, const long n,
                            const long segments, const long length) {
  HR_INPUT(T, x);
  HR_OUTPUT(C, folds);
  local C shared[GROUP];
  const int item = get_local_id(0);
  const long line = get_group_id(0) / segments, segment = get_group_id(0) % segments;
  const long end = min((segment + 1) * length, n);
  C fold = START;
  for (long i = segment * length + item; i < end; i += GROUP)
    fold = FOLD(fold, LOAD(x[line * n + ELEMENT(i)]));
  shared[item] = fold;
  for (int step = GROUP / 2; step; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < step) shared[item] = FOLD(shared[item], shared[item + step]);
  }
  if (item == 0) folds[segment * lines + line] = shared[0];
}

// Puts what a segment starts with, the folds of those before it, in its fold's place. Grid: a group
// for each line. folds: [segments, lines].
OF_GROUP void scan_folds(HR_OUT(C, folds), const long lines, const long segments) {
  HR_OUTPUT(C, folds);
  local Tile tile;
  const int item = get_local_id(0);
  global C *line = folds + get_group_id(0);
  C total = START;
  for (long begin = 0; begin < segments; begin += TILE) {
    const int count = min((long)TILE, segments - begin);
    for (int i = item; i < TILE; i += GROUP)
      tile.elements[PLACE(i)] = i < count ? line[(begin + i) * lines] : START;
    total = scan_tile(&tile, total, 1);
    for (int i = item; i < count; i += GROUP) line[(begin + i) * lines] = tile.elements[PLACE(i)];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// Grid: a group for each segment. y may lie over x. starts, [segments, lines], is not read if there
// is one segment.
OF_GROUP void scan_segments(HR_IN_SHARED(T, x), HR_IN_SHARED(C, starts), HR_OUT_SHARED(T, y),
                            const long lines, const long n, const long segments,
                            const long length) {
  HR_INPUT(T, x);
  HR_INPUT(C, starts);
  HR_OUTPUT(T, y);
  local Tile tile;
  const int item = get_local_id(0);
  const long line = get_group_id(0) / segments, segment = get_group_id(0) % segments;
  const long end = min((segment + 1) * length, n);
  C total = segments > 1 ? starts[segment * lines + line] : START;
  for (long begin = segment * length; begin < end; begin += TILE) {
    const int count = min((long)TILE, end - begin);
    for (int i = item; i < TILE; i += GROUP)
      tile.elements[PLACE(i)] = i < count ? LOAD(x[line * n + ELEMENT(begin + i)]) : START;
    total = scan_tile(&tile, total, EXCLUSIVE);
    for (int i = item; i < count; i += GROUP)
      y[line * n + ELEMENT(begin + i)] = STORE(tile.elements[PLACE(i)]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
