// Numbers of slices: an index of DEPTH coordinates names a row of a tensor that is seen as
// [dims[0] * ... * dims[DEPTH - 1], elements of a slice]. I is the type of coordinates.

typedef struct {
  long dims[DEPTH + 1];
} Dims;

// -1 for what is out of range, which updates pass over.
kernel void number_slices(HR_IN(I, indices), HR_OUT(long, rows), const long n, const Dims limits) {
  HR_INPUT(I, indices);
  HR_OUTPUT(long, rows);
  const long i = get_global_id(0);
  if (i >= n) return;
  long row = 0;
  for (int d = 0; d < DEPTH; ++d) {
    const long at = indices[i * DEPTH + d];
    row = row < 0 || at < 0 || at >= limits.dims[d] ? -1 : row * limits.dims[d] + at;
  }
  rows[i] = row;
}
