// Pads by mirror images of a tensor's border, and the gradient of that. Index is the type of sizes.

#define MOST_DIMS 8

// By dimension: its size and, in the padded tensor, its size and how many positions come before.
// Of `rank` dimensions the last ones count.
typedef struct {
  Index size[MOST_DIMS], padded[MOST_DIMS], before[MOST_DIMS];
} Borders;

// The position that one of the padded tensor mirrors. `skip`: the border itself is not repeated.
static Index mirrored(Index at, Index before, Index size, int skip) {
  const Index i = at - before;
  return i < 0 ? -i - 1 + skip : i >= size ? 2 * size - 1 - skip - i : i;
}

#ifdef E
// Grid: rows of y for CPUs, per_item of them an item; else elements.
kernel void mirror_pad(HR_IN(E, x), HR_OUT(E, y), const Index n, const Index per_item,
                       const int rank, const int skip, const Borders borders) {
  HR_INPUT(E, x);
  HR_OUTPUT(E, y);
  const int last = rank - 1;
  const Index size = borders.size[last], padded = borders.padded[last],
              before = borders.before[last];
  const Index first = get_global_id(0) * per_item, end = min(first + per_item, n);
  for (Index i = first; i < end; ++i) {
#if HR_IS_CPU
    Index rest = i;
#else
    Index rest = i / padded;
#endif
    Index from = 0, pitch = size;
    for (int d = last - 1; d >= 0; --d) {
      const Index at = rest % borders.padded[d];
      rest /= borders.padded[d];
      from += mirrored(at, borders.before[d], borders.size[d], skip) * pitch;
      pitch *= borders.size[d];
    }
#if HR_IS_CPU
    global const E *line = x + from;
    global E *to = y + i * padded;
    for (Index j = 0; j < before; ++j) to[j] = line[mirrored(j, before, size, skip)];
    for (Index j = 0; j < size; ++j) to[before + j] = line[j];
    for (Index j = before + size; j < padded; ++j) to[j] = line[mirrored(j, before, size, skip)];
#else
    y[i] = x[from + mirrored(i % padded, before, size, skip)];
#endif
  }
}
#else

#include "values.cl"

// dx: the sum over all positions of the padded tensor that mirror an element. In each dimension
// these are at most three: in the margin before, the element's own, and in the margin after.
// Grid: elements of dx, per_item of them an item.
kernel void mirror_pad_gradient(HR_IN(T, dy), HR_OUT(T, dx), const Index n, const Index per_item,
                                const int rank, const int skip, const Borders borders) {
  HR_INPUT(T, dy);
  HR_OUTPUT(T, dx);
  const Index first = get_global_id(0) * per_item, end = min(first + per_item, n);
  for (Index i = first; i < end; ++i) {
    Index offsets[MOST_DIMS][3];
    int counts[MOST_DIMS], turn[MOST_DIMS];
    Index rest = i, pitch = 1, from = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const Index size = borders.size[d], before = borders.before[d], at = rest % size;
      rest /= size;
      const Index low = before - 1 + skip - at, high = before + 2 * size - 1 - skip - at;
      int count = 0;
      if (low >= 0 && low < before) offsets[d][count++] = low * pitch;
      offsets[d][count++] = (before + at) * pitch;
      if (high >= before + size && high < borders.padded[d]) offsets[d][count++] = high * pitch;
      counts[d] = count;
      turn[d] = 0;
      from += offsets[d][0];
      pitch *= borders.padded[d];
    }
    C sum = 0;
    int d = 0;
    while (d >= 0) {
      sum += LOAD(dy[from]);
      for (d = rank - 1; d >= 0; --d) {  // the next combination
        from -= offsets[d][turn[d]];
        turn[d] = turn[d] + 1 < counts[d] ? turn[d] + 1 : 0;
        from += offsets[d][turn[d]];
        if (turn[d]) break;
      }
    }
    dx[i] = STORE(sum);
  }
}
#endif
