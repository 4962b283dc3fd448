// Whether the target's prediction is among the k largest of its row. I is the type of targets.

kernel void in_top_k(HR_IN(float, predictions), HR_IN(I, targets), HR_OUT(uchar, y),
                     const long rows, const long n, const long k) {
  HR_INPUT(float, predictions);
  HR_INPUT(I, targets);
  HR_OUTPUT(uchar, y);
  const long row = get_global_id(0);
  if (row >= rows) return;
  global const float *x = predictions + row * n;
  const long target = targets[row];
  int finite = target >= 0 && target < n;
  const float own = finite ? x[target] : 0;
  long above = 0;
  for (long i = 0; i < n; ++i) {
    finite = finite & isfinite(x[i]);
    above += x[i] > own;
  }
  y[row] = finite && above < k;
}
