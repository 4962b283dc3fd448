// Gathers rows by index. E is what is copied, I the type of indices, Index of sizes.
//
// An index that is out of range gives zeros: the host cannot be told.

// params [batch, outer, limit, inner]; indices [batch, picks]; y [batch, outer, picks, inner].
kernel void gather(HR_IN(E, params), HR_IN(I, indices), HR_OUT(E, y), const Index rows,
                   const Index outer, const Index limit, const Index picks, const Index inner,
                   const Index per_item) {
  HR_INPUT(E, params);
  HR_INPUT(I, indices);
  HR_OUTPUT(E, y);
#if HR_IS_CPU
  const Index first = get_global_id(0) * per_item, last = min(first + per_item, rows);
  for (Index row = first; row < last; ++row) {
    const Index block = row / picks, pick = row % picks;
    const long index = indices[block / outer * picks + pick];
    global E *to = y + row * inner;
    if (index >= 0 && index < limit) {
      global const E *from = params + (block * limit + index) * inner;
      for (Index j = 0; j < inner; ++j) to[j] = from[j];
    } else {
      for (Index j = 0; j < inner; ++j) to[j] = 0;
    }
  }
#else
  const Index i = get_global_id(0);
  if (i >= rows * inner) return;
  const Index row = i / inner, j = i - row * inner, block = row / picks, pick = row - block * picks;
  const long index = indices[block / outer * picks + pick];
  y[i] = index >= 0 && index < limit ? params[(block * limit + (Index)index) * inner + j] : 0;
#endif
}

#ifdef DEPTH
typedef struct {
  Index dims[DEPTH + 1];
} Dims;

// Slices of params at rows of indices [rows, DEPTH].
kernel void gather_nd(HR_IN(E, params), HR_IN(I, indices), HR_OUT(E, y), const Index rows,
                      const Index inner, const Index per_item, const Dims dims) {
  HR_INPUT(E, params);
  HR_INPUT(I, indices);
  HR_OUTPUT(E, y);
#if HR_IS_CPU
  const Index first = get_global_id(0) * per_item, last = min(first + per_item, rows);
  for (Index row = first; row < last; ++row) {
#else
  const Index i = get_global_id(0), row = i / inner;
  if (row < rows) {
#endif
    Index at = 0;
    int inside = 1;
    for (int d = 0; d < DEPTH; ++d) {
      const long index = indices[row * DEPTH + d];
      inside = inside && index >= 0 && index < dims.dims[d];
      at = at * dims.dims[d] + (Index)index;
    }
#if HR_IS_CPU
    for (Index j = 0; j < inner; ++j) y[row * inner + j] = inside ? params[at * inner + j] : 0;
#else
    y[i] = inside ? params[at * inner + i - row * inner] : 0;
#endif
  }
}
#endif

// y [outer, depth, inner] is `on` where an index, [outer, inner], is the depth; else `off`.
kernel void one_hot(HR_IN(I, indices), HR_IN(E, on), HR_IN(E, off), HR_OUT(E, y), const Index n,
                    const Index depth, const Index inner, const Index per_item) {
  HR_INPUT(I, indices);
  HR_INPUT(E, on);
  HR_INPUT(E, off);
  HR_OUTPUT(E, y);
  const Index first = get_global_id(0) * per_item, last = min(first + per_item, n);
  for (Index i = first; i < last; ++i) {
    const Index row = i / inner, at = row % depth, o = row / depth;
    y[i] = (long)indices[o * inner + i % inner] == at ? on[0] : off[0];
  }
}
